/* Heap memory whose size is a product of numbers from elsewhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *ret = a * b: true, or false where that overflows and *ret stays as it is. */
static inline bool mem_product(size_t a, size_t b, size_t *ret)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *ret = product;
    return true;
}

/* Zeroed memory for n objects of this size, for free(). NULL when out of memory or n * size overflows; a
 * valid pointer for n * size 0. */
void *mem_array(size_t n, size_t size);
/* The same, not zeroed and aligned to a power of two. */
void *mem_aligned(size_t alignment, size_t n, size_t size);
/* The array p (may be NULL) with room for n objects of this size; new ones are not zeroed. NULL leaves p
 * valid. */
void *mem_resize(void *p, size_t n, size_t size);
