/* Executing statements: frames, scopes, loops. */
#pragma once

#include "src/text/jinja_ast.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_run.h"

/* A frame for a function that was defined in `parent`; NULL once the run has failed. */
struct jinja_frame *jinja_exec_frame(struct jinja_run *run, struct jinja_frame *parent, uint32_t n_slot);
/* Sets the variables of a scope to what they are when it is entered. */
void jinja_exec_enter(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *scope);
/* What a statement writes, as a string of its own. */
struct jinja_value jinja_exec_capture(struct jinja_run *run, struct jinja_frame *f,
                                      const struct jinja_node *block);
/* The body of a recursive loop for other items, as text. */
struct jinja_value jinja_exec_loop(struct jinja_run *run, const struct jinja_loop *loop,
                                   struct jinja_value iterable);
