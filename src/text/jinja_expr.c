/* Parsing expressions: operators and their precedence. See jinja_parser.h. */
#include "config.h"
#include "src/text/jinja_parser.h"

#include <string.h>

#include "src/text/jinja_math.h"
#include "src/text/jinja_string.h"

/* ---- operators, from the strongest to the weakest ---- */

static struct jinja_node *parse_unary(struct jinja_parser *p, bool with_filter)
{
    size_t at = p->token.at;
    struct jinja_node *node;
    if (!jinja_parser_enter(p))
        return NULL;
    if (jinja_parser_skip(p, "-"))
        node = jinja_parser_node1(p, JINJA_NEGATE, at, parse_unary(p, false));
    else if (jinja_parser_skip(p, "+"))
        node = jinja_parser_node1(p, JINJA_PLUS, at, parse_unary(p, false));
    else
        node = jinja_primary_parse(p, false);
    node = jinja_primary_postfix(p, node);
    if (with_filter)
        node = jinja_primary_filters_and_tests(p, node);
    p->depth--;
    return node;
}

struct sign {
    const char *text;
    enum jinja_operator op;
};

static const struct sign powers[] = {{"**", JINJA_POW}};
static const struct sign products[] = {
    {"*", JINJA_MUL}, {"/", JINJA_DIV}, {"//", JINJA_FLOORDIV}, {"%", JINJA_MOD}};
static const struct sign sums[] = {{"+", JINJA_ADD}, {"-", JINJA_SUB}};

static struct jinja_node *parse_left(struct jinja_parser *p, const struct sign *table, size_t n,
                                     struct jinja_node *(*parse)(struct jinja_parser *p))
{
    struct jinja_node *left = parse(p);
    while (left) {
        size_t i = 0, at = p->token.at;
        while (i < n && !jinja_parser_is(p, table[i].text))
            i++;
        if (i == n)
            return left;
        jinja_parser_next(p);
        left = jinja_parser_node2(p, JINJA_OPERATE, at, left, parse(p));
        if (left)
            left->op = (uint8_t)table[i].op;
    }
    return NULL;
}

static struct jinja_node *parse_operand(struct jinja_parser *p)
{
    return parse_unary(p, true);
}

static struct jinja_node *parse_power(struct jinja_parser *p)
{
    return parse_left(p, powers, 1, parse_operand);
}

static struct jinja_node *parse_product(struct jinja_parser *p)
{
    return parse_left(p, products, 4, parse_power);
}

static struct jinja_node *parse_concat(struct jinja_parser *p)
{
    size_t at = p->token.at, first = p->n_stack;
    struct jinja_node *node = parse_product(p);
    if (!jinja_parser_is(p, "~"))
        return node;
    jinja_parser_push(p, node);
    while (jinja_parser_skip(p, "~"))
        jinja_parser_push(p, parse_product(p));
    return jinja_parser_node(p, JINJA_CONCAT, at, first);
}

static struct jinja_node *parse_sum(struct jinja_parser *p)
{
    return parse_left(p, sums, 2, parse_concat);
}

/* The comparison that stands here, taken; -1: none. */
static int skip_comparison(struct jinja_parser *p)
{
    static const char *const ops[] = {"==", "!=", "<", "<=", ">", ">="};
    for (int i = 0; i < (int)(sizeof ops / sizeof ops[0]); i++)
        if (jinja_parser_skip(p, ops[i]))
            return i;
    if (jinja_parser_skip_name(p, "in"))
        return JINJA_IN;
    if (!jinja_parser_is_name(p, "not"))
        return -1;
    const struct jinja_token *after = jinja_parser_look(p);
    if (after->kind != JINJA_T_NAME || after->n != 2 || memcmp(after->text, "in", 2) != 0)
        return -1;
    jinja_parser_next(p);
    jinja_parser_next(p);
    return JINJA_NOT_IN;
}

static struct jinja_node *parse_compare(struct jinja_parser *p)
{
    size_t at = p->token.at, first = p->n_stack;
    int op;
    struct jinja_node *node = parse_sum(p);
    jinja_parser_push(p, node);
    size_t op_at = p->token.at;
    while (!p->error && (op = skip_comparison(p)) >= 0) {
        struct jinja_node *right = jinja_parser_node1(p, JINJA_COMPARISON, op_at, parse_sum(p));
        if (right)
            right->op = (uint8_t)op;
        jinja_parser_push(p, right);
        op_at = p->token.at;
    }
    if (p->n_stack > first + 1)
        return jinja_parser_node(p, JINJA_COMPARE, at, first);
    p->n_stack = first;
    return node;
}

