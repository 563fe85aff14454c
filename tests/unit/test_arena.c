/* Memory that dies together: src/base/arena.c. */
#include "config.h"
#include "src/base/arena.h"

#include <stdint.h>
#include <string.h>

#include <criterion/criterion.h>

Test(arena, objects_are_zero_aligned_and_apart)
{
    struct arena arena = ARENA_NULL;
    unsigned char *objects[2000];
    for (size_t i = 0; i < 2000; i++) {
        size_t n = i % 200;
        objects[i] = arena_array(&arena, n, 1);
        cr_assert_not_null(objects[i]);
        cr_assert_eq((uintptr_t)objects[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < n; k++)
            cr_assert_eq(objects[i][k], 0);
        memset(objects[i], (int)(i % 255) + 1, n);
    }
    for (size_t i = 0; i < 2000; i++)
        for (size_t k = 0; k < i % 200; k++)
            cr_assert_eq(objects[i][k], i % 255 + 1, "object %zu was overwritten", i);
    arena_deinit(&arena);
    cr_assert_null(arena.blocks);
    arena_deinit(&arena);
}

Test(arena, large_objects_do_not_waste_the_block_in_use)
{
    struct arena arena = ARENA_NULL;
    char *large_first = arena_array(&arena, 1 << 20, 1);
    char *a = arena_array(&arena, 1, 16);
    char *large = arena_array(&arena, 3, 1 << 20);
    char *b = arena_array(&arena, 1, 16);
    cr_assert(large_first && large && a && b);
    memset(large_first, 1, 1 << 20);
    memset(large, 2, 3 << 20);
    cr_assert_eq(b - a, 16, "the small ones are neighbours");
    cr_assert_eq(a[0], 0);
    arena_deinit(&arena);
}

Test(arena, sizes_that_overflow_are_refused)
{
    struct arena arena = ARENA_NULL;
    cr_assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
    cr_assert_null(arena_array(&arena, SIZE_MAX, 1));
    cr_assert_null(arena_array(&arena, SIZE_MAX - 40, 1));
    char *a = arena_array(&arena, 0, 8), *b = arena_array(&arena, 8, 0);
    cr_assert(a && b && a != b);
    arena_deinit(&arena);
}

Test(arena, strings_are_copied)
{
    struct arena arena = ARENA_NULL;
    char text[] = "tensor";
    char *copy = arena_strdup(&arena, text);
    text[0] = 'x';
    cr_assert_str_eq(copy, "tensor");
    cr_assert_str_empty(arena_strdup(&arena, ""));
    arena_deinit(&arena);
}
