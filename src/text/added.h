/* Added tokens: pieces that are found in the text before anything else looks at it.
 *
 * Two indexes, as in the reference: tokens with `normalized` false are searched in the text as it came, the
 * others in what the normalizer made of the pieces between. In both the leftmost, then longest one is taken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"

struct jinja_range;

enum {
    ADDED_MAX_TOKENS = 1 << 16,
    ADDED_MAX_BYTES = 1024, /* of one token: a search is linear in the text times this at worst */
};

struct added_token {
    const char *content; /* [n] as tokenizer.json spells it */
    size_t n;
    int32_t id;
    bool special, lstrip, rstrip, single_word, normalized;
};

struct added_entry {
    uint32_t at, n; /* what is searched, in the index's pool */
    uint32_t token; /* index into the list */
};

struct added_index {
    struct buf pool;
    struct added_entry *entries; /* [n] sorted by bytes */
    size_t n;
    uint32_t first[257]; /* entries that begin with byte b: first[b] to first[b + 1] */
};

#define ADDED_INDEX_NULL \
    {                    \
        0                \
    }

void added_index_deinit(struct added_index *x);
/* Adds what is searched for a token (n bytes, 1 to ADDED_MAX_BYTES). 0, -ENOMEM. */
int added_index_push(struct added_index *x, const uint8_t *search, size_t n, uint32_t token);
/* Sorts; after the last push. Of equal texts the token pushed first counts. */
void added_index_seal(struct added_index *x);
/* The longest entry that text[0, n) begins with (n is at least 1), or NULL. */
const struct added_entry *added_index_longest(const struct added_index *x, const uint8_t *text, size_t n);

/* A walk over one text. Everything in [done, match.from) is plain text. */
struct added_walk {
    const struct added_index *index;
    const struct added_token *tokens;
    const uint8_t *text;
    size_t n;
    bool skip_special; /* the text of a special token is plain text */
    /* [n_input] bytes that no control token may have, in order and apart, counted from `first` bytes before
     * text. Those that end before `at` are passed over. Control tokens are the special ones and, where there
     * is such a list, those of it. */
    const struct jinja_range *inputs;
    size_t n_input, first;
    const bool *control; /* [tokens]; NULL: none */
    size_t at;           /* the search goes on here */
    size_t done;         /* up to here the text belongs to tokens found already */
};

struct added_match {
    size_t from, to; /* with the white space that the token swallows */
    const struct added_token *token;
};

/* The next token; false: there is none, and [done, n) is plain text. The caller sets done to match->to. */
bool added_walk_next(struct added_walk *w, struct added_match *match);
