/* Heap memory whose size is a product: see mem.h. */
#include "config.h"
#include "src/base/mem.h"

#include <stdlib.h>

void *mem_array(size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes))
        return NULL;
    return calloc(1, bytes ? bytes : 1);
}

void *mem_aligned(size_t alignment, size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes) || bytes > SIZE_MAX - alignment)
        return NULL;
    /* aligned_alloc wants a multiple of the alignment. */
    size_t rounded = (bytes + alignment - 1) & ~(alignment - 1);
    return aligned_alloc(alignment, rounded ? rounded : alignment);
}

void *mem_resize(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes))
        return NULL;
    return realloc(p, bytes ? bytes : 1);
}
