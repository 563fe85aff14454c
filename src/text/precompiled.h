/* The Precompiled normalizer of tokenizer.json: SentencePiece's character map as Hugging Face's `tokenizers`
 * applies it, which is by grapheme clusters and with the shortest rule. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/text/charsmap.h"

/* Appends what n bytes of valid UTF-8 become. 0, BUF_E_FULL, -ENOMEM. */
int precompiled_apply(const struct charsmap *m, const uint8_t *text, size_t n, struct buf *out);
