/* Filters: value|name(arguments). */
#pragma once

#include "src/text/jinja_call.h"

/* NULL for an unknown one. */
const struct jinja_function *jinja_filter_find(const struct jinja_string *name);
struct jinja_value jinja_filter_apply(struct jinja_run *run, struct jinja_value name, struct jinja_value v,
                                      const struct jinja_args *args);

/* jinja_filter_seq.c: those that go through sequences. */
extern const struct jinja_function jinja_filter_seq[];
extern const size_t jinja_filter_seq_n;
