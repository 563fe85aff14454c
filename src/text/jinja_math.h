/* Operators on values, as Python's: arithmetic, order, containment. */
#pragma once

#include <stdbool.h>

#include "src/text/jinja_value.h"

enum jinja_operator {
    JINJA_ADD,
    JINJA_SUB,
    JINJA_MUL,
    JINJA_DIV,
    JINJA_FLOORDIV,
    JINJA_MOD,
    JINJA_POW,
};

struct jinja_value jinja_math_apply(struct jinja_run *run, enum jinja_operator op, struct jinja_value a,
                                    struct jinja_value b);
struct jinja_value jinja_math_negate(struct jinja_run *run, struct jinja_value v);
struct jinja_value jinja_math_plus(struct jinja_run *run, struct jinja_value v);
struct jinja_value jinja_math_absolute(struct jinja_run *run, struct jinja_value v);

/* -1, 0, 1; 2 where one is no number (NaN). Both are numbers; exact, also between integers and floats. */
int jinja_math_compare_numbers(struct jinja_value a, struct jinja_value b);
/* a < b, or a <= b. `op` is what the sentence of a failure shows. */
bool jinja_math_is_less(struct jinja_run *run, struct jinja_value a, struct jinja_value b, bool or_equal,
                        const char *op);
/* a in b. */
bool jinja_math_contains(struct jinja_run *run, struct jinja_value b, struct jinja_value a);
/* The value as a float; v is a number. */
double jinja_math_float(struct jinja_value v);
/* What int() makes of a float; fails beyond 64 bits. */
struct jinja_value jinja_math_truncate(struct jinja_run *run, double x);
