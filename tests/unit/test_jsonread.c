/* The streaming reader of JSON: src/base/jsonread.c. */
#include "config.h"
#include "src/base/jsonread.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

/* Reads everything into one line: {k"key" s"text" i1 f0.5 b"..." t f0 n [ ] } or !sentence. */
static void describe(const char *text, size_t n, char *out, size_t size)
{
    struct jsonread r;
    struct why why = {""};
    size_t at = 0;
    jsonread_init(&r, text, n, &why);
    out[0] = '\0';
    for (;;) {
        enum jsonread_kind kind = jsonread_next(&r);
        const char *space = at ? " " : "";
        int length = (int)r.n_string;
        if (kind == JSONREAD_END)
            break;
        static const char *const marks[] = {
            [JSONREAD_OBJECT] = "{",    [JSONREAD_OBJECT_END] = "}", [JSONREAD_ARRAY] = "[",
            [JSONREAD_ARRAY_END] = "]", [JSONREAD_TRUE] = "true",    [JSONREAD_FALSE] = "false",
            [JSONREAD_NULL] = "null",
        };
        if (kind == JSONREAD_ERROR) {
            cr_assert_eq(r.error, EX_DATAERR);
            cr_assert_eq(jsonread_next(&r), JSONREAD_ERROR);
            snprintf(out + at, size - at, "%s!%s", space, why.text);
            break;
        }
        if (kind == JSONREAD_KEY || kind == JSONREAD_STRING)
            at += (size_t)snprintf(out + at, size - at, "%s%c'%.*s'", space, kind == JSONREAD_KEY ? 'k' : 's',
                                   length, r.string);
        else if (kind == JSONREAD_INT)
            at += (size_t)snprintf(out + at, size - at, "%si%lld", space, (long long)r.integer);
        else if (kind == JSONREAD_FLOAT || kind == JSONREAD_BIG)
            at += (size_t)snprintf(out + at, size - at, "%s%c%.*s", space, kind == JSONREAD_BIG ? 'b' : 'f',
                                   length, r.string);
        else
            at += (size_t)snprintf(out + at, size - at, "%s%s", space, marks[kind]);
    }
    jsonread_deinit(&r);
}

static void expect(const char *text, const char *want)
{
    char got[1024];
    describe(text, strlen(text), got, sizeof got);
    cr_assert_str_eq(got, want, "%s: got %s, want %s", text, got, want);
}

Test(jsonread, values)
{
    expect("{}", "{ }");
    expect(" [ ] ", "[ ]");
    expect("{\"a\": [1, -2, 3.0, 1e3, {\"b\": null}], \"c\": true}",
           "{ k'a' [ i1 i-2 f3.0 f1e3 { k'b' null } ] k'c' true }");
    expect("\"x\"", "s'x'");
    expect("false", "false");
    expect("0", "i0");
    expect("-0", "i0");
    expect("[[[]],{}]", "[ [ [ ] ] { } ]");
}

Test(jsonread, integers_and_floats_stay_apart)
{
    expect("9007199254740993", "i9007199254740993");
    expect("9223372036854775807", "i9223372036854775807");
    expect("-9223372036854775808", "i-9223372036854775808");
    expect("9223372036854775808", "b9223372036854775808");
    expect("-123456789012345678901234567890", "b-123456789012345678901234567890");
    expect("999999999999999", "i999999999999999");
    expect("1000000000000000", "i1000000000000000");
    expect("1.0", "f1.0");
    expect("1E+2", "f1E+2");
    struct jsonread r;
    jsonread_init(&r, "1e400", 5, NULL);
    cr_assert_eq(jsonread_next(&r), JSONREAD_FLOAT);
    cr_assert(isinf(r.real));
    jsonread_deinit(&r);
}

