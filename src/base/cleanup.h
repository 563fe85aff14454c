/* Attributes that free a local variable when it leaves its scope, and a way to let go of one. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `CLEANUP(f) T x = ...;` calls f(&x) at the end of the scope. */
#define CLEANUP(f) __attribute__((cleanup(f)))
#define CLEANUP_FREE CLEANUP(cleanup_free)
#define CLEANUP_CLOSE CLEANUP(cleanup_close)
#define CLEANUP_FCLOSE CLEANUP(cleanup_fclose)

/* The value of a variable that is cleared thereby: return CLEANUP_TAKE(text). */
#define CLEANUP_TAKE(variable)                    \
    __extension__({                               \
        __typeof__(variable) taken_ = (variable); \
        (variable) = NULL;                        \
        taken_;                                   \
    })

static inline void cleanup_free(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
    if (*file)
        fclose(*file);
}
