/* Where each variable of a template lives: which scope a name means, and what it is when a scope is entered.
 */
#pragma once

#include "src/text/jinja_parser.h"

/* Gives every name of the tree its place and every scope its loads; fails through the parser for an unknown
 * filter or test that will be called in any case. */
void jinja_scope_resolve(struct jinja_parser *p, struct jinja_node *root);
