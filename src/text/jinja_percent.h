/* Formatting as Python's "%s" % values. */
#pragma once

#include "src/text/jinja_call.h"

/* values: a tuple, a dictionary for %(name)s, or one value. */
struct jinja_value jinja_percent_format(struct jinja_run *run, const struct jinja_string *format,
                                        struct jinja_value values);
