/* SentencePiece's normalizer: character map, white space, the space mark U+2581. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/text/added.h"
#include "src/text/charsmap.h"

#define SP_SPACE "\xe2\x96\x81" /* U+2581, which stands for a space inside pieces */

struct sp_normalize {
    struct charsmap map;
    const struct added_index *kept; /* user-defined pieces, which no rule touches; or NULL */
    bool dummy_prefix, remove_extra, escape;
    bool suffix; /* the mark of dummy_prefix comes last */
};

/* Appends what n bytes of valid UTF-8 become. Without `heading` the text is the middle of a longer one: what
 * happens to the beginning of a text (dummy_prefix without suffix, removal of first spaces) does not. 0,
 * BUF_E_FULL, -ENOMEM. */
int sp_normalize(const struct sp_normalize *z, const uint8_t *text, size_t n, bool heading, struct buf *out);
