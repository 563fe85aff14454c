/* Filters: value|name(arguments). */
#pragma once

#include "src/text/jinja_call.h"

/* NULL for an unknown one. */
const struct jinja_function *jinja_filter_find(const struct jinja_string *name);
struct jinja_value jinja_filter_apply(struct jinja_run *run, struct jinja_value name, struct jinja_value v,
                                      const struct jinja_args *args);

/* jinja_filter_seq.c: those that go through sequences at once. */
extern const struct jinja_function jinja_filter_seq[];
extern const size_t jinja_filter_seq_n;
/* What sorting and grouping compare: an item or its attribute, strings in small letters unless case counts.
 */
struct jinja_value jinja_filter_seq_key(struct jinja_run *run, struct jinja_value item,
                                        struct jinja_value attribute, bool case_sensitive);

/* jinja_filter_lazy.c: those that give generators. */
extern const struct jinja_function jinja_filter_lazy[];
extern const size_t jinja_filter_lazy_n;
