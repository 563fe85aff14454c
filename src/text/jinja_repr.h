/* Values as text: Python's str() and repr(), and its shortest spelling of floats. */
#pragma once

#include "src/text/jinja_string.h"
#include "src/text/jinja_value.h"

enum { JINJA_REPR_FLOAT = 40 }; /* bytes for any float, NUL included */

/* str(): always a STRING. */
struct jinja_value jinja_repr_text(struct jinja_run *run, struct jinja_value v);
struct jinja_value jinja_repr_value(struct jinja_run *run, struct jinja_value v);
void jinja_repr_add_text(struct jinja_builder *b, struct jinja_value v);
void jinja_repr_add_value(struct jinja_builder *b, struct jinja_value v);
/* repr() for a sentence: cut where it is long, NUL-terminated. */
const char *jinja_repr_short(struct jinja_run *run, struct jinja_value v);
/* repr(float): the fewest digits that read back as the same number. */
void jinja_repr_float(double x, char out[JINJA_REPR_FLOAT]);
