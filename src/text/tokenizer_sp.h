/* SentencePiece's tokenizer.model, alone or with the files beside it, becomes a tokenizer. */
#pragma once

#include <stddef.h>

#include "src/base/err.h"

struct json;
struct tokenizer;

enum { TOKENIZER_SP_MAX_CONFIG = 16 << 20 /* bytes of tokenizer_config.json */ };

/* Fills a zeroed tokenizer. Without a configuration (NULL) a text gets what SentencePiece itself gives it;
 * with one, added tokens, beginning and end are as in transformers' LlamaTokenizer and GemmaTokenizer (the
 * slow ones, version 4): add_bos_token, add_eos_token, added_tokens_decoder, legacy, add_prefix_space. 0,
 * EX_DATAERR, -ENOMEM; after a failure the caller frees the tokenizer. */
int tokenizer_sp_read(struct tokenizer *t, const void *data, size_t n, const struct json *config,
                      struct why *why);
/* Reads dir/tokenizer.model, which may also be a list of ranks, and tokenizer_config.json where there is one.
 * Also EX_NOINPUT, EX_NOPERM, EX_IOERR. */
int tokenizer_sp_open(struct tokenizer *t, const char *dir, struct why *why);
