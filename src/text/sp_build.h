/* A SentencePiece model becomes a tokenizer. */
#pragma once

#include <stdbool.h>

#include "src/base/err.h"
#include "src/text/sp_model.h"

struct tokenizer;

/* Fills the parts of a zeroed tokenizer that follow from the model: vocabulary, normalizer, model, decoder,
 * and control pieces as special tokens; the caller adds further added tokens and then calls sp_build_end.
 * The character map must stay as long as the tokenizer. 0, EX_DATAERR with the piece, -ENOMEM. */
int sp_build_begin(struct tokenizer *t, const struct sp_model *m, struct why *why);
/* Indexes the added tokens and works out what ids decode to. 0, EX_DATAERR, -ENOMEM. */
int sp_build_end(struct tokenizer *t, struct why *why);
