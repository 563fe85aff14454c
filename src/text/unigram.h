/* The Unigram model: of all ways to write a text as pieces, the one with the largest sum of scores.
 *
 * Viterbi's algorithm over bytes: linear in the text, times the length of the pieces that match. Two tools
 * define what happens in detail: Hugging Face's `tokenizers` adds in double precision, SentencePiece (0.2.3)
 * in single precision, and it knows user-defined pieces. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/text/token_list.h"
#include "src/text/trie.h"
#include "src/text/vocab.h"

struct unigram {
    struct trie trie;
    double *scores; /* [n_id] of the vocabulary */
    bool *user;     /* [n_id] user-defined: what it scores depends on its length; NULL: none is */
    double min_score;
    int32_t unk;
    bool single;        /* sums are float */
    bool fuse_unk;      /* neighbouring unknown characters are one piece */
    bool byte_fallback; /* an unknown character becomes the pieces of its bytes, where all have one */
    int32_t bytes[256];
    const struct vocab *vocab; /* what a run of unknown characters is looked up in; NULL: nowhere */
};

#define UNIGRAM_NULL \
    {                \
        0            \
    }

void unigram_deinit(struct unigram *u);

/* The scratch of one encoding. */
struct unigram_run {
    struct buf nodes;      /* of struct node: how the best path to each byte ends */
    double *sums;          /* [mask + 1] of those paths, as far back as a piece reaches */
    size_t mask, frontier; /* frontier: the furthest byte that a path leads to */
    struct token_list ids; /* the path, from its end */
};

#define UNIGRAM_RUN_NULL \
    {                    \
        0                \
    }

void unigram_run_deinit(struct unigram_run *run);

/* Appends the ids of a word of n bytes of valid UTF-8. `longest` is at least the length of every piece. 0,
 * -ENOMEM (also for a word beyond 2^32 bytes). */
int unigram_encode(const struct unigram *u, struct unigram_run *run, size_t longest, const uint8_t *word,
                   size_t n, struct token_list *out);
