/* Evaluating expressions. */
#pragma once

#include "src/text/jinja_ast.h"
#include "src/text/jinja_call.h"
#include "src/text/jinja_run.h"

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
