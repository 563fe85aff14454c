/* Formatting as Python's "{}".format(values). */
#pragma once

#include "src/text/jinja_call.h"

struct jinja_value jinja_braces_format(struct jinja_run *run, const struct jinja_string *format,
                                       const struct jinja_args *args);
