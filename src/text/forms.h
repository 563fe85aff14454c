/* The Unicode normalization forms, linear in the text whatever it holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"

/* Whether every form leaves this text as it is, as far as a quick look tells: true for ASCII. */
bool forms_is_normal(const uint8_t *text, size_t n);

/* Appends the normal form of n bytes of valid UTF-8: NFC, or with compose false NFD; with compatible NFKC and
 * NFKD. `codes` is scratch. 0, BUF_E_FULL, -ENOMEM. */
int forms_apply(const uint8_t *text, size_t n, bool compose, bool compatible, struct buf *out,
                struct buf *codes);
