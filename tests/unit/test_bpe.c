/* Byte-pair encoding against its definition: src/text/bpe.c and bpe_long.c. */
#include "config.h"
#include "src/text/bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/base/utf8.h"
#include "src/text/bpe_long.h"
#include "tests/unit/text_util.h"

enum { MAX_MERGES = 60, MAX_WORD = 700 };

/* A model over a few letters with random merges, in which a piece may be made in several ways and a merge may
 * use pieces of later merges. */
struct model {
    struct vocab vocab;
    struct bpe bpe;
    struct bpe_merge merges[MAX_MERGES];
    size_t n_merge;
};

static void add_piece(struct vocab *v, const char *piece, size_t n)
{
    cr_assert_eq(vocab_add(v, piece, n, (int64_t)v->n_id), 0);
}

static void add_merges(struct model *m, uint64_t *state, size_t n_merge)
{
    for (int tries = 0; m->n_merge < n_merge && tries < 1000; tries++) {
        struct bpe_merge *merge = &m->merges[m->n_merge];
        size_t n_left, n_right;
        merge->left = (int32_t)(1 + text_util_random(state, (uint32_t)m->vocab.n_id - 1));
        merge->right = (int32_t)(1 + text_util_random(state, (uint32_t)m->vocab.n_id - 1));
        const uint8_t *left = vocab_piece(&m->vocab, merge->left, &n_left);
        const uint8_t *right = vocab_piece(&m->vocab, merge->right, &n_right);
        char both[64];
        if (n_left + n_right > 12)
            continue;
        memcpy(both, left, n_left);
        memcpy(both + n_left, right, n_right);
        if (vocab_find(&m->vocab, both, n_left + n_right) == VOCAB_NONE)
            add_piece(&m->vocab, both, n_left + n_right);
        merge->merged = vocab_find(&m->vocab, both, n_left + n_right);
        m->n_merge++;
    }
    /* Ranks in any order. */
    for (size_t i = m->n_merge; i > 1; i--) {
        size_t j = text_util_random(state, (uint32_t)i);
        struct bpe_merge swap = m->merges[i - 1];
        m->merges[i - 1] = m->merges[j];
        m->merges[j] = swap;
    }
}

static void model_init(struct model *m, uint64_t *state, bool byte_level, size_t n_merge)
{
    static const char *const letters[] = {"a", "b", "c", "d", "é", "€"};
    *m = (struct model){.bpe = BPE_NULL};
    add_piece(&m->vocab, "<unk>", 5);
    for (size_t i = 0; i < (byte_level ? 4 : 6); i++)
        add_piece(&m->vocab, letters[i], strlen(letters[i]));
    add_merges(m, state, n_merge);
    m->bpe.vocab = &m->vocab;
    m->bpe.byte_level = byte_level;
    m->bpe.unk = text_util_random(state, 2) ? 0 : VOCAB_NONE;
    m->bpe.fuse_unk = text_util_random(state, 2);
    cr_assert_eq(bpe_seal(&m->bpe, m->merges, m->n_merge), 0);
}

static void model_deinit(struct model *m)
{
    bpe_deinit(&m->bpe);
    vocab_deinit(&m->vocab);
}

/* The definition: symbols of characters, then the pair with the lowest rank, the leftmost first. */
static size_t naive(const struct model *m, const uint8_t *word, size_t n, int32_t *ids)
{
    size_t n_id = 0;
    for (size_t at = 0; at < n; at += utf8_length(word[at])) {
        int32_t id = vocab_find(&m->vocab, word + at, utf8_length(word[at]));
        bool fused = n_id && m->bpe.fuse_unk && ids[n_id - 1] == 0;
        if (id != VOCAB_NONE)
            ids[n_id++] = id;
        else if (m->bpe.unk != VOCAB_NONE && !fused)
            ids[n_id++] = 0;
    }
    for (;;) {
        size_t best_rank = m->n_merge, best = 0;
        for (size_t i = 0; i + 1 < n_id; i++) {
            /* The last of equal pairs counts. */
            for (size_t rank = m->n_merge; rank-- > 0;) {
                if (m->merges[rank].left != ids[i] || m->merges[rank].right != ids[i + 1])
                    continue;
                if (rank < best_rank) {
                    best_rank = rank;
                    best = i;
                }
                break;
            }
        }
        if (best_rank == m->n_merge)
            return n_id;
        ids[best] = m->merges[best_rank].merged;
        memmove(ids + best + 1, ids + best + 2, (n_id - best - 2) * sizeof *ids);
        n_id--;
    }
}

static void check_word(const struct model *m, struct bpe_run *run, const uint8_t *word, size_t n)
{
    static int32_t want[4 * MAX_WORD];
    struct token_list got = TOKEN_LIST_NULL;
    size_t n_want = naive(m, word, n, want);
    cr_assert_eq(bpe_encode(&m->bpe, run, word, n, &got), 0);
    cr_assert(got.n == n_want && (n_want == 0 || memcmp(got.data, want, n_want * sizeof *want) == 0),
              "a word of %zu bytes: %zu ids, want %zu", n, got.n, n_want);
    token_list_deinit(&got);
}

