/* The hand-written splitters against their regular expressions: src/text/splitter.c and regex.c. */
#include "config.h"
#include "src/text/splitter.h"

#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "src/base/utf8.h"
#include "src/text/regex.h"
#include "tests/unit/text_util.h"

#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const char gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
static const char llama3[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" REST;
static const char qwen2[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" REST;

static const struct {
    const char *pattern;
    splitter_fn split;
} known[] = {{gpt2, splitter_gpt2}, {llama3, splitter_llama3}, {qwen2, splitter_qwen2}};

enum { N_KNOWN = sizeof known / sizeof known[0] };

struct compare {
    struct regex *regex[N_KNOWN];
    struct regex_state *state[N_KNOWN];
};

static void compare_init(struct compare *c)
{
    struct why why = {""};
    for (size_t i = 0; i < N_KNOWN; i++) {
        cr_assert_eq(regex_new(&c->regex[i], known[i].pattern, strlen(known[i].pattern), &why), 0, "%s",
                     why.text);
        c->state[i] = regex_state_new(c->regex[i]);
        cr_assert_not_null(c->state[i]);
    }
}

static void compare_deinit(struct compare *c)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        regex_state_free(c->state[i]);
        regex_free(c->regex[i]);
    }
}

static void compare_text(struct compare *c, const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        for (size_t at = 0, from, to; at < n; at = to) {
            cr_assert_eq(regex_find(c->regex[i], c->state[i], text, n, at, &from, &to), 0);
            cr_assert_eq(from, at, "pattern %zu leaves a gap in '%.*s'", i, (int)n, (const char *)text);
            size_t length = known[i].split(text + at, n - at);
            cr_assert_eq(length, to - from, "pattern %zu at byte %zu of '%.*s': %zu, want %zu", i, at, (int)n,
                         (const char *)text, length, to - from);
        }
    }
}

Test(splitter, known_patterns_are_found)
{
    for (size_t i = 0; i < N_KNOWN; i++)
        cr_assert_eq(splitter_find(known[i].pattern, strlen(known[i].pattern)), known[i].split);
    cr_assert_null(splitter_find(gpt2, sizeof gpt2 - 2));
}

/* Every code point that PCRE2's tables (Unicode 14) know, between characters of each class. */
Test(splitter, every_code_point_in_every_neighbourhood)
{
    static const char *const before[] = {"", "a", "1", " ", "!", "\n", "'"};
    static const char *const after[] = {"", "a", "1", " !", "\r"};
    struct compare c;
    struct regex *unassigned = NULL;
    compare_init(&c);
    cr_assert_eq(regex_new(&unassigned, "\\p{Cn}", 6, NULL), 0);
    struct regex_state *state = regex_state_new(unassigned);
    for (uint32_t code = 0; code < 0x110000; code++) {
        uint8_t character[UTF8_MAX], text[16];
        size_t from, to, n_character = utf8_encode(code, character);
        if (regex_find(unassigned, state, character, n_character, 0, &from, &to) == 0)
            continue;
        for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
            size_t n = strlen(before[i]);
            const char *end = after[(code + i) % 5];
            memcpy(text, before[i], n);
            memcpy(text + n, character, n_character);
            memcpy(text + n + n_character, end, strlen(end));
            compare_text(&c, text, n + n_character + strlen(end));
        }
    }
    regex_state_free(state);
    regex_free(unassigned);
    compare_deinit(&c);
}

Test(splitter, random_texts)
{
    static const char *const parts[] = {"'s",
                                        "'S",
                                        "'\xc5\xbf",
                                        "'ll",
                                        "'LL",
                                        "'lL",
                                        "'re",
                                        "'",
                                        " ",
                                        "  ",
                                        "\n",
                                        "\r\n",
                                        "\t",
                                        "a",
                                        "B",
                                        "\xc3\xa9",
                                        "1",
                                        "22",
                                        "4444",
                                        "\xc2\xbd",
                                        "!",
                                        "...",
                                        "\xe3\x80\x80",
                                        "\xe4\xbd\xa0",
                                        "\xcc\x81",
                                        "\xf0\x9f\x98\x80",
                                        "\xe1\xa0\x8e",
                                        "\xc2\x85"};
    struct compare c;
    uint64_t state = 3;
    compare_init(&c);
    for (int round = 0; round < 50000; round++) {
        struct buf text;
        uint8_t bytes[UTF8_MAX];
        buf_init(&text, 0);
        for (unsigned i = text_util_random(&state, 14); i > 0; i--) {
            const char *part = parts[text_util_random(&state, sizeof parts / sizeof parts[0])];
            cr_assert_eq(buf_push(&text, part, strlen(part)), 0);
            if (text_util_random(&state, 8) == 0)
                cr_assert_eq(buf_push(&text, bytes, utf8_encode(text_util_random(&state, 0x800), bytes)), 0);
        }
        compare_text(&c, text.data, text.n);
        buf_deinit(&text);
    }
    compare_deinit(&c);
}

