/* The post-processor: the special ids before and after a text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/text/part.h"

enum { POST_MAX_IDS = 64 };

struct post {
    int32_t before[POST_MAX_IDS], after[POST_MAX_IDS];
    unsigned n_before, n_after;
};

/* Reads the component (NULL: none) for a single text. 0, EX_DATAERR. */
int post_init(struct post *p, const struct part *part, struct why *why);
