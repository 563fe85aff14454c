/* SentencePiece's BPE, word for word: of all neighbours that are a piece together, those with the highest
 * score are merged, the leftmost first.
 *
 * bpe.h does the same faster where a model is well-formed, by ranks of pairs. This is for the others: models
 * with pieces of type unused that merging leads to (they are taken apart again at the end, and how depends on
 * what was seen last; single characters among them are unknown), and models whose pieces hold characters that
 * are no pieces. n log n in the text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/text/added.h"
#include "src/text/token_list.h"
#include "src/text/vocab.h"

struct sp_merge {
    const struct vocab *vocab;
    const float *scores;            /* [vocab->n_id] */
    const bool *unused;             /* [vocab->n_id] */
    const struct added_index *kept; /* user-defined pieces, which nothing is merged with; or NULL */
    int32_t unk;
    bool byte_fallback;
    const int32_t *bytes; /* [256] */
};

/* The scratch of one encoding. */
struct sp_merge_run {
    struct buf symbols, heap, spans; /* of struct symbol, struct pair, struct span */
    struct buf seams;                /* of struct seam, one for each id */
};

void sp_merge_run_deinit(struct sp_merge_run *run);

/* Appends the ids of n bytes of valid UTF-8. 0, -ENOMEM (also for a text beyond 2^31 bytes). */
int sp_merge_encode(const struct sp_merge *m, struct sp_merge_run *run, const uint8_t *text, size_t n,
                    struct token_list *out);