static void find(const char *pattern, const char *text, size_t want_from, size_t want_to)
{
    struct why why = {""};
    struct regex *re = NULL;
    size_t from, to;
    cr_assert_eq(regex_new(&re, pattern, strlen(pattern), &why), 0, "%s", why.text);
    struct regex_state *state = regex_state_new(re);
    int r = regex_find(re, state, (const uint8_t *)text, strlen(text), 0, &from, &to);
    if (want_from == want_to)
        cr_assert_eq(r, REGEX_NONE, "'%s' in '%s'", pattern, text);
    else
        cr_assert(r == 0 && from == want_from && to == want_to, "'%s' in '%s'", pattern, text);
    regex_state_free(state);
    regex_free(re);
}

Test(regex, sets_mean_what_they_mean_in_oniguruma)
{
    find("\\s", "\xe1\xa0\x8e", 0, 0); /* U+180E is no white space any more */
    find("\\s", "\xc2\x85", 0, 2);
    find("[\\s]", "a\xe2\x80\xa8", 1, 4);
    find("\\S", " x", 1, 2);
    find("\\w+",
         "-a_\xcc\x81"
         "1-",
         1, 6);
    find("\\W", "a-", 1, 2);
    find("\\w", "-\xc2\xb2", 1, 3);
    find("[\\w]", "-\xc2\xb2", 0, 0);
    find("\\d+",
         "a\xd9\xa3"
         "1",
         1, 4);
    find("\\v", "\n\x0b", 1, 2);
    find("(?i:'s)", "'\xc5\xbf", 0, 3);
    find("a(?!b)", "abac", 2, 3);
}

/* As Oniguruma has them: every line has its ends. */
Test(regex, anchors)
{
    find("^a", "b\na", 2, 3);
    find("^a", "ba", 0, 0);
    find("a$", "aba\nb", 2, 3);
    find("a$", "a\r\n", 0, 0);
    find("\n$", "a\n", 1, 2);
    find("\n$", "a\n\n", 1, 2);
    find("\\s+$", "a  b  ", 4, 6);
    find("\\Aa", "b\na", 0, 0);
    find("a\\z", "a\na", 2, 3);
    find("a\\Z", "ba\n", 1, 2);
    find("\\ba", "ba a", 3, 4);
    find("a\\b", "ab a\xcc\x81 a-", 7, 8);
    find("\\Ba", "a ba", 3, 4);
}

Test(regex, what_differs_is_refused)
{
    static const char *const refused[] = {
        "^*a",     "a$?",   "\\Ga",     "\\b+x", "\\h", "a{1,3}+", "a{2}?", "[[:alpha:]]", "[a&&b]", "[\\S]",
        "(?<n>a)", "(?m)a", "(*SKIP)a", "\\1",   "a\\", "\\x41",   "a*",    "(",           "[]a]",   ""};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct regex *re = NULL;
        struct why why = {""};
        cr_assert_eq(regex_new(&re, refused[i], strlen(refused[i]), &why), EX_DATAERR, "'%s'", refused[i]);
        cr_assert(why.text[0], "'%s'", refused[i]);
    }
}

Test(regex, a_search_without_end_is_ended)
{
    static const char pattern[] = "(?:a+a+)+[bc]";
    struct why why = {""};
    struct regex *re = NULL;
    char text[64];
    size_t from, to;
    memset(text, 'a', sizeof text);
    cr_assert_eq(regex_new(&re, pattern, sizeof pattern - 1, &why), 0, "%s", why.text);
    struct regex_state *state = regex_state_new(re);
    cr_assert_eq(regex_find(re, state, (const uint8_t *)"aaab", 4, 0, &from, &to), 0);
    cr_assert_eq(regex_find(re, state, (const uint8_t *)text, sizeof text, 0, &from, &to), REGEX_E_LIMIT);
    regex_state_free(state);
    regex_free(re);
}
