/* Merging of long runs of symbols, in time linear in their number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/text/bpe.h"
#include "src/text/token_list.h"

enum {
    BPE_LONG_WINDOW = 1 << 14, /* symbols that are merged at a time: what a second-level cache holds */
    BPE_LONG_OVERLAP = 16,     /* tokens that the next window does again; picked, not measured */
};

struct bpe_long; /* scratch, made at the first use and kept: about 30 bytes a symbol of a window */

struct bpe_long *bpe_long_free(struct bpe_long *run);
/* Merges n symbols, `window` (BPE_LONG_WINDOW but in tests, at least 1) of them at a time, and appends what
 * is left to out: the same for every window. 0, -ENOMEM (also for more symbols than fit 32 bits). */
int bpe_long_merge(const struct bpe *b, struct bpe_long **run, const int32_t *symbols, size_t n,
                   size_t window, struct token_list *out);
