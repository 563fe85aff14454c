/* What every template can call: range, dict, namespace, cycler, joiner, raise_exception, strftime_now. */
#pragma once

#include "src/text/jinja_call.h"

/* MISSING for a name that is none. */
struct jinja_value jinja_global_find(const struct jinja_string *name);
/* Sets an attribute; names that begin with "_" are refused. */
void jinja_global_set_in_namespace(struct jinja_run *run, struct jinja_value space, struct jinja_value name,
                                   struct jinja_value value);