static struct jinja_node *parse_not(struct jinja_parser *p)
{
    size_t at = p->token.at;
    if (!jinja_parser_is_name(p, "not"))
        return parse_compare(p);
    if (!jinja_parser_enter(p))
        return NULL;
    jinja_parser_next(p);
    struct jinja_node *node = jinja_parser_node1(p, JINJA_NOT, at, parse_not(p));
    p->depth--;
    return node;
}

static struct jinja_node *parse_and(struct jinja_parser *p)
{
    size_t at = p->token.at;
    struct jinja_node *left = parse_not(p);
    while (left && jinja_parser_skip_name(p, "and"))
        left = jinja_parser_node2(p, JINJA_AND, at, left, parse_not(p));
    return left;
}

struct jinja_node *jinja_expr_simple(struct jinja_parser *p)
{
    size_t at = p->token.at;
    struct jinja_node *left = parse_and(p);
    while (left && jinja_parser_skip_name(p, "or"))
        left = jinja_parser_node2(p, JINJA_OR, at, left, parse_and(p));
    return left;
}

struct jinja_node *jinja_expr_parse(struct jinja_parser *p)
{
    if (!jinja_parser_enter(p))
        return NULL;
    size_t at = p->token.at;
    struct jinja_node *node = jinja_expr_simple(p);
    while (node && jinja_parser_skip_name(p, "if")) {
        size_t first = p->n_stack;
        jinja_parser_push(p, node);
        jinja_parser_push(p, jinja_expr_simple(p));
        jinja_parser_push(p, jinja_parser_skip_name(p, "else") ? jinja_expr_parse(p) : NULL);
        node = jinja_parser_node(p, JINJA_CHOOSE, at, first);
    }
    p->depth--;
    return node;
}

/* ---- tuples and targets ---- */

static struct jinja_node *parse_some(struct jinja_parser *p,
                                     struct jinja_node *(*parse)(struct jinja_parser *p), const char *stop,
                                     bool in_brackets)
{
    size_t at = p->token.at, first = p->n_stack;
    bool is_tuple = false;
    for (;;) {
        if (p->n_stack > first && !jinja_parser_expect(p, ","))
            return NULL;
        if (p->token.kind == JINJA_T_PRINT_END || p->token.kind == JINJA_T_BLOCK_END ||
            jinja_parser_is(p, ")") || (stop && jinja_parser_is_name(p, stop)))
            break;
        jinja_parser_push(p, parse(p));
        if (!jinja_parser_is(p, ","))
            break;
        is_tuple = true;
    }
    if (p->error)
        return NULL;
    if (!is_tuple && p->n_stack > first)
        return p->stack[--p->n_stack];
    if (!is_tuple && !in_brackets)
        return jinja_parser_unexpected(p, "an expression");
    return jinja_parser_node(p, JINJA_TUPLE_OF, at, first);
}

static struct jinja_node *parse_item(struct jinja_parser *p)
{
    return jinja_primary_parse(p, false);
}

static struct jinja_node *parse_target_item(struct jinja_parser *p)
{
    return jinja_primary_parse(p, true);
}

struct jinja_node *jinja_expr_inside(struct jinja_parser *p)
{
    return parse_some(p, jinja_expr_parse, NULL, true);
}

struct jinja_node *jinja_expr_tuple(struct jinja_parser *p, bool choose, const char *stop)
{
    return parse_some(p, choose ? jinja_expr_parse : jinja_expr_simple, stop, false);
}

static bool make_target(struct jinja_parser *p, struct jinja_node *node)
{
    if (!node)
        return false;
    if (node->type == JINJA_NS_NAME)
        return true;
    node->op = JINJA_STORE;
    if (node->type != JINJA_NAME && node->type != JINJA_TUPLE_OF)
        return jinja_parser_fail(p, node->at, "can't assign to this") != NULL;
    if (node->type == JINJA_NAME && p->in_for && jinja_string_is(node->name->text.string, "loop"))
        return jinja_parser_fail(p, node->at, "Can't assign to special loop variable in for-loop target") !=
               NULL;
    for (size_t i = 0; i < node->n_kid; i++)
        if (!make_target(p, node->kids[i]))
            return false;
    return true;
}

struct jinja_node *jinja_expr_target(struct jinja_parser *p, bool may_namespace, const char *stop)
{
    struct jinja_node *node = parse_some(p, may_namespace ? parse_target_item : parse_item, stop, false);
    return make_target(p, node) ? node : NULL;
}
