/* A list of ranks (tiktoken's text format: a piece in base64, a space, its rank) becomes a tokenizer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"

struct tokenizer;

enum {
    TOKENIZER_RANKS_MAX_BYTES = 64 << 20,
    TOKENIZER_RANKS_LLAMA3 = 128000, /* pieces of the one list that is known */
};

/* Whether a file begins as such a list does. */
bool tokenizer_ranks_is(const void *data, size_t n);
/* Fills a zeroed tokenizer. Such a list tells neither how text is cut into words nor what its special tokens
 * are; both are known of Llama-3's, and others are refused. 0, EX_DATAERR with the line, -ENOMEM. */
int tokenizer_ranks_read(struct tokenizer *t, const void *data, size_t n, struct why *why);
