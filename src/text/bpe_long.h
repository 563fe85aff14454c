/* Merging of long runs of symbols, in time linear in their number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/text/bpe.h"
#include "src/text/token_list.h"

struct bpe_long; /* scratch, made at the first use and kept for the next: about 30 bytes a symbol */

struct bpe_long *bpe_long_free(struct bpe_long *run);
/* Merges n symbols and appends what is left to out. 0, -ENOMEM (also for more symbols than fit 32 bits). */
int bpe_long_merge(const struct bpe *b, struct bpe_long **run, const int32_t *symbols, size_t n,
                   struct token_list *out);
