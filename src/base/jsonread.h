/* A streaming reader for JSON whose text must be exact: tokenizer.json and JSON lines.
 *
 * Pulls one item after the other out of memory: no tree, no copy of strings without escapes. Strings have a
 * length (U+0000 is a character like others), integers and floats are kept apart, numbers keep their
 * spelling. The grammar is RFC 8259's, nothing more; the text must be valid UTF-8. An escaped lone surrogate
 * ("\ud800"), which no UTF-8 can hold, reads as U+FFFD. Keys are not checked for being unique: what reads an
 * object decides which of two equal keys counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"

enum {
    JSONREAD_MAX_DEPTH = 128,
    JSONREAD_MAX_NUMBER = 512, /* characters of a number */
};

enum jsonread_kind {
    JSONREAD_ERROR, /* the sentence is in *why; every later call gives this again */
    JSONREAD_END,   /* the value is complete and nothing but white space followed */
    JSONREAD_OBJECT,
    JSONREAD_OBJECT_END,
    JSONREAD_ARRAY,
    JSONREAD_ARRAY_END,
    JSONREAD_KEY, /* then the member's value */
    JSONREAD_STRING,
    JSONREAD_INT,
    JSONREAD_BIG, /* an integer that int64_t does not hold: its spelling is in `string`, its value about
                     `real` */
    JSONREAD_FLOAT,
    JSONREAD_TRUE,
    JSONREAD_FALSE,
    JSONREAD_NULL,
};

struct jsonread {
    /* The item that was read last; string is valid until the next call and not NUL-terminated. */
    enum jsonread_kind kind;
    const char *string; /* KEY and STRING: the text; numbers: their spelling */
    size_t n_string;
    int64_t integer; /* INT */
    double real;     /* INT, BIG, FLOAT */

    const char *text;
    size_t n, at;
    size_t item_at; /* where that item begins */
    unsigned depth;
    bool in_object[JSONREAD_MAX_DEPTH];
    int expect; /* internal: what may come next */
    int error;  /* EX_DATAERR or -ENOMEM once an error was met */
    struct buf scratch;
    struct why *why;
};

/* Reads n bytes, which must stay. why may be NULL. */
void jsonread_init(struct jsonread *r, const void *text, size_t n, struct why *why);
void jsonread_deinit(struct jsonread *r);

enum jsonread_kind jsonread_next(struct jsonread *r);
/* Skips the value that begins with the item read last (an object or array up to its end). False: an error. */
bool jsonread_skip(struct jsonread *r);

/* For what reads with this reader: whether the last string or key is exactly this. */
bool jsonread_is(const struct jsonread *r, const char *s);
/* Fails with "line L column C: sentence" about the last item; returns EX_DATAERR. A reader that has failed
 * already keeps its own sentence and code. */
int jsonread_fail(struct jsonread *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The name of a kind for sentences: "an object", "a string". */
const char *jsonread_kind_name(enum jsonread_kind kind);
