/* Ids to text as they come: src/text/detok.c and decode.c. */
#include "config.h"
#include "src/text/detok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "src/base/utf8.h"
#include "tests/support.h"
#include "tests/unit/text_util.h"

/* A vocabulary with a piece for each byte (<0x00> is id 3), and some pieces of text (from id 259 on). */
static struct tokenizer *open_bytes(const char *decoder)
{
    static char json[32768];
    static const char *const pieces[] = {"▁", "a", "▁b", "▁▁c", "é", "▁d▁"};
    size_t n = (size_t)snprintf(json, sizeof json,
                                "{\"added_tokens\": [{\"id\": 1, \"content\": \"<s>\", \"special\": true}],"
                                "\"decoder\": %s, \"model\": {\"type\": \"BPE\", \"byte_fallback\": true, "
                                "\"merges\": [], \"vocab\": {\"<unk>\": 0, \"<s>\": 1, \"</s>\": 2",
                                decoder);
    for (unsigned i = 0; i < 256; i++)
        n += (size_t)snprintf(json + n, sizeof json - n, ", \"<0x%02X>\": %u", i, i + 3);
    for (unsigned i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        n += (size_t)snprintf(json + n, sizeof json - n, ", \"%s\": %u", pieces[i], i + 259);
    snprintf(json + n, sizeof json - n, "}}}");
    return text_util_parse(json);
}

enum { SPACE = 259, A, SPACE_B, TWO_SPACES_C, E_ACUTE, SPACE_D_SPACE, FIRST_BYTE = 3, BOS = 1 };

#define SPM                                                                                                \
    "{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": {\"String\": \"▁\"}, " \
    "\"content\": \" \"}, {\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}, {\"type\": \"Strip\", "      \
    "\"content\": \" \", \"start\": 1, \"stop\": 0}]}"

/* The text of ids after a prompt. */
static struct buf decode_after(const struct tokenizer *t, const int32_t *prompt, size_t n_prompt,
                               const int32_t *ids, size_t n, bool special)
{
    struct detok d;
    struct buf text;
    buf_init(&text, 0);
    char *out = malloc(detok_max_out(t));
    detok_start(&d, t, special, prompt, n_prompt);
    for (size_t i = 0; i <= n; i++) {
        size_t length = i < n ? detok_push(&d, ids[i], out) : detok_finish(&d, out);
        cr_assert(length <= detok_max_out(t));
        cr_assert_eq(utf8_check(out, length), length, "a piece that is not UTF-8");
        cr_assert_eq(buf_push(&text, out, length), 0);
    }
    free(out);
    return text;
}

static void check(const struct tokenizer *t, const int32_t *prompt, size_t n_prompt, const int32_t *ids,
                  size_t n, const char *want)
{
    struct buf got = decode_after(t, prompt, n_prompt, ids, n, false);
    cr_assert(got.n == strlen(want) && (got.n == 0 || memcmp(got.data, want, got.n) == 0),
              "got '%.*s', want '%s'", (int)got.n, (const char *)got.data, want);
    buf_deinit(&got);
}

#define IDS(...) (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)
#define NO_PROMPT NULL, 0

Test(detok, the_first_space_is_stripped_only_at_the_beginning)
{
    struct tokenizer *t = open_bytes(SPM);
    check(t, NO_PROMPT, IDS(SPACE_B, SPACE_B), "b b");
    check(t, NO_PROMPT, IDS(BOS, SPACE_B), "b");
    check(t, NO_PROMPT, IDS(TWO_SPACES_C), " c");
    check(t, NO_PROMPT, IDS(SPACE, SPACE_B), " b");
    check(t, NO_PROMPT, IDS(A, SPACE_B), "a b");
    check(t, NO_PROMPT, IDS(FIRST_BYTE + ' ', SPACE_B), " b");
    tokenizer_free(t);
}

Test(detok, after_a_prompt_the_first_space_survives)
{
    struct tokenizer *t = open_bytes(SPM);
    check(t, IDS(BOS, SPACE_B), IDS(SPACE_B), " b");
    check(t, IDS(BOS), IDS(SPACE_B), "b");
    check(t, IDS(BOS, SPACE), IDS(SPACE_B), " b");
    tokenizer_free(t);
}

Test(detok, a_character_that_the_prompt_began_is_completed)
{
    struct tokenizer *t = open_bytes(SPM);
    check(t, IDS(A, FIRST_BYTE + 0xe2, FIRST_BYTE + 0x82), IDS(FIRST_BYTE + 0xac), "\xe2\x82\xac");
    tokenizer_free(t);
}

Test(detok, special_tokens_are_left_out_unless_asked_for)
{
    struct tokenizer *t = open_bytes(SPM);
    const int32_t ids[] = {A, BOS, SPACE_B};
    struct buf got = decode_after(t, NULL, 0, ids, 3, true);
    cr_assert(got.n == 6 && memcmp(got.data, "a<s> b", 6) == 0);
    buf_deinit(&got);
    check(t, NO_PROMPT, ids, 3, "a b");
    tokenizer_free(t);
}

Test(detok, bytes_become_characters)
{
    struct tokenizer *t = open_bytes(SPM);
    check(t, NO_PROMPT, IDS(FIRST_BYTE + 0xf0, FIRST_BYTE + 0x9f, FIRST_BYTE + 0x98, FIRST_BYTE + 0x80),
          "\xf0\x9f\x98\x80");
    /* Invalid bytes: one U+FFFD each, as in the reference. */
    check(t, NO_PROMPT, IDS(FIRST_BYTE + 0xff, A),
          "\xef\xbf\xbd"
          "a");
    check(t, NO_PROMPT, IDS(FIRST_BYTE + 0xe2, FIRST_BYTE + 0x82, A),
          "\xef\xbf\xbd\xef\xbf\xbd"
          "a");
    check(t, NO_PROMPT, IDS(FIRST_BYTE + 0xe2, FIRST_BYTE + 0x82), "\xef\xbf\xbd\xef\xbf\xbd");
    check(t, NO_PROMPT, IDS(FIRST_BYTE + 0xe2, FIRST_BYTE + 0xe2, FIRST_BYTE + 0x82, FIRST_BYTE + 0xac),
          "\xef\xbf\xbd\xe2\x82\xac");
    tokenizer_free(t);
}

Test(detok, ids_that_are_none_give_nothing)
{
    struct tokenizer *t = open_bytes(SPM);
    check(t, NO_PROMPT, IDS(-1, A, 100000, INT32_MIN, INT32_MAX), "a");
    tokenizer_free(t);
}

Test(detok, metaspace_drops_the_marks_of_the_first_piece)
{
    struct tokenizer *t =
        open_bytes("{\"type\": \"Metaspace\", \"replacement\": \"▁\", \"prepend_scheme\": \"always\"}");
    check(t, NO_PROMPT, IDS(SPACE_D_SPACE, SPACE_B), "d b");
    check(t, IDS(A), IDS(TWO_SPACES_C), "  c");
    tokenizer_free(t);
    t = open_bytes("{\"type\": \"Metaspace\", \"replacement\": \"▁\", \"prepend_scheme\": \"never\"}");
    check(t, NO_PROMPT, IDS(SPACE_D_SPACE, SPACE_B), " d  b");
    tokenizer_free(t);
}

Test(detok, without_a_decoder_pieces_are_joined_by_spaces)
{
    struct tokenizer *t = open_bytes("null");
    check(t, NO_PROMPT, IDS(A, E_ACUTE, A), "a \xc3\xa9 a");
    check(t, IDS(A), IDS(A), " a");
    tokenizer_free(t);
}

/* Byte-level models: any ids, in streams, equal their bytes put together and then made valid. */
Test(detok, streams_equal_the_whole_for_random_ids)
{
    char path[SUPPORT_PATH];
    support_source(path, "contrib/demo-model/tokenizer.json");
    struct tokenizer *t = text_util_open(path);
    uint64_t state = 7;
    for (int round = 0; round < 20000; round++) {
        int32_t ids[24];
        struct buf bytes, want;
        buf_init(&bytes, 0);
        buf_init(&want, 0);
        size_t n = text_util_random(&state, 24), length;
        for (size_t i = 0; i < n; i++) {
            /* The first 261 ids are the special ones and single bytes. */
            ids[i] = (int32_t)text_util_random(&state, text_util_random(&state, 2) ? 261 : 1024);
            const char *piece = tokenizer_bytes(t, ids[i], &length);
            cr_assert_eq(buf_push(&bytes, piece, length), 0);
        }
        cr_assert_eq(utf8_replace(&want, bytes.n ? (const char *)bytes.data : "", bytes.n), 0);
        struct buf got = decode_after(t, NULL, 0, ids, n, true);
        cr_assert(got.n == want.n && (got.n == 0 || memcmp(got.data, want.data, got.n) == 0), "round %d",
                  round);
        buf_deinit(&got);
        buf_deinit(&want);
        buf_deinit(&bytes);
    }
    tokenizer_free(t);
}

/* All ways to spell what is left of a text with tokens: what has come out must be the characters that are
 * complete, then and at the end. */
struct splits {
    const struct tokenizer *tokenizer;
    const char *text;
    size_t n, n_split;
};

static void split_on(struct splits *s, struct detok d, size_t at, size_t n_out)
{
    char out[256];
    if (at == s->n) {
        cr_assert(n_out == s->n && detok_finish(&d, out) == 0, "%zu of %zu bytes came out", n_out, s->n);
        s->n_split++;
    }
    for (int32_t id = 0; at < s->n && id < tokenizer_n_vocab(s->tokenizer); id++) {
        size_t n;
        const char *piece = tokenizer_bytes(s->tokenizer, id, &n);
        if (n == 0 || n > s->n - at || memcmp(s->text + at, piece, n) != 0)
            continue;
        struct detok next = d;
        size_t length = detok_push(&next, id, out);
        cr_assert(n_out + length == utf8_check(s->text, at + n) && memcmp(s->text + n_out, out, length) == 0,
                  "id %d at byte %zu", id, at);
        split_on(s, next, at + n, n_out + length);
    }
}

static void check_splits(struct tokenizer *t, const char *text)
{
    struct splits s = {.tokenizer = t, .text = text, .n = strlen(text)};
    struct detok d;
    cr_assert(detok_max_out(t) <= 256);
    detok_start(&d, t, true, NULL, 0);
    d.n_strip = 0; /* the text of the tokens is compared, whose first space counts */
    split_on(&s, d, 0, 0);
    cr_assert(s.n_split > 100, "%zu ways", s.n_split);
    tokenizer_free(t);
}

Test(detok, every_split_into_tokens_gives_the_text)
{
    char path[SUPPORT_PATH];
    support_source(path, "contrib/demo-model/tokenizer.json");
    check_splits(open_bytes(SPM), "aé b  c\xf0\x9f\x98\x80 d é");
    check_splits(text_util_open(path), "She said: \xe2\x82\xac one day");
}

/* decode(prompt + new) minus decode(prompt), for every place to cut where the prompt ends with a character.
 */
Test(detok, a_continuation_is_the_difference)
{
    struct tokenizer *t = open_bytes(SPM);
    uint64_t state = 11;
    for (int round = 0; round < 5000; round++) {
        int32_t ids[12];
        size_t n = text_util_random(&state, 12);
        for (size_t i = 0; i < n; i++)
            ids[i] =
                (int32_t)text_util_random(&state, 2) ? (int32_t)(SPACE + text_util_random(&state, 6)) : BOS;
        struct buf whole = decode_after(t, NULL, 0, ids, n, false);
        for (size_t cut = 0; cut <= n; cut++) {
            struct buf before = decode_after(t, NULL, 0, ids, cut, false);
            struct buf after = decode_after(t, ids, cut, ids + cut, n - cut, false);
            cr_assert_eq(before.n + after.n, whole.n);
            cr_assert(after.n == 0 || memcmp(whole.data + before.n, after.data, after.n) == 0);
            buf_deinit(&before);
            buf_deinit(&after);
        }
        buf_deinit(&whole);
    }
    tokenizer_free(t);
}
