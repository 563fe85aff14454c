/* src/text/sp_merge.c: what has no piece. Models as trainers make them are tested in test_vocabularies.c. */
#include "config.h"
#include "src/text/sp_merge.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Ids: "a" 0, "ab" 1, "?" 2, and the bytes from 3 on. The character b is no piece. */
enum { FIRST_BYTE = 3 };

static void check(bool fallback, unsigned n_byte, int32_t unk, const char *text, const int32_t *want,
                  size_t n)
{
    struct vocab v = VOCAB_NULL;
    float scores[FIRST_BYTE + 256] = {0};
    int32_t bytes[256];
    cr_assert(vocab_add(&v, "a", 1, 0) == 0 && vocab_add(&v, "ab", 2, 1) == 0);
    cr_assert_eq(vocab_add_hidden(&v, "?", 1, 2), 0);
    for (unsigned i = 0; i < 256; i++) {
        char piece[8];
        snprintf(piece, sizeof piece, "<0x%02X>", i);
        bytes[i] = i < n_byte ? (int32_t)i + FIRST_BYTE : VOCAB_NONE;
        if (i < n_byte)
            cr_assert_eq(vocab_add_hidden(&v, piece, 6, bytes[i]), 0);
    }
    struct sp_merge m = {
        .vocab = &v, .scores = scores, .unk = unk, .byte_fallback = fallback, .bytes = bytes};
    struct sp_merge_run run = {0};
    struct token_list got = TOKEN_LIST_NULL;
    cr_assert_eq(sp_merge_encode(&m, &run, (const uint8_t *)text, strlen(text), &got), 0);
    cr_assert(got.n == n && memcmp(got.data, want, n * sizeof *want) == 0,
              "%u bytes, unknown %d: '%s' has %zu", n_byte, unk, text, got.n);
    token_list_deinit(&got);
    sp_merge_run_deinit(&run);
    vocab_deinit(&v);
}

#define CHECK(fallback, n_byte, unk, text, ...)                        \
    check(fallback, n_byte, unk, text, (const int32_t[]){__VA_ARGS__}, \
          sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

Test(sp_merge, what_has_no_piece_is_its_bytes)
{
    CHECK(true, 256, 2, "abb", 1, FIRST_BYTE + 'b');
    CHECK(true, 256, 2, "aü", 0, FIRST_BYTE + 0xc3, FIRST_BYTE + 0xbc);
}

Test(sp_merge, neighbours_without_pieces_are_one_unknown_token)
{
    CHECK(false, 256, 2, "aüüab", 0, 2, 1);
    CHECK(false, 256, 2, "üaü", 2, 0, 2);
}

/* Files that are no SentencePiece models may lack some bytes, and the unknown piece too. */
Test(sp_merge, bytes_that_are_not_all_there)
{
    CHECK(true, 0xc0, 2, "aüüa", 0, 2, 0);
    CHECK(true, 0xc0, 2, "bü", FIRST_BYTE + 'b', 2);
    CHECK(true, 0xc0, VOCAB_NONE, "aüa", 0, 0);
    CHECK(false, 0, VOCAB_NONE, "aüa", 0, 0);
}
