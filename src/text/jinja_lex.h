/* A template as tokens: text, and what is between {{ }} and {% %}.
 *
 * White space goes as with trim_blocks and lstrip_blocks: a tag that is no {{ }} takes the blanks before it
 * on its line and the line break after it, "-" takes all white space on its side, "+" none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/text/jinja_value.h"

enum { JINJA_LEX_BRACKETS = 250 /* open at one time */ };

enum jinja_token_kind {
    JINJA_T_END,
    JINJA_T_DATA,
    JINJA_T_PRINT_BEGIN,
    JINJA_T_PRINT_END,
    JINJA_T_BLOCK_BEGIN,
    JINJA_T_BLOCK_END,
    JINJA_T_NAME,
    JINJA_T_STRING,
    JINJA_T_INT,
    JINJA_T_FLOAT,
    JINJA_T_OPERATOR, /* text is one of + - * / // % ** ~ [ ] ( ) { } == != > >= < <= = . : | , ; */
};

struct jinja_token {
    enum jinja_token_kind kind;
    uint32_t at;
    const char *text; /* DATA, NAME, OPERATOR: in the template; STRING: in the arena */
    size_t n;
    int64_t integer;
    double real;
};

struct jinja_lex {
    const char *text;
    size_t n, at;
    struct arena *arena;
    enum { JINJA_LEX_TEXT, JINJA_LEX_PRINT, JINJA_LEX_BLOCK } state;
    bool line_starts; /* what was read last ended a line */
    char brackets[JINJA_LEX_BRACKETS];
    size_t n_bracket;
    int error; /* EX_DATAERR, -ENOMEM */
    size_t error_at;
    struct why why;
};

/* Reads n bytes of valid UTF-8 with \n line breaks, which must stay; strings are put into the arena. */
void jinja_lex_init(struct jinja_lex *l, const char *text, size_t n, struct arena *arena);
/* The next token; JINJA_T_END at the end and after an error. */
struct jinja_token jinja_lex_next(struct jinja_lex *l);
