/* One component of tokenizer.json (a normalizer, a decoder, ...) as a small tree, so that its keys may come
 * in any order. The big tables (vocabulary, merges, added tokens) never become trees. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/jsonread.h"

enum { PART_MAX_NODES = 1 << 16 };

struct part {
    enum jsonread_kind kind; /* OBJECT, ARRAY, STRING, INT, BIG, FLOAT, TRUE, FALSE, NULL */
    const char *key;         /* of an object's member */
    const char *string;      /* STRING: NUL-terminated after n_string bytes, which may hold NULs */
    size_t n_string;
    int64_t integer;
    const struct part *first, *next; /* members or elements */
};

/* Reads the value that follows (or the one that was just begun) into the arena. 0, EX_DATAERR, -ENOMEM. */
int part_read(const struct part **ret_part, struct jsonread *r, struct arena *arena);

/* A member; NULL where it is missing or null, or where p is no object. */
const struct part *part_get(const struct part *p, const char *key);
/* Whether p is exactly this string. */
bool part_is(const struct part *p, const char *s);
/* The "type" of a component, or "" where it has none. */
const char *part_type(const struct part *p);

/* Members of a known kind. `what` names the component in the sentence. 0 or EX_DATAERR; a missing optional
 * member leaves *ret as it is. A bool that is null is of the wrong kind, as it is for the reference. */
int part_get_bool(const struct part *p, const char *what, const char *key, bool *ret, struct why *why);
int part_get_string(const struct part *p, const char *what, const char *key, const char **ret_string,
                    size_t *ret_n, struct why *why); /* required */
int part_get_count(const struct part *p, const char *what, const char *key, unsigned max, unsigned *ret,
                   struct why *why);
/* Hands each member of a "Sequence" to `add`, those of a sequence inside it in their place; p itself where it
 * is no sequence, nothing where it is NULL. `list` is the name of the members' array. 0, EX_DATAERR, what
 * `add` gave. */
int part_each(const struct part *p, const char *what, const char *list,
              int (*add)(void *arg, const struct part *part, struct why *why), void *arg, struct why *why);
/* A "pattern": {"String": ...} or {"Regex": ...}. */
int part_get_pattern(const struct part *p, const char *what, const char **ret_pattern, size_t *ret_n,
                     bool *ret_regex, struct why *why);
