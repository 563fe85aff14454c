/* The pre-tokenizer: cuts normalized text into the words that the model then tokenizes one by one.
 *
 * A list of stages, each fed with the words of the one before. Nothing is collected: a word goes through all
 * stages at once, so memory does not grow with the text (but for stages that rewrite a word). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"
#include "src/text/part.h"
#include "src/text/regex.h"
#include "src/text/splitter.h"

enum { PRETOK_MAX_STAGES = 8 };

enum pretok_kind {
    PRETOK_BYTE_LEVEL,
    PRETOK_SPLIT,
    PRETOK_DIGITS,
    PRETOK_PUNCTUATION,
    PRETOK_METASPACE,
    PRETOK_WHITESPACE,
    PRETOK_WHITESPACE_SPLIT,
};

/* What becomes of the matches of a pattern. */
enum pretok_behavior {
    PRETOK_REMOVED,
    PRETOK_ISOLATED,
    PRETOK_MERGED_WITH_PREVIOUS,
    PRETOK_MERGED_WITH_NEXT,
    PRETOK_CONTIGUOUS,
};

enum pretok_prepend { PRETOK_NEVER, PRETOK_FIRST, PRETOK_ALWAYS };

struct pretok_stage {
    enum pretok_kind kind;
    enum pretok_behavior behavior;
    bool invert; /* SPLIT: what the pattern does not match is the match */
    bool split;  /* METASPACE and BYTE_LEVEL: cut into words, too */
    bool spell;  /* BYTE_LEVEL: later stages want the alphabet's characters instead of the bytes */
    enum pretok_prepend prepend; /* METASPACE: the replacement, BYTE_LEVEL: a space before a word */
    splitter_fn splitter;        /* SPLIT by a known pattern */
    struct regex *regex;         /* SPLIT by another one */
    const char *string;          /* SPLIT by a string; METASPACE: the replacement */
    size_t n_string;
};

struct pretok {
    struct pretok_stage stages[PRETOK_MAX_STAGES];
    unsigned n_stage;
    bool byte_level; /* the words are bytes, to be looked up by their spelling in the byte-level alphabet */
};

/* Reads the component (NULL: none, the text is one word). Strings stay in the part's arena. 0, EX_DATAERR
 * with the unknown part by name, -ENOMEM. */
int pretok_init(struct pretok *p, const struct part *part, struct why *why);
void pretok_deinit(struct pretok *p);

/* Takes a word: 0, or a code that ends the run. */
typedef int (*pretok_word_fn)(void *arg, const uint8_t *word, size_t n);

/* The scratch of one encoding. */
struct pretok_run {
    const struct pretok *pretok;
    pretok_word_fn on_word;
    void *arg;
    struct buf scratch[PRETOK_MAX_STAGES + 2]; /* one per stage, for deliver, for a prefix */
    struct regex_state *states[PRETOK_MAX_STAGES];
    struct why *why;
};

void pretok_run_init(struct pretok_run *run, const struct pretok *p, pretok_word_fn on_word, void *arg,
                     struct why *why);
void pretok_run_deinit(struct pretok_run *run);
/* Cuts n bytes of valid UTF-8; first: this is the beginning of the whole text. 0, EX_DATAERR (a pattern took
 * too many steps), -ENOMEM, or what on_word gave. */
int pretok_run_push(struct pretok_run *run, const uint8_t *text, size_t n, bool first);
