/* Calling: functions, filters, tests and methods written in C, and how arguments find their parameters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "src/text/jinja_string.h"
#include "src/text/jinja_value.h"

enum { JINJA_MAX_PARAMS = 8 };

struct jinja_args {
    const struct jinja_value *v;
    size_t n;
    const struct jinja_dict *named; /* NULL: none */
};

/* One row of a table of functions. `params` names the parameters, "width first" say; those after a "?" may be
 * left out and are MISSING then; after a "/" at the beginning none can be given by name; "*" takes the
 * arguments as they are. Otherwise v holds exactly the parameters and named is NULL. NULL: exists in Python,
 * but the sandbox does not let it be used. */
struct jinja_function {
    const char *name, *params;
    struct jinja_value (*call)(struct jinja_run *run, struct jinja_value self, const struct jinja_args *args);
};

struct jinja_method {
    const struct jinja_function *function;
    struct jinja_value self;
};

const struct jinja_function *jinja_call_find(const struct jinja_function *table, size_t n,
                                             const struct jinja_string *name);
struct jinja_value jinja_call_function(struct jinja_run *run, const struct jinja_function *f,
                                       struct jinja_value self, const struct jinja_args *args);
/* Calls any value; fails for one that cannot be called. */
struct jinja_value jinja_call_value(struct jinja_run *run, struct jinja_value callee,
                                    const struct jinja_args *args);
void jinja_call_add_macro(struct jinja_builder *b, const struct jinja_macro *macro);

/* For functions' bodies: an argument, or what it defaults to; fails where it is of the wrong kind. */
int64_t jinja_call_whole(struct jinja_run *run, struct jinja_value v, int64_t otherwise);
/* NULL for MISSING and none, and failed for anything else but a string. */
const struct jinja_string *jinja_call_string(struct jinja_run *run, struct jinja_value v);
bool jinja_call_flag(struct jinja_run *run, struct jinja_value v, bool otherwise);
