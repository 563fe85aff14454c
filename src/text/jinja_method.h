/* Methods of strings, lists, tuples, dictionaries, ranges, loops and cyclers. */
#pragma once

#include "src/text/jinja_call.h"

/* NULL: none of that name. One without params exists, but changes its object, which the sandbox forbids. */
const struct jinja_function *jinja_method_find(struct jinja_value v, const struct jinja_string *name);
/* str.islower(), str.isupper(). */
bool jinja_method_is_lower(struct jinja_run *run, const struct jinja_string *s);
bool jinja_method_is_upper(struct jinja_run *run, const struct jinja_string *s);

/* jinja_method_str.c */
extern const struct jinja_function jinja_method_str[];
extern const size_t jinja_method_str_n;
