/* Heap memory whose size is a product: see mem.h. */
#include "config.h"
#include "src/base/mem.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    HUGE_PAGE = 2 << 20,
    HUGE_MIN = 4 * HUGE_PAGE, /* bytes from which an array is asked to be of huge pages */
};

/* A large array that is written from end to end costs mostly page faults: 512 times fewer with huge pages.
 * What the system makes of the advice is its own affair. */
static void advise(void *p, size_t bytes)
{
    uintptr_t from = ((uintptr_t)p + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    uintptr_t to = ((uintptr_t)p + bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (bytes >= HUGE_MIN)
        madvise((uint8_t *)p + (from - (uintptr_t)p), to - from, MADV_HUGEPAGE);
}

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
    p = realloc(p, bytes ? bytes : 1);
    if (p)
        advise(p, bytes);
    return p;
}
