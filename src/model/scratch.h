/* Step memory of an architecture, laid out by taking one array after the other.
 *
 * The same function lays out a real step and, on a scratch without memory, measures one: its `n_byte` is the
 * answer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SCRATCH_ALIGN = 64 };

struct scratch {
    void *base; /* NULL: only measuring */
    size_t n_byte;
};

/* float[n_row][n], aligned to a cache line. Sizes were bounded when the shape was read. */
static inline float *scratch_take(struct scratch *s, int32_t n_row, int32_t n)
{
    size_t at = s->n_byte;
    s->n_byte +=
        ((size_t)n_row * (size_t)n * sizeof(float) + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
    return s->base ? (float *)((char *)s->base + at) : NULL;
}

/* n bytes, likewise. */
static inline void *scratch_take_bytes(struct scratch *s, size_t n)
{
    size_t at = s->n_byte;
    s->n_byte += (n + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
    return s->base ? (char *)s->base + at : NULL;
}