Test(jsonread, strings)
{
    expect("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "s'\"\\/\b\f\n\r\t'");
    expect("\"a\\u00e9b\"", "s'a\xc3\xa9"
                            "b'");
    expect("\"\\ud83d\\ude00\"", "s'\xf0\x9f\x98\x80'");
    /* A lone surrogate has no UTF-8: each becomes U+FFFD. */
    expect("\"\\ud83d\"", "s'\xef\xbf\xbd'");
    expect("\"\\ude00x\"", "s'\xef\xbf\xbdx'");
    expect("\"\\ud83d\\ud83d\\ude00\"", "s'\xef\xbf\xbd\xf0\x9f\x98\x80'");
    expect("\"\\ud83d\\u0041\"", "s'\xef\xbf\xbd"
                                 "A'");
    expect("{\"k\\u0041\":1}", "{ k'kA' i1 }");
}

Test(jsonread, a_string_may_hold_nul)
{
    struct jsonread r;
    jsonread_init(&r, "\"a\\u0000b\"", 10, NULL);
    cr_assert_eq(jsonread_next(&r), JSONREAD_STRING);
    cr_assert_eq(r.n_string, 3);
    cr_assert_eq(memcmp(r.string, "a\0b", 3), 0);
    cr_assert_eq(jsonread_next(&r), JSONREAD_END);
    jsonread_deinit(&r);
}

Test(jsonread, errors_have_their_place)
{
    expect("", "!line 1 column 1: the text ends too early");
    expect("[1,\n  tru]", "[ i1 !line 2 column 3: not a JSON value");
    expect("{\"a\" 1}", "{ !line 1 column 6: ':' was expected");
    expect("{\"\xc3\xa9\" 1}", "{ !line 1 column 6: ':' was expected");
    expect("{a:1}", "{ !line 1 column 2: a key in quotes was expected");
    expect("{\"a\":1,}", "{ k'a' i1 !line 1 column 8: a key in quotes was expected");
    expect("[1,]", "[ i1 !line 1 column 4: not a JSON value");
    expect("[1 2]", "[ i1 !line 1 column 4: ',' or ']' was expected");
    expect("{\"a\":1]", "{ k'a' i1 !line 1 column 7: ',' or '}' was expected");
    expect("[1", "[ i1 !line 1 column 3: the text ends too early");
    expect("[1,", "[ i1 !line 1 column 4: the text ends too early");
    expect("1 2", "i1 !line 1 column 3: something follows the value");
    expect("\"a", "!line 1 column 1: a string without its closing quote");
    expect("\"a\nb\"", "!line 1 column 3: a control character in a string");
    expect("\"\\x\"", "!line 1 column 2: an unknown escape in a string");
    expect("\"\\u12g4\"", "!line 1 column 2: \\u without four hexadecimal digits");
    expect("\"\\u12", "!line 1 column 2: \\u without four hexadecimal digits");
    expect("\"ab\xff\"", "!line 1 column 4: invalid UTF-8 in a string");
    expect("\"\xed\xa0\x80\"", "!line 1 column 2: invalid UTF-8 in a string");
    expect("01", "!line 1 column 1: a malformed number");
    expect("1.", "!line 1 column 1: a malformed number");
    expect("-", "!line 1 column 1: a malformed number");
    expect("1e", "!line 1 column 1: a malformed number");
    expect("NaN", "!line 1 column 1: not a JSON value");
    expect("\xef\xbb\xbf[]", "!line 1 column 1: not a JSON value");
}

Test(jsonread, limits)
{
    char text[2 * JSONREAD_MAX_DEPTH + 3], got[4096], digits[JSONREAD_MAX_NUMBER + 2];
    size_t n = JSONREAD_MAX_DEPTH;
    memset(text, '[', n);
    memset(text + n, ']', n);
    describe(text, 2 * n, got, sizeof got);
    cr_assert(!strchr(got, '!'), "%s", got);
    text[n] = '[';
    describe(text, n + 1, got, sizeof got);
    cr_assert(strstr(got, "!line 1 column 129: nested more than 128 deep"), "%s", got);
    memset(digits, '7', sizeof digits);
    describe(digits, JSONREAD_MAX_NUMBER, got, sizeof got);
    cr_assert_eq(got[0], 'b');
    describe(digits, JSONREAD_MAX_NUMBER + 1, got, sizeof got);
    cr_assert_str_eq(got, "!line 1 column 1: a number of more than 512 characters");
}

Test(jsonread, skip_passes_whole_values)
{
    const char *text = "{\"a\": {\"x\": [1, [2], {}]}, \"b\": 5, \"c\": \"]\", \"d\": 1}";
    struct jsonread r;
    jsonread_init(&r, text, strlen(text), NULL);
    cr_assert_eq(jsonread_next(&r), JSONREAD_OBJECT);
    for (const char *key = "abc"; *key; key++) {
        cr_assert_eq(jsonread_next(&r), JSONREAD_KEY);
        cr_assert(r.n_string == 1 && r.string[0] == *key);
        cr_assert(jsonread_skip(&r));
    }
    cr_assert_eq(jsonread_next(&r), JSONREAD_KEY);
    cr_assert(jsonread_is(&r, "d"));
    cr_assert_eq(jsonread_next(&r), JSONREAD_INT);
    cr_assert_eq(jsonread_next(&r), JSONREAD_OBJECT_END);
    cr_assert_eq(jsonread_next(&r), JSONREAD_END);
    jsonread_deinit(&r);
}

Test(jsonread, the_reader_can_be_made_to_fail)
{
    struct why why = {""};
    struct jsonread r;
    jsonread_init(&r, "[\n 7]", 5, &why);
    jsonread_next(&r);
    jsonread_next(&r);
    cr_assert_eq(jsonread_fail(&r, "%d is not %s", 7, "8"), EX_DATAERR);
    cr_assert_str_eq(why.text, "line 2 column 2: 7 is not 8");
    cr_assert_eq(jsonread_next(&r), JSONREAD_ERROR);
    cr_assert_eq(jsonread_fail(&r, "again"), EX_DATAERR);
    cr_assert_str_eq(why.text, "line 2 column 2: 7 is not 8");
    jsonread_deinit(&r);
}

/* Every cut of a text and every change of one byte: no read beyond the end, and a sentence with each failure.
 */
Test(jsonread, broken_texts_fail_with_a_place)
{
    const char *text = "{\"a\\u00e9\": [1.5e3, -2, true, null, \"\xc3\xa9\\ud83d\\ude00\"], \"b\": {}}";
    size_t n = strlen(text);
    for (size_t cut = 0; cut < n; cut++) {
        char got[2048], copy[128];
        memcpy(copy, text, cut);
        describe(copy, cut, got, sizeof got);
        cr_assert(strstr(got, "!line 1 column "), "cut at %zu: %s", cut, got);
        for (unsigned byte = 0; byte < 256; byte += 3) {
            memcpy(copy, text, n);
            copy[cut] = (char)byte;
            describe(copy, n, got, sizeof got);
        }
    }
}
