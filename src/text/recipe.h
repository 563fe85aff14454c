/* How text is cut into words for vocabularies that only name a rule: GGUF's `tokenizer.ggml.pre`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"

struct recipe;
struct tokenizer;

/* The rule of this name of n bytes, or NULL. */
const struct recipe *recipe_find(const char *name, size_t n);
/* Whether such a model puts its BOS before a text where its file does not say. */
bool recipe_adds_bos(const struct recipe *recipe);
/* Sets normalizer, pre-tokenizer, decoder and ignore_merges of a byte-level BPE tokenizer. 0, EX_DATAERR,
 * -ENOMEM. */
int recipe_apply(struct tokenizer *t, const struct recipe *recipe, struct why *why);