static size_t random_word(uint64_t *state, uint8_t *word, size_t n_character, bool byte_level)
{
    static const char *const characters[] = {"a", "b", "c", "d", "é", "€", "x", "ü"};
    uint32_t kinds = 1 + text_util_random(state, byte_level ? 4 : 8);
    size_t n = 0;
    for (size_t i = 0; i < n_character; i++) {
        const char *c = characters[text_util_random(state, kinds)];
        memcpy(word + n, c, strlen(c));
        n += strlen(c);
    }
    return n;
}

static void check_models(bool byte_level, int n_model, int n_word, uint32_t max_word)
{
    static uint8_t word[4 * MAX_WORD];
    uint64_t state = 99;
    for (int i = 0; i < n_model; i++) {
        struct model m;
        struct bpe_run run = BPE_RUN_NULL;
        model_init(&m, &state, byte_level, text_util_random(&state, MAX_MERGES));
        for (int j = 0; j < n_word; j++)
            check_word(&m, &run, word,
                       random_word(&state, word, text_util_random(&state, max_word), byte_level));
        bpe_run_deinit(&run);
        model_deinit(&m);
    }
}

Test(bpe, short_words_equal_the_definition)
{
    check_models(false, 600, 60, 40);
    check_models(true, 600, 60, 40);
}

Test(bpe, long_words_equal_the_definition)
{
    check_models(false, 150, 4, MAX_WORD);
    check_models(true, 150, 4, MAX_WORD);
}

Test(bpe, lengths_around_the_change_of_method)
{
    uint8_t word[4 * MAX_WORD];
    uint64_t state = 5;
    struct model m;
    struct bpe_run run = BPE_RUN_NULL;
    model_init(&m, &state, false, MAX_MERGES);
    for (size_t n = 55; n < 75; n++)
        for (int i = 0; i < 20; i++)
            check_word(&m, &run, word, random_word(&state, word, n, false));
    bpe_run_deinit(&run);
    model_deinit(&m);
}

/* One letter a thousand times over: every pair overlaps the next. */
Test(bpe, runs_of_one_letter)
{
    uint8_t word[MAX_WORD];
    struct model m = {.bpe = BPE_NULL};
    struct bpe_run run = BPE_RUN_NULL;
    add_piece(&m.vocab, "<unk>", 5);
    add_piece(&m.vocab, "aaaa", 4);
    add_piece(&m.vocab, "a", 1);
    add_piece(&m.vocab, "aa", 2);
    add_piece(&m.vocab, "aaa", 3);
    m.merges[0] = (struct bpe_merge){.left = 2, .right = 2, .merged = 3};
    m.merges[1] = (struct bpe_merge){.left = 3, .right = 3, .merged = 1};
    m.merges[2] = (struct bpe_merge){.left = 3, .right = 2, .merged = 4};
    m.n_merge = 3;
    m.bpe.vocab = &m.vocab;
    cr_assert_eq(bpe_seal(&m.bpe, m.merges, m.n_merge), 0);
    memset(word, 'a', sizeof word);
    for (size_t n = 0; n < sizeof word; n++)
        check_word(&m, &run, word, n);
    bpe_run_deinit(&run);
    model_deinit(&m);
}

/* Merged in windows of any size, symbols become what they become all at once. */
static void check_windows(const struct bpe *b, const int32_t *symbols, size_t n)
{
    static const size_t windows[] = {1, 17, 40, 100, 800, 1500};
    struct bpe_long *run = NULL;
    struct token_list want = TOKEN_LIST_NULL;
    cr_assert_eq(bpe_long_merge(b, &run, symbols, n, n, &want), 0);
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        struct token_list got = TOKEN_LIST_NULL;
        cr_assert_eq(token_list_push(&got, -7), 0);
        cr_assert_eq(bpe_long_merge(b, &run, symbols, n, windows[i], &got), 0);
        cr_assert(got.n == want.n + 1 && got.data[0] == -7 &&
                      memcmp(got.data + 1, want.data, want.n * sizeof *want.data) == 0,
                  "%zu symbols in windows of %zu: %zu ids, want %zu", n, windows[i], got.n - 1, want.n);
        token_list_deinit(&got);
    }
    token_list_deinit(&want);
    bpe_long_free(run);
}

Test(bpe, windows_change_nothing)
{
    static int32_t symbols[3000];
    uint64_t state = 7;
    for (int i = 0; i < 300; i++) {
        struct model m;
        model_init(&m, &state, false, 1 + text_util_random(&state, MAX_MERGES - 1));
        for (int j = 0; j < 4; j++) {
            size_t n = 1 + text_util_random(&state, sizeof symbols / sizeof symbols[0]);
            uint32_t kinds = 1 + text_util_random(&state, 6);
            for (size_t k = 0; k < n; k++)
                symbols[k] = (int32_t)(1 + text_util_random(&state, kinds));
            check_windows(&m.bpe, symbols, n);
        }
        model_deinit(&m);
    }
}

