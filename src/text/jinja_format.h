/* Formatting as Python's: "%s" % values, "{}".format(values), rounding, replacing. */
#pragma once

#include "src/text/jinja_call.h"

struct jinja_value jinja_format_percent(struct jinja_run *run, const struct jinja_string *format,
                                        struct jinja_value values);
struct jinja_value jinja_format_braces(struct jinja_run *run, const struct jinja_string *format,
                                       const struct jinja_args *args);
/* round(x, precision): to the nearest decimal number, ties to the even digit. */
struct jinja_value jinja_format_round(struct jinja_run *run, double x, int64_t precision);
struct jinja_value jinja_format_round_int(struct jinja_run *run, int64_t i, int64_t precision);
/* str.replace: at most count times, all where it is negative. */
struct jinja_value jinja_format_replace(struct jinja_run *run, const struct jinja_string *s,
                                        const struct jinja_string *old, const struct jinja_string *new,
                                        int64_t count);

/* How one value is written: what the two notations have in common. */
struct jinja_spec {
    const struct jinja_string *fill; /* NULL: a blank */
    char align;                      /* '<', '>', '=', '^'; 0: as the value's kind has it */
    char sign;                       /* '-', '+', ' ' */
    bool alternative, zeros;
    char grouping;            /* ',', '_' or 0 */
    int64_t width, precision; /* precision -1: none */
    char type;                /* 0: none */
};

enum { JINJA_FORMAT_WIDTH = 1000000, JINJA_FORMAT_PRECISION = 1000 };

/* jinja_number.c: a number in digits, padded. */
void jinja_format_add_number(struct jinja_builder *b, const struct jinja_spec *spec, struct jinja_value v);
/* A string cut to its precision and padded. */
void jinja_format_add_text(struct jinja_builder *b, const struct jinja_spec *spec,
                           const struct jinja_string *s);
