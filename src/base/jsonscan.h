/* JSON as it comes, a byte at a time: is it still a value, and where does it end? Nothing is kept of it.
 *
 * RFC 8259, strictly, but that bytes beyond ASCII are not looked at. */
#pragma once

#include <stdint.h>

enum { JSONSCAN_MAX_DEPTH = 64 };

/* What a byte was. */
enum jsonscan_role {
    JSONSCAN_OTHER,   /* white space, punctuation, the rest of a number or of a literal */
    JSONSCAN_KEY,     /* part of a member's name, between its quotes */
    JSONSCAN_KEY_END, /* the quote behind it */
    JSONSCAN_VALUE,   /* the first byte of a value; of a string the quote */
    JSONSCAN_STRING,  /* part of a string that is a value, between its quotes */
    JSONSCAN_END, /* the last byte of the whole value, which is an array, an object, a string or a literal */
    JSONSCAN_BAD, /* there is no JSON that goes on like this */
};

struct jsonscan {
    uint8_t state;
    uint8_t n_hex;     /* digits of a \u escape that are still to come */
    uint8_t in_key;    /* the string is a member's name */
    uint32_t depth;    /* open arrays and objects */
    uint64_t objects;  /* bit i: the (i + 1)th of them is an object */
    const char *spell; /* the rest of a literal */
};

/* Begins a value. */
void jsonscan_start(struct jsonscan *s);
/* Takes a byte. After JSONSCAN_END and JSONSCAN_BAD only jsonscan_start may follow. */
enum jsonscan_role jsonscan_push(struct jsonscan *s, char byte);
