/* Byte-pair encoding: a word becomes symbols, then the pair with the lowest rank is merged, the leftmost
 * first, until no pair is left that the model knows.
 *
 * The definition is that of Hugging Face `tokenizers` (models/bpe). Three things make it fast and linear:
 * a word is cut where no piece spans the border, so that most parts are short; short parts are merged in a
 * small array; long ones (a line of a million letters) in a linked list with one queue of positions per rank.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/text/added.h"
#include "src/text/token_list.h"
#include "src/text/vocab.h"

enum { BPE_MAX_MERGES = 1 << 23 };

struct bpe_merge {
    int32_t left, right, merged; /* ids; the rank is the index in the list */
    bool tied;                   /* the same rank as the one before: of the two the leftmost goes first */
};

struct bpe_pair {
    int32_t left, right; /* left is VOCAB_NONE in a free slot */
    uint32_t rank;
    int32_t merged;
};

struct bpe {
    const struct vocab *vocab;
    bool byte_level, byte_fallback, fuse_unk, ignore_merges;
    int32_t unk;                    /* or VOCAB_NONE */
    const struct added_index *kept; /* not byte_level: pieces that are found first (their token is the id) and
                                       take no part in merges; or NULL */

    /* the rest is bpe_seal's */
    struct bpe_pair *pairs; /* [pair_mask + 1] */
    size_t pair_mask;
    uint32_t n_rank;
    int32_t bytes[256]; /* byte_level: the symbol of a byte; else with byte_fallback: <0x00> to <0xFF> */
    int32_t ascii[128]; /* not byte_level: the piece that is this character */
    uint64_t *joins;    /* a bit for (last character, first character) of each pair, by hash */
    unsigned join_bits; /* log2 of the bits; 0: nothing is known, words are never cut */
};

#define BPE_NULL          \
    {                     \
        .unk = VOCAB_NONE \
    }

/* Builds the tables from a list of merges, which the caller keeps. The vocabulary must stay as it is from now
 * on. 0, -ENOMEM. */
int bpe_seal(struct bpe *b, const struct bpe_merge *merges, size_t n_merge);
void bpe_deinit(struct bpe *b);

/* The piece "<0xXX>" of a byte, or VOCAB_NONE. */
int32_t bpe_byte_piece(const struct vocab *vocab, uint8_t byte);

/* The pair of two symbols, or NULL. */
const struct bpe_pair *bpe_find(const struct bpe *b, int32_t left, int32_t right);

struct bpe_long;

/* The scratch of one encoding. */
struct bpe_run {
    struct token_list symbols; /* the part of the word that is being gathered */
    struct buf spelling;
    struct bpe_long *long_run;
};

#define BPE_RUN_NULL \
    {                \
        0            \
    }

void bpe_run_deinit(struct bpe_run *run);

/* Appends the ids of a word of n bytes of valid UTF-8 (byte_level: of any bytes) to out. 0, -ENOMEM. */
int bpe_encode(const struct bpe *b, struct bpe_run *run, const uint8_t *word, size_t n,
               struct token_list *out);
