/* JSON as it comes: src/base/jsonscan.c, against the reader of whole texts and by the roles it names. */
#include "config.h"
#include "src/base/jsonscan.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/base/jsonread.h"

/* The roles of all bytes up to the end: k K v s . E, ! where it is no JSON. */
static void roles(const char *text, char *out)
{
    static const char letters[] = {
        [JSONSCAN_OTHER] = '.',  [JSONSCAN_KEY] = 'k', [JSONSCAN_KEY_END] = 'K', [JSONSCAN_VALUE] = 'v',
        [JSONSCAN_STRING] = 's', [JSONSCAN_END] = 'E', [JSONSCAN_BAD] = '!',
    };
    struct jsonscan s;
    jsonscan_start(&s);
    enum jsonscan_role role = JSONSCAN_OTHER;
    for (; *text && role != JSONSCAN_END && role != JSONSCAN_BAD; text++) {
        role = jsonscan_push(&s, *text);
        *out++ = letters[role];
    }
    *out = '\0';
}

Test(jsonscan, roles)
{
    static const char *const rows[][2] = {
        {"{}", "vE"},
        {" [1, \"a\"]x", ".vv..vs.E"},
        {"{\"ab\": {\"c\" : null}}", "v.kkK..v.kK...v....E"},
        {"\"a\\\"\\u00Ef\"", "vsssssssssE"},
        {"true", "v..E"},
        {"[-1.5e+3,0]", "v"
                        "v......."
                        "v"
                        "E"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char got[64];
        roles(rows[i][0], got);
        cr_expect_str_eq(got, rows[i][1], "%s: %s", rows[i][0], got);
    }
}

/* Whether a whole text is an array, an object, a string or a literal, and nothing else. */
static bool scans(const char *text, size_t n)
{
    struct jsonscan s;
    size_t i = 0;
    enum jsonscan_role role = JSONSCAN_OTHER;
    jsonscan_start(&s);
    while (i < n && role != JSONSCAN_END && role != JSONSCAN_BAD)
        role = jsonscan_push(&s, text[i++]);
    return role == JSONSCAN_END && i == n;
}

static bool reads(const char *text, size_t n)
{
    struct jsonread r;
    struct why why;
    enum jsonread_kind kind;
    jsonread_init(&r, text, n, &why);
    do
        kind = jsonread_next(&r);
    while (kind != JSONREAD_END && kind != JSONREAD_ERROR);
    jsonread_deinit(&r);
    return kind == JSONREAD_END;
}

/* Random texts of the bytes that mean something, in an array: both readers agree. (What only the other one
 * refuses, lone surrogates and characters that are cut, cannot come up.) */
Test(jsonscan, agrees_with_the_reader)
{
    static const char *const words[] = {"{",    "}",   "[",       "]",  ",", ":",  "\"",    "\"a\"",
                                        "1",    "0",   "-",       ".",  "e", "+",  "true",  "null",
                                        "fals", "\\n", "\\u0041", "\\", " ", "\n", "\"b\":"};
    uint64_t state = 7;
    int n_good = 0;
    for (int round = 0; round < 200000; round++) {
        char text[80] = "[";
        size_t n = 1;
        for (unsigned i = 0, n_word = 1 + round % 6; i < n_word; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const char *word = words[(state >> 33) % (sizeof words / sizeof words[0])];
            n += (size_t)sprintf(text + n, "%s", word);
        }
        text[n++] = ']';
        text[n] = '\0';
        bool want = reads(text, n);
        n_good += want;
        cr_assert_eq(scans(text, n), want, "%s: the reader says %d", text, want);
    }
    cr_assert_gt(n_good, 1000);
}

Test(jsonscan, depth)
{
    char text[2 * JSONSCAN_MAX_DEPTH + 2];
    memset(text, '[', JSONSCAN_MAX_DEPTH);
    memset(text + JSONSCAN_MAX_DEPTH, ']', JSONSCAN_MAX_DEPTH);
    cr_assert(scans(text, 2 * JSONSCAN_MAX_DEPTH));
    memset(text, '[', JSONSCAN_MAX_DEPTH + 1);
    memset(text + JSONSCAN_MAX_DEPTH + 1, ']', JSONSCAN_MAX_DEPTH + 1);
    cr_assert_not(scans(text, 2 * JSONSCAN_MAX_DEPTH + 2));
}
