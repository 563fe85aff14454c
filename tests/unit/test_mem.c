/* Memory whose size is a product, and attributes that free it: src/base/mem.c, src/base/cleanup.h. */
#include "config.h"
#include "src/base/mem.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/base/cleanup.h"

Test(mem, products_that_overflow_are_refused)
{
    size_t n = 7;
    cr_assert(mem_product(3, 5, &n) && n == 15);
    cr_assert(!mem_product(SIZE_MAX / 2 + 1, 2, &n) && n == 15);
    cr_assert(mem_product(SIZE_MAX, 1, &n) && n == SIZE_MAX);
    cr_assert(mem_product(0, SIZE_MAX, &n) && n == 0);
    cr_assert_null(mem_array(SIZE_MAX / 2, 3));
    cr_assert_null(mem_aligned(64, SIZE_MAX / 2, 3));
    cr_assert_null(mem_aligned(64, SIZE_MAX - 10, 1), "rounding up would overflow");
    cr_assert_null(mem_resize(NULL, SIZE_MAX / 2, 3));
}

Test(mem, nothing_is_something)
{
    void *a = mem_array(0, 8), *b = mem_aligned(64, 8, 0), *c = mem_resize(NULL, 0, 8);
    cr_assert(a && b && c);
    free(a), free(b), free(c);
}

Test(mem, aligned_memory_is_aligned)
{
    for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
        char *p = mem_aligned(alignment, 3, 7);
        cr_assert_eq((uintptr_t)p % alignment, 0);
        memset(p, 1, 21);
        free(p);
    }
}

Test(mem, resize_keeps_what_was_there)
{
    int *p = mem_resize(NULL, 2, sizeof *p);
    p[0] = 1, p[1] = 2;
    p = mem_resize(p, 1000, sizeof *p);
    cr_assert(p[0] == 1 && p[1] == 2);
    free(p);
}

static char *take_text(void)
{
    CLEANUP_FREE char *text = strdup("kept");
    return CLEANUP_TAKE(text);
}

Test(mem, cleanup_frees_what_was_not_taken)
{
    char *text = take_text();
    cr_assert_str_eq(text, "kept");
    free(text);
    int fd;
    {
        CLEANUP_CLOSE int scoped = open("/dev/null", O_RDONLY | O_CLOEXEC);
        CLEANUP_CLOSE int none = -1;
        (void)none;
        fd = scoped;
        cr_assert_geq(fcntl(fd, F_GETFD), 0);
    }
    cr_assert_eq(fcntl(fd, F_GETFD), -1);
}
