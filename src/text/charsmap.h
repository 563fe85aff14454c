/* SentencePiece's precompiled character map: rules "these bytes become those".
 *
 * The format is that of sentencepiece's normalizer (a length, a double array of darts-clone, strings that end
 * with NUL); it is used as it is, not unpacked. Every index is checked as it is met. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

enum { CHARSMAP_MAX_BYTES = 64 << 20, CHARSMAP_MAX_MATCHES = 32 /* that SentencePiece looks at */ };

struct charsmap {
    const uint8_t *units; /* [n_unit] of four bytes, little-endian */
    size_t n_unit;
    const uint8_t *strings; /* [n_string] bytes of valid UTF-8 */
    size_t n_string;
};

/* Takes a blob of n bytes, which must stay; of none, a map without rules. 0, EX_DATAERR. */
int charsmap_init(struct charsmap *m, const void *blob, size_t n, struct why *why);

/* The rule for the beginning of n bytes of valid UTF-8: its length, or 0 where there is none; what it makes
 * of them is in *ret. The longest rule, or with `shortest` the shortest one (which need not end at a
 * character's border). */
size_t charsmap_find(const struct charsmap *m, const uint8_t *text, size_t n, bool shortest,
                     const uint8_t **ret, size_t *ret_n);
