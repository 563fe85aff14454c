/* Regular expressions of tokenizer.json, which are Oniguruma's, run by PCRE2.
 *
 * Where the two languages mean different things the pattern is rewritten (\s, \w, \d, ^, $, \b) or refused by
 * name
 * (\G, POSIX classes, "{n,m}+", ...). A compiled pattern is read-only; the state of a match is the
 * caller's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"

enum {
    REGEX_MAX_PATTERN = 1 << 14, /* bytes of a pattern */
    REGEX_MAX_STEPS = 10000000,  /* of one search: PCRE2's match limit */
    REGEX_MAX_HEAP_KIB = 65536,  /* of one search */
};

struct regex;       /* the pattern */
struct regex_state; /* the scratch of one thread */

/* Compiles n bytes. 0, EX_DATAERR, -ENOMEM. */
int regex_new(struct regex **ret_regex, const char *pattern, size_t n, struct why *why);
struct regex *regex_free(struct regex *re);
struct regex_state *regex_state_new(const struct regex *re); /* NULL: -ENOMEM */
struct regex_state *regex_state_free(struct regex_state *state);

enum { REGEX_NONE = 1, REGEX_E_LIMIT = 2 };

/* The leftmost match at or behind `from` in n bytes of valid UTF-8; never an empty one. 0, REGEX_NONE,
 * REGEX_E_LIMIT (it took too many steps), -ENOMEM. */
int regex_find(const struct regex *re, struct regex_state *state, const uint8_t *text, size_t n, size_t from,
               size_t *ret_start, size_t *ret_end);

/* Appends the text with content for every match to out. 0, REGEX_E_LIMIT, -ENOMEM or what buf_push gave. */
int regex_replace(const struct regex *re, struct regex_state *state, const uint8_t *text, size_t n,
                  const char *content, size_t n_content, struct buf *out);
