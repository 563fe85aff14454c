/* The parser's state, and what its parts use of each other. */
#pragma once

#include "src/text/jinja_ast.h"
#include "src/text/jinja_lex.h"

enum { JINJA_PARSER_KIDS = 1 << 18 /* of one node: more than JINJA_MAX_TEMPLATE has room for */ };

struct jinja_parser {
    struct jinja *template;
    struct jinja_lex lex;
    struct jinja_token token, after; /* what is read now; the one behind it, if has_after */
    bool has_after;
    unsigned depth;   /* of recursion */
    unsigned in_loop; /* loops around, within the same macro: what may be left */
    unsigned in_for;  /* loops around at all: where `loop` is taken */
    int error;
    struct jinja_node **stack; /* kids of unfinished nodes */
    size_t n_stack, capacity;
    struct jinja_name **names;
    size_t n_name, n_bucket;
    struct why *why;
};

/* The first failure, with its place. Returns NULL. */
struct jinja_node *jinja_parser_fail(struct jinja_parser *p, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fails: got what is here instead of what was expected. */
struct jinja_node *jinja_parser_unexpected(struct jinja_parser *p, const char *expected);
void jinja_parser_next(struct jinja_parser *p);
const struct jinja_token *jinja_parser_look(struct jinja_parser *p);
bool jinja_parser_is(const struct jinja_parser *p, const char *op);
bool jinja_parser_is_name(const struct jinja_parser *p, const char *name);
bool jinja_parser_skip(struct jinja_parser *p, const char *op);
bool jinja_parser_skip_name(struct jinja_parser *p, const char *name);
bool jinja_parser_expect(struct jinja_parser *p, const char *op);
bool jinja_parser_enter(struct jinja_parser *p);

/* A node with the kids that were pushed since the stack had n_stack; NULL once parsing has failed. */
struct jinja_node *jinja_parser_node(struct jinja_parser *p, enum jinja_type type, size_t at, size_t n_stack);
void jinja_parser_push(struct jinja_parser *p, struct jinja_node *kid);
struct jinja_node *jinja_parser_node1(struct jinja_parser *p, enum jinja_type type, size_t at,
                                      struct jinja_node *a);
struct jinja_node *jinja_parser_node2(struct jinja_parser *p, enum jinja_type type, size_t at,
                                      struct jinja_node *a, struct jinja_node *b);
struct jinja_value jinja_parser_text(struct jinja_parser *p, const char *text, size_t n);
struct jinja_name *jinja_parser_name(struct jinja_parser *p, const char *text, size_t n);
struct jinja_node *jinja_parser_variable(struct jinja_parser *p, size_t at, const char *text, size_t n,
                                         enum jinja_context context);

/* jinja_expr.c */
struct jinja_node *jinja_expr_parse(struct jinja_parser *p);
/* No inline if, unless in brackets. */
struct jinja_node *jinja_expr_simple(struct jinja_parser *p);
/* One expression, or a tuple where there are commas. stop: a name that ends it (NULL: none). */
struct jinja_node *jinja_expr_tuple(struct jinja_parser *p, bool choose, const char *stop);
/* What can be assigned to. */
struct jinja_node *jinja_expr_target(struct jinja_parser *p, bool may_namespace, const char *stop);
/* What is between parentheses, up to the closing one: an expression or a tuple. */
struct jinja_node *jinja_expr_inside(struct jinja_parser *p);

/* jinja_primary.c */
/* A constant, a name, or something in brackets; may_namespace: or name.attribute, to assign to. */
struct jinja_node *jinja_primary_parse(struct jinja_parser *p, bool may_namespace);
/* The attributes, elements and calls behind a node. */
struct jinja_node *jinja_primary_postfix(struct jinja_parser *p, struct jinja_node *node);
/* The filters, tests and calls behind a node. */
struct jinja_node *jinja_primary_filters_and_tests(struct jinja_parser *p, struct jinja_node *node);
/* The filters behind a "|", or at the beginning of a filter block, applied to value (NULL: what was
 * captured). */
struct jinja_node *jinja_primary_filters(struct jinja_parser *p, struct jinja_node *value, bool begins);

/* jinja_parse.c: a body in a scope of its own, from the end of its tag to the tag `end`. */
struct jinja_node *jinja_parse_scope(struct jinja_parser *p, const char *end);

/* jinja_define.c: {% macro %} and {% call %}, behind their names. */
struct jinja_node *jinja_define_macro(struct jinja_parser *p, size_t at);
struct jinja_node *jinja_define_call_block(struct jinja_parser *p, size_t at);
