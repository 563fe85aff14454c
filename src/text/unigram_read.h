/* The Unigram model of tokenizer.json: "vocab" is a list of pieces with their scores. */
#pragma once

#include "src/base/jsonread.h"
#include "src/text/unigram.h"

/* Reads the list whose beginning was just read: [["piece", -1.5], ...]; the index is the id. 0, EX_DATAERR,
 * -ENOMEM. */
int unigram_read(struct unigram *u, struct vocab *vocab, struct jsonread *r);
/* Builds the tables, when unk and byte_fallback are set, for what `tokenizers` does. The vocabulary must
 * stay. 0, -ENOMEM. */
int unigram_seal(struct unigram *u, const struct vocab *vocab);