/* Of each two neighbours of a long row the last are merged first: where the row ends decides about its
 * beginning, which no window's end can know. */
Test(bpe, windows_that_do_not_fit_together)
{
    enum { ROW = 999, N = 3 * ROW };
    static struct bpe_merge merges[ROW - 1];
    static int32_t symbols[N];
    struct vocab v = VOCAB_NULL;
    struct bpe b = BPE_NULL;
    uint8_t row[3 * ROW];
    for (size_t i = 0; i < ROW; i++)
        cr_assert_eq(utf8_encode((uint32_t)(0x4e00 + i), row + 3 * i), 3);
    for (size_t i = 0; i < ROW; i++)
        add_piece(&v, (const char *)row + 3 * i, 3);
    for (int32_t i = ROW - 2; i >= 0; i--) {
        merges[ROW - 2 - i] = (struct bpe_merge){.left = i, .right = i + 1, .merged = (int32_t)v.n_id};
        add_piece(&v, (const char *)row + 3 * i, 6);
    }
    for (int32_t i = 0; i < N; i++)
        symbols[i] = i % ROW;
    b.vocab = &v;
    cr_assert_eq(bpe_seal(&b, merges, ROW - 1), 0);
    check_windows(&b, symbols, N);
    bpe_deinit(&b);
    vocab_deinit(&v);
}

Test(bpe, a_model_without_merges)
{
    uint8_t word[4 * MAX_WORD];
    uint64_t state = 1;
    struct model m;
    struct bpe_run run = BPE_RUN_NULL;
    model_init(&m, &state, false, 0);
    check_word(&m, &run, word, random_word(&state, word, 200, false));
    check_word(&m, &run, word, 0);
    bpe_run_deinit(&run);
    model_deinit(&m);
}

Test(bpe, unknown_characters_become_their_bytes_or_the_unknown_token)
{
    static const struct {
        bool fallback, all_bytes;
        const char *word;
        int32_t want[8];
        size_t n;
    } cases[] = {
        {true, true, "aüa", {1, 2 + 0xc3, 2 + 0xbc, 1}, 4},
        {false, true, "aüüa", {1, 0, 1}, 3},
        /* Not all bytes of ü have a piece. */
        {true, false, "aüa", {1, 0, 1}, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vocab v = VOCAB_NULL;
        struct bpe b = BPE_NULL;
        struct bpe_run run = BPE_RUN_NULL;
        struct token_list got = TOKEN_LIST_NULL;
        add_piece(&v, "<unk>", 5);
        add_piece(&v, "a", 1);
        for (unsigned byte = 0; byte < (cases[i].all_bytes ? 256 : 0xb0); byte++) {
            char piece[8];
            snprintf(piece, sizeof piece, "<0x%02X>", byte);
            add_piece(&v, piece, 6);
        }
        b.vocab = &v;
        b.unk = 0;
        b.fuse_unk = true;
        b.byte_fallback = cases[i].fallback;
        cr_assert_eq(bpe_seal(&b, NULL, 0), 0);
        cr_assert_eq(bpe_encode(&b, &run, (const uint8_t *)cases[i].word, strlen(cases[i].word), &got), 0);
        cr_assert(got.n == cases[i].n && memcmp(got.data, cases[i].want, got.n * sizeof *got.data) == 0,
                  "case %zu", i);
        token_list_deinit(&got);
        bpe_run_deinit(&run);
        bpe_deinit(&b);
        vocab_deinit(&v);
    }
}

Test(bpe, ignore_merges_takes_a_whole_word)
{
    struct vocab v = VOCAB_NULL;
    struct bpe_run run = BPE_RUN_NULL;
    struct token_list got = TOKEN_LIST_NULL;
    struct bpe b = BPE_NULL;
    add_piece(&v, "a", 1);
    add_piece(&v, "b", 1);
    add_piece(&v, "ab", 2);
    cr_assert_eq(vocab_add_hidden(&v, "bb", 2, 3), 0);
    b.vocab = &v;
    b.byte_level = true;
    cr_assert_eq(bpe_seal(&b, NULL, 0), 0);
    cr_assert_eq(bpe_encode(&b, &run, (const uint8_t *)"ab", 2, &got), 0);
    cr_assert(got.n == 2 && got.data[0] == 0 && got.data[1] == 1);
    b.ignore_merges = true;
    got.n = 0;
    cr_assert_eq(bpe_encode(&b, &run, (const uint8_t *)"ab", 2, &got), 0);
    cr_assert(got.n == 1 && got.data[0] == 2);
    /* A hidden piece is none of the model's. */
    got.n = 0;
    cr_assert_eq(bpe_encode(&b, &run, (const uint8_t *)"bb", 2, &got), 0);
    cr_assert(got.n == 2 && got.data[0] == 1 && got.data[1] == 1);
    token_list_deinit(&got);
    bpe_run_deinit(&run);
    bpe_deinit(&b);
    vocab_deinit(&v);
}
