/* Parsing macros and call blocks: see jinja_parser.h. */
#include "config.h"
#include "src/text/jinja_parser.h"

#include <string.h>

#include "src/text/jinja_string.h"

static bool mentions(const struct jinja_node *node, const char *name)
{
    if (!node)
        return false;
    if (node->type == JINJA_NAME && node->op == JINJA_LOAD && jinja_string_is(node->name->text.string, name))
        return true;
    for (size_t i = 0; i < node->n_kid; i++)
        if (mentions(node->kids[i], name))
            return true;
    return false;
}

/* "(a, b=1)" onto the stack: the names, and behind them the defaults, which wait in an array meanwhile. */
static bool parse_signature(struct jinja_parser *p, uint32_t *ret_n_param)
{
    enum { MAX_PARAMS = 255 };
    struct jinja_node *defaults[MAX_PARAMS];
    size_t n_param = 0, n_default = 0;
    if (!jinja_parser_expect(p, "("))
        return false;
    while (!jinja_parser_is(p, ")") && !p->error) {
        if (n_param && !jinja_parser_expect(p, ","))
            return false;
        if (p->token.kind != JINJA_T_NAME)
            return jinja_parser_unexpected(p, "a name") != NULL;
        struct jinja_token t = p->token;
        jinja_parser_next(p);
        if (n_param++ == MAX_PARAMS)
            return jinja_parser_fail(p, t.at, "more than %d parameters", MAX_PARAMS) != NULL;
        jinja_parser_push(p, jinja_parser_variable(p, t.at, t.text, t.n, JINJA_PARAM));
        if (jinja_parser_skip(p, "="))
            defaults[n_default++] = jinja_expr_parse(p);
        else if (n_default)
            return jinja_parser_fail(p, t.at, "non-default argument follows default argument") != NULL;
    }
    for (size_t i = 0; i < n_default; i++)
        jinja_parser_push(p, defaults[i]);
    *ret_n_param = (uint32_t)n_param;
    return jinja_parser_expect(p, ")");
}

static struct jinja_node *parse_special(struct jinja_parser *p, const struct jinja_node *scope,
                                        const char *name, size_t at)
{
    return mentions(scope, name) ? jinja_parser_variable(p, at, name, strlen(name), JINJA_PARAM) : NULL;
}

/* The kids of a definition are on the stack from first on, the first five still empty. */
static struct jinja_node *finish_define(struct jinja_parser *p, size_t at, size_t first, uint32_t n_param,
                                        const char *end)
{
    unsigned in_loop = p->in_loop;
    p->in_loop = 0;
    struct jinja_node *scope = jinja_parse_scope(p, end);
    p->in_loop = in_loop;
    if (p->error)
        return NULL;
    p->stack[first + JINJA_DEFINE_SCOPE] = scope;
    static const char *const specials[] = {"caller", "kwargs", "varargs"};
    for (size_t i = 0; i < 3; i++) {
        struct jinja_node *special = parse_special(p, scope, specials[i], at);
        for (size_t k = 0; k < n_param; k++)
            if (jinja_string_is(p->stack[first + JINJA_DEFINE_PARAMS + k]->name->text.string, specials[i]))
                special = NULL;
        p->stack[first + JINJA_DEFINE_CALLER + i] = special;
    }
    struct jinja_node *node = jinja_parser_node(p, JINJA_DEFINE, at, first);
    if (node)
        node->n_param = n_param;
    return node;
}

static size_t push_empty(struct jinja_parser *p)
{
    size_t first = p->n_stack;
    for (int i = 0; i < JINJA_DEFINE_PARAMS; i++)
        jinja_parser_push(p, NULL);
    return first;
}

struct jinja_node *jinja_define_macro(struct jinja_parser *p, size_t at)
{
    uint32_t n_param = 0;
    size_t first = push_empty(p);
    struct jinja_token t = p->token;
    if (t.kind != JINJA_T_NAME)
        return jinja_parser_unexpected(p, "a name");
    jinja_parser_next(p);
    struct jinja_node *target = jinja_parser_variable(p, t.at, t.text, t.n, JINJA_STORE);
    if (p->in_for && t.n == 4 && memcmp(t.text, "loop", 4) == 0)
        return jinja_parser_fail(p, t.at, "Can't assign to special loop variable in for-loop target");
    if (!parse_signature(p, &n_param))
        return NULL;
    p->stack[first + JINJA_DEFINE_TARGET] = target;
    struct jinja_node *node = finish_define(p, at, first, n_param, "endmacro");
    if (node)
        node->name = target->name;
    return node;
}

struct jinja_node *jinja_define_call_block(struct jinja_parser *p, size_t at)
{
    uint32_t n_param = 0;
    size_t first = push_empty(p);
    if (jinja_parser_is(p, "(") && !parse_signature(p, &n_param))
        return NULL;
    struct jinja_node *call = jinja_expr_parse(p);
    if (call && call->type != JINJA_CALL)
        return jinja_parser_fail(p, call->at, "expected a call");
    return jinja_parser_node2(p, JINJA_CALL_BLOCK, at, finish_define(p, at, first, n_param, "endcall"), call);
}
