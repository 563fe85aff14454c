/* Evaluating the syntax tree: expressions, statements, macros, loops. */
#pragma once

#include "src/text/jinja_ast.h"
#include "src/text/jinja_call.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_run.h"

struct jinja_macro {
    const struct jinja_node *node; /* DEFINE */
    struct jinja_frame *frame;     /* where it was defined */
    struct jinja_value name;       /* MISSING: a call block's */
};

/* The value of an expression. */
struct jinja_value jinja_eval_expression(struct jinja_run *run, struct jinja_frame *f,
                                         const struct jinja_node *node);
/* The arguments among a call's kids from `first` on, evaluated in the run's memory; caller (MISSING: none) is
 * one more by that name. */
struct jinja_args jinja_eval_arguments(struct jinja_run *run, struct jinja_frame *f,
                                       const struct jinja_node *node, size_t first,
                                       struct jinja_value caller);
/* A filter applied to a value. */
struct jinja_value jinja_eval_filter(struct jinja_run *run, struct jinja_frame *f,
                                     const struct jinja_node *node, struct jinja_value value);
struct jinja_value *jinja_eval_slot(struct jinja_frame *f, uint32_t hops, uint32_t slot);

/* jinja_exec.c: */
struct jinja_value jinja_eval_macro(struct jinja_run *run, const struct jinja_macro *macro,
                                    const struct jinja_args *args);
/* The body of a recursive loop for other items, as text. */
struct jinja_value jinja_eval_loop(struct jinja_run *run, const struct jinja_loop *loop,
                                   struct jinja_value iterable);
