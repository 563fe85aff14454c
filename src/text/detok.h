/* Ids to text as they come: only complete UTF-8 leaves, and the whole equals decoding everything at once.
 *
 * `detok_start` is told the prompt's last ids, so that the first new piece gets the space that it has in the
 * middle of a text: what comes out is decode(prompt + new) minus decode(prompt). Pushing does not allocate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/text/tokenizer.h"

enum { DETOK_MAX_HELD = 4 }; /* bytes kept back: an incomplete character */

struct detok {
    const struct tokenizer *tokenizer;
    bool special;     /* special tokens are spelled out */
    bool at_start;    /* no piece was decoded yet: some decoders treat the first one differently */
    unsigned n_strip; /* characters that the decoder may still strip from the beginning of the text */
    unsigned n_held;
    uint8_t held[DETOK_MAX_HELD];
};

/* prompt may be NULL with n 0: then the very beginning of a text is decoded. */
void detok_start(struct detok *d, const struct tokenizer *t, bool special, const int32_t *prompt,
                 size_t n_prompt);
/* Bytes that one push may deliver at most. */
size_t detok_max_out(const struct tokenizer *t);
/* Pushes an id; writes what is complete now to out (room for detok_max_out bytes) and returns its length.
 * What can never become valid UTF-8 leaves as U+FFFD: one for each maximal subpart, or for each byte where
 * pieces like <0xE2> stand for bytes. (There the reference also drops the valid characters of a run of such
 * pieces in which any byte is invalid; here they have already been delivered.) */
size_t detok_push(struct detok *d, int32_t id, char *out);
/* The end: an incomplete tail becomes U+FFFD. Room as for a push. */
size_t detok_finish(struct detok *d, char *out);
