/* The vocabulary of a GGUF file becomes a tokenizer. */
#pragma once

#include "src/base/err.h"

struct gguf;
struct tokenizer;

/* Fills a zeroed tokenizer from `tokenizer.ggml.*`: models `llama` (SentencePiece's BPE) and `gpt2`
 * (byte-level BPE, cut into words by the rule that `pre` names). Nothing of the file is needed afterwards. 0,
 * EX_DATAERR with the key and the unknown name, -ENOMEM; after a failure the caller frees the tokenizer. */
int tokenizer_gguf_read(struct tokenizer *t, const struct gguf *file, struct why *why);
