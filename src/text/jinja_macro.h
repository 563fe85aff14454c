/* Macros, and the callers that call blocks hand to them. */
#pragma once

#include "src/text/jinja_ast.h"
#include "src/text/jinja_call.h"
#include "src/text/jinja_run.h"

struct jinja_macro {
    const struct jinja_node *node; /* DEFINE */
    struct jinja_frame *frame;     /* where it was defined */
    struct jinja_value name;       /* MISSING: a call block's */
};

struct jinja_value jinja_macro_make(struct jinja_run *run, struct jinja_frame *f,
                                    const struct jinja_node *node);
/* What it writes. */
struct jinja_value jinja_macro_call(struct jinja_run *run, const struct jinja_macro *macro,
                                    const struct jinja_args *args);
