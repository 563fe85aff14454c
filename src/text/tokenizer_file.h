/* tokenizer.json, the format of Hugging Face's `tokenizers`, becomes a tokenizer. */
#pragma once

#include <stddef.h>

#include "src/base/err.h"

struct tokenizer;

enum { TOKENIZER_FILE_MAX = 512 << 20 /* bytes */ };

/* Fills a zeroed tokenizer. 0, EX_DATAERR with line and column or the unknown part by name, -ENOMEM; after a
 * failure the caller frees it. */
int tokenizer_file_read(struct tokenizer *t, const void *json, size_t n, struct why *why);
