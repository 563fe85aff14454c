/* Tests: value is name(arguments). */
#pragma once

#include "src/text/jinja_call.h"

const struct jinja_function *jinja_test_find(const struct jinja_string *name);
struct jinja_value jinja_test_apply(struct jinja_run *run, struct jinja_value name, struct jinja_value v,
                                    const struct jinja_args *args);
