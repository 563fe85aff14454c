/* The normalizer: rewrites text before it is cut into words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"
#include "src/text/charsmap.h"
#include "src/text/part.h"
#include "src/text/regex.h"

enum { NORMALIZE_MAX_STEPS = 16 };

enum normalize_kind {
    NORMALIZE_PREPEND, /* string, before a text that is not empty */
    NORMALIZE_REPLACE, /* every match of string or regex by content */
    NORMALIZE_FORM,    /* NFC, NFD, NFKC, NFKD */
    NORMALIZE_LOWERCASE,
    NORMALIZE_STRIP,
    NORMALIZE_PRECOMPILED,
};

struct normalize_step {
    enum normalize_kind kind;
    const char *string, *content;
    size_t n_string, n_content;
    struct regex *regex;
    bool compose, compatible; /* FORM */
    bool left, right;         /* STRIP */
    uint8_t *blob;            /* PRECOMPILED: what the map points into */
    struct charsmap map;
};

struct normalize {
    struct normalize_step steps[NORMALIZE_MAX_STEPS];
    unsigned n_step;
};

/* Reads the component (NULL: none). Strings stay in the part's arena. 0, EX_DATAERR, -ENOMEM. */
int normalize_init(struct normalize *z, const struct part *part, struct why *why);
void normalize_deinit(struct normalize *z);

/* The scratch of one encoding. */
struct normalize_run {
    struct buf text[2];
    struct buf codes; /* of uint32_t */
};

void normalize_run_deinit(struct normalize_run *run);

/* Rewrites n bytes of valid UTF-8. *ret_text is the input or lies in the scratch, valid until the next call.
 * Linear in n. 0, EX_DATAERR (a pattern took too many steps), -ENOMEM. */
int normalize_text(const struct normalize *z, struct normalize_run *run, const uint8_t *text, size_t n,
                   const uint8_t **ret_text, size_t *ret_n, struct why *why);
