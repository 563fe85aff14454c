/* UTF-8: src/base/utf8.c. */
#include "config.h"
#include "src/base/utf8.h"

#include <stdbool.h>
#include <string.h>

#include <criterion/criterion.h>

/* Well-formed or not, straight from the definition: decode, encode again, compare. */
static size_t slow_length(const uint8_t *s, size_t n)
{
    uint8_t again[UTF8_MAX];
    size_t length = s[0] < 0x80   ? 1
                    : s[0] < 0xc0 ? 0
                    : s[0] < 0xe0 ? 2
                    : s[0] < 0xf0 ? 3
                    : s[0] < 0xf8 ? 4
                                  : 0;
    if (length == 0 || length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    uint32_t code = utf8_decode(s);
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return utf8_encode(code, again) == length && memcmp(again, s, length) == 0 ? length : 0;
}

Test(utf8, every_code_point_round_trips)
{
    for (uint32_t code = 0; code < 0x110000; code++) {
        uint8_t bytes[UTF8_MAX];
        if (code >= 0xd800 && code < 0xe000)
            continue;
        size_t n = utf8_encode(code, bytes);
        cr_assert_eq(utf8_length(bytes[0]), n);
        cr_assert_eq(utf8_decode(bytes), code);
        cr_assert_eq(utf8_check(bytes, n), n);
        cr_assert_eq(utf8_previous(bytes + n), bytes);
        for (size_t cut = 1; cut < n; cut++) {
            cr_assert_eq(utf8_step(bytes, cut), 0);
            cr_assert_eq(utf8_tail(bytes, cut), cut);
        }
        cr_assert_eq(utf8_tail(bytes, n), 0);
    }
}

Test(utf8, what_is_no_code_point_is_written_as_the_replacement)
{
    uint8_t bytes[UTF8_MAX];
    const uint32_t bad[] = {0xd800, 0xdfff, 0x110000, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(utf8_encode(bad[i], bytes), 3);
        cr_assert_eq(memcmp(bytes, "\xef\xbf\xbd", 3), 0);
    }
}

Test(utf8, check_agrees_with_the_definition_on_every_four_bytes_that_matter)
{
    /* The bytes at which a rule changes, in all combinations, behind ASCII of each length up to two words. */
    static const uint8_t edges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                    0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                    0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
    enum { N = sizeof edges };
    uint8_t text[16 + 4];
    for (size_t i = 0; i < (size_t)N * N * N * N; i++) {
        size_t before = i % 16, n = before + 4, at = before;
        memset(text, 'x', before);
        for (size_t j = 0, rest = i; j < 4; j++, rest /= N)
            text[before + j] = edges[rest % N];
        while (at < n && slow_length(text + at, n - at))
            at += slow_length(text + at, n - at);
        cr_assert_eq(utf8_check(text, n), at, "combination %zu: %zu, want %zu", i, utf8_check(text, n), at);
    }
}

Test(utf8, replace_follows_maximal_subparts)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"abc", "abc"},
        {"a\xff", "a\xef\xbf\xbd"},
        {"\xc3", "\xef\xbf\xbd"},
        {"\xe2\x82", "\xef\xbf\xbd"},
        {"\xe2\x82z", "\xef\xbf\xbdz"},
        {"\xf0\x9f\x98", "\xef\xbf\xbd"},
        {"\xf0\x9f\x98\xf0\x9f\x98\x80", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe0\x80\xc3\xa9", "\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out;
        buf_init(&out, 0);
        cr_assert_eq(utf8_replace(&out, cases[i].in, strlen(cases[i].in)), 0);
        cr_assert_eq(out.n, strlen(cases[i].out), "case %zu", i);
        cr_assert(out.n == 0 || memcmp(out.data, cases[i].out, out.n) == 0, "case %zu", i);
        buf_deinit(&out);
    }
}

Test(utf8, replace_stops_at_the_cap)
{
    struct buf out;
    buf_init(&out, 4);
    cr_assert_eq(utf8_replace(&out, "ab\xff", 3), BUF_E_FULL);
    buf_deinit(&out);
}

Test(utf8, tail_is_only_what_can_be_completed)
{
    cr_assert_eq(utf8_tail("", 0), 0);
    cr_assert_eq(utf8_tail("ab\xe2\x82", 4), 2);
    cr_assert_eq(utf8_tail("ab\xff", 3), 0);
    cr_assert_eq(utf8_tail("\x80\x80\x80\x80", 4), 0);
    cr_assert_eq(utf8_tail("\xe0\x80", 2), 0);
    cr_assert_eq(utf8_tail("\xf0\x9f\x98", 3), 3);
}
