/* Stop strings: src/text/stop.c, against searching the whole text. */
#include "config.h"
#include "src/text/stop.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/text_util.h"

enum { MAX_TEXT = 40, MAX_PUSH = 8 };

struct needles {
    const char *strings[STOP_MAX_STRING];
    size_t lengths[STOP_MAX_STRING];
    size_t n;
};

/* The needle that ends first, of those the one that starts first: its index (-1: none) and where it starts.
 */
static int naive(const struct needles *k, const char *text, size_t n, size_t *ret_start)
{
    for (size_t end = 1; end <= n; end++) {
        int found = -1;
        for (size_t i = 0; i < k->n; i++)
            if (k->lengths[i] <= end &&
                memcmp(text + end - k->lengths[i], k->strings[i], k->lengths[i]) == 0 &&
                (found < 0 || k->lengths[i] > k->lengths[found]))
                found = (int)i;
        if (found >= 0) {
            *ret_start = end - k->lengths[found];
            return found;
        }
    }
    *ret_start = n;
    return -1;
}

/* What must be held back at the end of a text without any needle: the longest beginning of one. */
static size_t naive_held(const struct needles *k, const char *text, size_t n)
{
    size_t held = 0;
    for (size_t i = 0; i < k->n; i++)
        for (size_t length = 1; length < k->lengths[i] && length <= n; length++)
            if (memcmp(text + n - length, k->strings[i], length) == 0 && length > held)
                held = length;
    return held;
}

/* Pushes the text cut where the bits of `cuts` are set (a piece is at most MAX_PUSH long) and compares. */
static void check(const struct needles *k, const char *text, size_t n, uint64_t cuts)
{
    struct stop *s = NULL;
    char got[MAX_TEXT];
    size_t n_got = 0, start, n_out;
    const char *out;
    int want = naive(k, text, n, &start), found = -1;
    cr_assert_eq(stop_new(&s, k->strings, k->lengths, k->n, MAX_PUSH), 0);
    for (size_t at = 0, end; at < n && found < 0; at = end) {
        end = at + 1;
        while (end < n && end - at < MAX_PUSH && !(cuts >> end & 1))
            end++;
        found = stop_push(s, text + at, end - at, &out, &n_out);
        memcpy(got + n_got, out, n_out);
        n_got += n_out;
        if (found < 0)
            cr_assert_eq(n_got, end - naive_held(k, text, end), "'%.*s' held after %zu", (int)n, text, end);
    }
    cr_assert_eq(found, want, "'%.*s': needle %d, want %d", (int)n, text, found, want);
    if (found >= 0)
        cr_assert(stop_push(s, "x", 1, &out, &n_out) == -1 && n_out == 0);
    stop_finish(s, &out, &n_out);
    memcpy(got + n_got, out, n_out);
    n_got += n_out;
    cr_assert(n_got == start && memcmp(got, text, n_got) == 0, "'%.*s': delivered '%.*s'", (int)n, text,
              (int)n_got, got);
    stop_free(s);
}

Test(stop, every_split_of_short_texts)
{
    static const struct needles k = {
        .strings = {"ab", "aab", "b\nb", "ababa"}, .lengths = {2, 3, 3, 5}, .n = 4};
    static const char *const texts[] = {"",       "ab",      "xxaabyy", "aaab",     "b\nab",
                                        "b\nb\n", "abababa", "xyz",     "aaaaaaaa", "b\nb"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (uint64_t cuts = 0; cuts < UINT64_C(1) << strlen(texts[i]); cuts++)
            check(&k, texts[i], strlen(texts[i]), cuts);
}

Test(stop, random_texts_over_a_small_alphabet)
{
    uint64_t state = 42;
    char strings[STOP_MAX_STRING][8], text[MAX_TEXT];
    for (int round = 0; round < 20000; round++) {
        struct needles k = {.n = 1 + text_util_random(&state, STOP_MAX_STRING)};
        for (size_t i = 0; i < k.n; i++) {
            k.strings[i] = strings[i];
            k.lengths[i] = 1 + text_util_random(&state, 7);
            for (size_t j = 0; j < k.lengths[i]; j++)
                strings[i][j] = (char)('a' + text_util_random(&state, 3));
        }
        size_t n = text_util_random(&state, MAX_TEXT);
        for (size_t j = 0; j < n; j++)
            text[j] = (char)('a' + text_util_random(&state, 4));
        check(&k, text, n,
              (uint64_t)text_util_random(&state, UINT32_MAX) << 16 | text_util_random(&state, 65536));
    }
}

Test(stop, the_longest_strings)
{
    char needle[STOP_MAX_BYTES], text[2 * STOP_MAX_BYTES];
    const char *strings[] = {needle};
    size_t lengths[] = {sizeof needle}, n_out, total = 0;
    const char *out;
    struct stop *s = NULL;
    memset(needle, 'a', sizeof needle);
    needle[sizeof needle - 1] = 'b';
    memset(text, 'a', sizeof text);
    cr_assert_eq(stop_new(&s, strings, lengths, 1, sizeof text), 0);
    cr_assert_eq(stop_push(s, text, sizeof text, &out, &n_out), -1);
    cr_assert_eq(n_out, sizeof text - (STOP_MAX_BYTES - 1));
    total += n_out;
    cr_assert_eq(stop_push(s, "b", 1, &out, &n_out), 0);
    cr_assert_eq(total + n_out, sizeof text - (STOP_MAX_BYTES - 1));
    stop_free(s);
}

Test(stop, without_strings_everything_passes)
{
    struct stop *s = NULL;
    const char *out;
    size_t n;
    cr_assert_eq(stop_new(&s, NULL, NULL, 0, 4), 0);
    cr_assert_eq(stop_push(s, "text", 4, &out, &n), -1);
    cr_assert(n == 4 && memcmp(out, "text", 4) == 0);
    stop_finish(s, &out, &n);
    cr_assert_eq(n, 0);
    stop_free(s);
}
