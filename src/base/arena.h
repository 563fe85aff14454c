/* Memory of objects that die together. Freed as a whole; single objects are not. */
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;
};

#define ARENA_NULL \
    {              \
        0          \
    }

/* Zeroed memory for n objects of this size, aligned for any type; NULL when out of memory or n * size
 * overflows. n * size 0 gives a valid pointer. */
void *arena_array(struct arena *arena, size_t n, size_t size);
char *arena_strdup(struct arena *arena, const char *s);
void arena_deinit(struct arena *arena);
