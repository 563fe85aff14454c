/* The merges behind a SentencePiece model of type BPE: every way to make a piece of two others, best piece
 * first. The file itself holds only pieces and scores. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "src/text/added.h"
#include "src/text/bpe.h"
#include "src/text/vocab.h"

struct sp_merges {
    const struct vocab *vocab;      /* vocab_find gives the pieces that merging may lead to */
    const float *scores;            /* [vocab->n_id] */
    const bool *unused;             /* [vocab->n_id] or NULL: none is */
    const struct added_index *kept; /* pieces that take no part, or NULL */

    struct bpe_merge *list; /* [n] */
    size_t n, capacity;
    bool has_unused; /* a merge makes an unused piece */
    bool has_gaps;   /* a piece holds a character that is no piece: other merges than these are possible */
};

/* Fills the list. 0, -ENOMEM (also for more than BPE_MAX_MERGES). The caller calls sp_merges_deinit. */
int sp_merges_find(struct sp_merges *m);
void sp_merges_deinit(struct sp_merges *m);
