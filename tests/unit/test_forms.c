/* The Unicode normalization forms against utf8proc's own, and their order of marks: src/text/forms.c. */
#include "config.h"
#include "src/text/forms.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include <criterion/criterion.h>

#include "src/base/utf8.h"
#include "tests/unit/text_util.h"

static void check(const char *text, const char *want, bool compose, bool compatible)
{
    struct buf out = BUF_NULL, codes = BUF_NULL;
    cr_assert_eq(forms_apply((const uint8_t *)text, strlen(text), compose, compatible, &out, &codes), 0);
    cr_assert(out.n == strlen(want) && (out.n == 0 || memcmp(out.data, want, out.n) == 0),
              "'%s': got '%.*s', want '%s'", text, (int)out.n, (const char *)out.data, want);
    buf_deinit(&out);
    buf_deinit(&codes);
}

Test(forms, known_texts)
{
    check("", "", true, false);
    check("abc", "abc", true, false);
    check("e\xcc\x81", "\xc3\xa9", true, false);
    check("\xc3\xa9", "e\xcc\x81", false, false);
    check("\xef\xac\x81", "fi", true, true);
    check("\xef\xac\x81", "\xef\xac\x81", true, false);
    check("\xe2\x84\xab", "\xc3\x85", true, false);                  /* the Angstrom sign */
    check("a\xcc\x81\xcc\xa3", "\xe1\xba\xa1\xcc\x81", true, false); /* the dot below comes first */
    check("\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81", true, false); /* Hangul */
    check("\xea\xb0\x80\xe1\x86\xa8", "\xea\xb0\x81", true, false);
    check("\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", false, false);
    check("\xcc\x81x", "\xcc\x81x", true, false);
    /* U+1E130 has a class since Unicode 12, which the reference's tables do not know. */
    check("a\xf0\x9e\x84\xb0\xcc\xa3", "a\xf0\x9e\x84\xb0\xcc\xa3", true, false);
    /* Nor that U+1FBF5 is a five, also in front of a circled nine, which is one. */
    check("\xf0\x9f\xaf\xb5\xe2\x91\xa8",
          "\xf0\x9f\xaf\xb5"
          "9",
          true, true);
}

static utf8proc_uint8_t *by_utf8proc(const uint8_t *text, size_t n, bool compose, bool compatible)
{
    utf8proc_uint8_t *out = NULL;
    utf8proc_option_t options = UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
    if (compatible)
        options |= UTF8PROC_COMPAT;
    cr_assert_geq(utf8proc_map(text, (utf8proc_ssize_t)n, &out, options), 0);
    return out;
}

/* Random texts of Latin, Greek, Indic, Hangul, kana, compatibility characters and marks; none of the marks
 * that the reference's tables lack is among them. */
Test(forms, random_texts_equal_utf8proc)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x41, 0x7a},     {0xa0, 0x17f},    {0x300, 0x36f},    {0x370, 0x3ff},   {0x591, 0x5bd},
                  {0x1100, 0x1112}, {0x1161, 0x1175}, {0x11a8, 0x11c2},  {0xac00, 0xac40}, {0x1e00, 0x1eff},
                  {0x1f00, 0x1fbc}, {0x2100, 0x214f}, {0x3041, 0x309f},  {0xfb00, 0xfb06}, {0xf900, 0xfa0d},
                  {0x9a0, 0x9dc},   {0xb95, 0xbd7},   {0x1d15e, 0x1d164}};
    uint64_t state = 17;
    for (int round = 0; round < 40000; round++) {
        struct buf text = BUF_NULL, out = BUF_NULL, codes = BUF_NULL;
        uint8_t bytes[UTF8_MAX];
        bool compose = round & 1, compatible = round & 2;
        for (unsigned i = text_util_random(&state, 30); i > 0; i--) {
            uint32_t which =
                text_util_random(&state, 2) ? 2 : text_util_random(&state, sizeof ranges / sizeof ranges[0]);
            uint32_t code =
                ranges[which].first + text_util_random(&state, ranges[which].last - ranges[which].first + 1);
            cr_assert_eq(buf_push(&text, bytes, utf8_encode(code, bytes)), 0);
        }
        cr_assert_eq(buf_reserve(&text, 1), 0);
        utf8proc_uint8_t *want = by_utf8proc(text.data, text.n, compose, compatible);
        cr_assert_eq(forms_apply(text.data, text.n, compose, compatible, &out, &codes), 0);
        cr_assert_eq(buf_push(&out, "", 1), 0);
        cr_assert_str_eq((const char *)out.data, (const char *)want, "round %d", round);
        free(want);
        buf_deinit(&text);
        buf_deinit(&out);
        buf_deinit(&codes);
    }
}

/* A million marks in the worst order: sorting them one by one would take hours. */
Test(forms, a_long_run_of_marks, .timeout = 60)
{
    enum { N = 500000 };
    struct buf text = BUF_NULL, out = BUF_NULL, codes = BUF_NULL;
    cr_assert_eq(buf_push(&text, "a", 1), 0);
    for (int i = 0; i < N; i++)
        cr_assert_eq(buf_push(&text, "\xcc\x81\xcc\xa3", 4), 0); /* acute, then dot below */
    cr_assert_eq(forms_apply(text.data, text.n, true, false, &out, &codes), 0);
    /* The first dot joins the letter; the other dots come next, then all acutes. */
    cr_assert_eq(out.n, 3 + 2 * (2 * (size_t)N - 1));
    cr_assert_eq(memcmp(out.data, "\xe1\xba\xa1\xcc\xa3", 5), 0);
    cr_assert_eq(memcmp(out.data + out.n - 4, "\xcc\x81\xcc\x81", 4), 0);
    buf_deinit(&text);
    buf_deinit(&out);
    buf_deinit(&codes);
}

Test(forms, quick_look)
{
    cr_assert(forms_is_normal((const uint8_t *)"plain ASCII text", 16));
    cr_assert(!forms_is_normal((const uint8_t *)"caf\xc3\xa9", 5));
}
