/* The length prefix. */
#include "config.h"

#include <criterion/criterion.h>

#include "proto/frame.h"
#include "tests/unit/hex.h"

static const struct {
    const char *bytes;
    size_t max;
    int r;
    size_t n;
} cases[] = {
    {"", 64, FRAME_E_MORE, 0},
    {"00 00 00", 64, FRAME_E_MORE, 0},
    {"00 00 00 00", 64, FRAME_E_EMPTY, 0},
    {"00 00 00 00 80", 64, FRAME_E_EMPTY, 0},
    {"00 00 00 02", 64, FRAME_E_MORE, 6},
    {"00 00 00 02 81", 64, FRAME_E_MORE, 6},
    {"00 00 00 02 81 82", 64, 0, 2},
    {"00 00 00 02 81 82 00 00", 64, 0, 2},
    {"00 00 00 40", 64, FRAME_E_MORE, 68},
    {"00 00 00 41", 64, FRAME_E_TOO_LARGE, 65},
    {"04 00 00 00", FRAME_MAX_IN, FRAME_E_MORE, FRAME_MAX_IN + 4},
    {"04 00 00 01", FRAME_MAX_IN, FRAME_E_TOO_LARGE, FRAME_MAX_IN + 1},
    {"ff ff ff ff", FRAME_MAX_IN, FRAME_E_TOO_LARGE, UINT32_MAX},
    {"'GET / HTTP/1.1'", FRAME_MAX_IN, FRAME_E_TOO_LARGE, 0x47455420},
};

Test(frame, peek)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hex hex = hex_parse(cases[i].bytes);
        const uint8_t *body = NULL;
        size_t n = 0;
        int r = frame_peek(hex.data, hex.n, cases[i].max, &body, &n);
        cr_assert_eq(r, cases[i].r, "'%s': %d", cases[i].bytes, r);
        if (r != FRAME_E_EMPTY)
            cr_assert_eq(n, cases[i].n, "'%s': %zu", cases[i].bytes, n);
        cr_assert(r ? !body : body == hex.data + FRAME_HEADER);
        free(hex.data);
    }
}

Test(frame, begin_and_end)
{
    struct buf out;
    buf_init(&out, 0);
    for (int i = 0; i < 2; i++) { /* the second one behind the first */
        size_t at;
        cr_assert_eq(frame_begin(&out, &at), 0);
        for (int j = 0; j < 300; j++)
            cr_assert_eq(buf_push(&out, "x", 1), 0);
        frame_end(&out, at);
    }
    cr_assert_eq(out.n, 608);
    cr_assert_arr_eq(out.data, "\0\0\1\x2cx", 5);
    cr_assert_arr_eq(out.data + 304, "\0\0\1\x2cx", 5);
    buf_deinit(&out);
}

Test(frame, no_room)
{
    struct buf out;
    buf_init(&out, 3);
    size_t at = 77;
    cr_assert_eq(frame_begin(&out, &at), BUF_E_FULL);
    cr_assert_eq(at, 77);
    cr_assert_eq(out.n, 0);
    buf_deinit(&out);
}
