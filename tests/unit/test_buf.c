/* Growable bytes: src/base/buf.c. */
#include "config.h"
#include "src/base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <criterion/criterion.h>

Test(buf, pushes_add_up)
{
    struct buf b = BUF_NULL;
    for (int i = 0; i < 10000; i++) {
        uint8_t byte = (uint8_t)(i * 7);
        cr_assert_eq(buf_push(&b, &byte, 1), 0);
    }
    cr_assert_eq(b.n, 10000);
    for (int i = 0; i < 10000; i++)
        cr_assert_eq(b.data[i], (uint8_t)(i * 7));
    buf_deinit(&b);
    cr_assert(b.data == NULL && b.n == 0 && b.capacity == 0);
}

Test(buf, the_cap_is_exact)
{
    struct buf b;
    buf_init(&b, 100);
    char data[101] = {0};
    cr_assert_eq(buf_push(&b, data, 101), BUF_E_FULL);
    cr_assert_eq(b.n, 0, "nothing is pushed by halves");
    cr_assert_eq(buf_push(&b, data, 99), 0);
    cr_assert_eq(buf_push(&b, data, 2), BUF_E_FULL);
    cr_assert_eq(buf_push(&b, data, 1), 0);
    cr_assert_eq(buf_push(&b, data, 1), BUF_E_FULL);
    cr_assert_eq(buf_push(&b, NULL, 0), 0);
    cr_assert_leq(b.capacity, 100);
    buf_pop(&b, 1);
    cr_assert_eq(buf_push(&b, data, 1), 0, "what was popped is free again");
    buf_deinit(&b);
    cr_assert_eq(buf_push(&b, data, 101), BUF_E_FULL, "the cap outlives the bytes");
    buf_deinit(&b);
}

Test(buf, a_size_that_overflows_is_refused)
{
    struct buf b = BUF_NULL;
    cr_assert_eq(buf_push(&b, "x", 1), 0);
    cr_assert_eq(buf_reserve(&b, SIZE_MAX), -ENOMEM);
    cr_assert_eq(buf_reserve(&b, SIZE_MAX - 1), -ENOMEM);
    b.max = SIZE_MAX;
    cr_assert_eq(buf_reserve(&b, SIZE_MAX), BUF_E_FULL);
    cr_assert(b.n == 1 && b.data[0] == 'x');
    buf_deinit(&b);
}

Test(buf, pop_moves_the_rest_to_the_front)
{
    struct buf b = BUF_NULL;
    buf_push(&b, "hello world", 11);
    buf_pop(&b, 6);
    cr_assert(b.n == 5 && memcmp(b.data, "world", 5) == 0);
    buf_pop(&b, 0);
    cr_assert_eq(b.n, 5);
    buf_pop(&b, 6);
    cr_assert_eq(b.n, 0, "more than there is empties it");
    buf_deinit(&b);
    buf_pop(&b, 1);
    cr_assert_eq(b.n, 0);
}

Test(buf, format_pushes_text_without_its_end)
{
    struct buf b;
    buf_init(&b, 8);
    cr_assert_eq(buf_push_format(&b, "%s=%d", "abc", 42), 0);
    cr_assert(b.n == 6 && memcmp(b.data, "abc=42", 6) == 0);
    cr_assert_eq(buf_push_format(&b, "%s", ""), 0);
    cr_assert_eq(buf_push_format(&b, "%d", 123), BUF_E_FULL);
    cr_assert_eq(buf_push_format(&b, "%d", 12), 0, "exactly full");
    cr_assert_eq(b.n, 8);
    buf_deinit(&b);
}
