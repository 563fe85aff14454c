/* The decoder: what each id stands for in a text, worked out once for all ids.
 *
 * The decoders in use treat every piece alike, but for what happens at the very beginning of a text; so
 * decoding is one table of bytes and two rules for the beginning. What comes out of the table is bytes, not
 * always characters: detok.h makes UTF-8 of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"
#include "src/text/part.h"
#include "src/text/regex.h"
#include "src/text/vocab.h"

enum { DECODE_MAX_STEPS = 8 };

enum decode_kind {
    DECODE_BYTE_LEVEL,
    DECODE_BYTE_FALLBACK,
    DECODE_REPLACE,
    DECODE_FUSE,
    DECODE_STRIP,
    DECODE_METASPACE,
};

struct decode_step {
    enum decode_kind kind;
    struct regex *regex;          /* REPLACE: what is looked for instead of string, or NULL */
    const char *string, *content; /* REPLACE: all of string become content; METASPACE: the replacement */
    size_t n_string, n_content;
    unsigned n_start, n_stop; /* STRIP: at most this many of string at the ends of a piece */
};

struct decode {
    struct decode_step steps[DECODE_MAX_STEPS];
    unsigned n_step;
    /* What the beginning of a text loses: */
    char strip;       /* this character, */
    unsigned n_strip; /* at most so often */
    const char *drop; /* and the first piece every one of these (Metaspace); NULL: nothing */
    size_t n_drop;
    bool spaced;      /* pieces are joined by spaces: there is no decoder */
    bool lossy_bytes; /* invalid bytes are replaced one by one, not by maximal subparts */

    struct buf pool;
    uint32_t *starts; /* [n_id + 1] in the pool */
    uint8_t *whole;   /* [n_id] 1 where the bytes are complete valid UTF-8 */
    size_t n_id, longest;
};

/* Reads the component (NULL: none, pieces are joined by spaces). Strings stay in the part's arena.
 * 0, EX_DATAERR. */
int decode_init(struct decode *d, const struct part *part, struct why *why);
/* Works out the bytes of all ids. 0, EX_DATAERR (more than 2^32 - 1 bytes), -ENOMEM. */
int decode_seal(struct decode *d, const struct vocab *vocab, struct why *why);
void decode_deinit(struct decode *d);

/* The bytes of an id; none for an id that there is not. */
static inline const uint8_t *decode_bytes(const struct decode *d, int32_t id, size_t *ret_n)
{
    *ret_n = 0;
    if (id < 0 || (size_t)id >= d->n_id)
        return NULL;
    *ret_n = d->starts[id + 1] - d->starts[id];
    return d->pool.data + d->starts[id];
}
