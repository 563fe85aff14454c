/* Growable bytes with a cap. The owner calls buf_deinit; a moved buf is set to BUF_NULL. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf {
    uint8_t *data;
    size_t n, capacity;
    size_t max; /* 0: no cap */
};

#define BUF_NULL \
    {            \
        0        \
    }

enum { BUF_E_FULL = 1 };

void buf_init(struct buf *b, size_t max);
/* Frees the bytes; the empty buf keeps its cap and can be used again. */
void buf_deinit(struct buf *b);
/* Room for n more bytes: 0, BUF_E_FULL over the cap, -ENOMEM. */
int buf_reserve(struct buf *b, size_t n);
/* Appends all or nothing: codes as buf_reserve. data must not lie in b itself. */
int buf_push(struct buf *b, const void *data, size_t n);
/* Appends the text without a terminating zero. */
int buf_push_format(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Drops the first n bytes, or all there are. */
void buf_pop(struct buf *b, size_t n);
