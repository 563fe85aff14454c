/* Numbers in formats, and rounding: what the two notations of formats have in common. */
#pragma once

#include <string.h>

#include "src/text/jinja_string.h"

enum { JINJA_NUMBER_WIDTH = 1000000, JINJA_NUMBER_PRECISION = 1000 };

/* How one value is written. */
struct jinja_spec {
    const struct jinja_string *fill; /* NULL: a blank */
    char align;                      /* '<', '>', '=', '^'; 0: as the value's kind has it */
    char sign;                       /* '-', '+', ' ' */
    bool alternative, zeros;
    char grouping;            /* ',', '_' or 0 */
    int64_t width, precision; /* precision -1: none */
    char type;                /* 0: none */
};

static inline bool jinja_number_is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* A number in digits, padded. */
void jinja_number_add(struct jinja_builder *b, const struct jinja_spec *spec, struct jinja_value v);
/* A string cut to its precision and padded. */
void jinja_number_add_text(struct jinja_builder *b, const struct jinja_spec *spec,
                           const struct jinja_string *s);
/* round(x, precision): to the nearest decimal number, ties to the even digit. */
struct jinja_value jinja_number_round(struct jinja_run *run, double x, int64_t precision);
struct jinja_value jinja_number_round_int(struct jinja_run *run, int64_t i, int64_t precision);
