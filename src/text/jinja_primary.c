/* Parsing what operators stand between: constants, names, brackets, and what follows them: attributes,
 * elements, calls, filters, tests. See jinja_parser.h. */
#include "config.h"
#include "src/text/jinja_parser.h"

#include <string.h>

#include "src/text/jinja_string.h"

/* ---- arguments ---- */

static struct jinja_node *parse_argument(struct jinja_parser *p, enum jinja_argument *ret_kind)
{
    size_t at = p->token.at;
    struct jinja_value name = jinja_value_missing();
    enum jinja_argument kind = JINJA_ARG_PLAIN;
    if (jinja_parser_skip(p, "*")) {
        kind = JINJA_ARG_LIST;
    } else if (jinja_parser_skip(p, "**")) {
        kind = JINJA_ARG_DICT;
    } else if (p->token.kind == JINJA_T_NAME) {
        const struct jinja_token *after = jinja_parser_look(p);
        if (after->kind == JINJA_T_OPERATOR && after->n == 1 && after->text[0] == '=') {
            kind = JINJA_ARG_NAMED;
            name = jinja_parser_text(p, p->token.text, p->token.n);
            jinja_parser_next(p);
            jinja_parser_next(p);
        }
    }
    struct jinja_node *node = jinja_parser_node1(p, JINJA_ARGUMENT, at, jinja_expr_parse(p));
    if (node) {
        node->op = (uint8_t)kind;
        node->constant = name;
    }
    *ret_kind = kind;
    return node;
}

static bool has_name(struct jinja_node *const *arguments, size_t n, const struct jinja_string *name)
{
    for (size_t i = 0; i < n; i++)
        if (arguments[i] && arguments[i]->op == JINJA_ARG_NAMED &&
            arguments[i]->constant.string->n == name->n &&
            memcmp(arguments[i]->constant.string->text, name->text, name->n) == 0)
            return true;
    return false;
}

/* Pushes what is between the parentheses, which must be in order: plain ones, named ones, *list, **dict (a
 * list and a dict once each). */
static bool parse_arguments(struct jinja_parser *p)
{
    enum { MAX_ARGUMENTS = 255 };
    size_t at = p->token.at, first = p->n_stack;
    bool named = false, has_list = false, has_dict = false;
    if (!jinja_parser_expect(p, "("))
        return false;
    while (!jinja_parser_is(p, ")") && !p->error) {
        enum jinja_argument kind;
        if (p->n_stack > first && !jinja_parser_expect(p, ","))
            return false;
        if (jinja_parser_is(p, ")"))
            break;
        struct jinja_node *argument = parse_argument(p, &kind);
        bool misplaced = kind == JINJA_ARG_PLAIN   ? named || has_list || has_dict
                         : kind == JINJA_ARG_NAMED ? has_dict
                         : kind == JINJA_ARG_LIST  ? has_list || has_dict
                                                   : has_dict;
        if (!argument)
            return false;
        if (misplaced || p->n_stack - first >= MAX_ARGUMENTS)
            return jinja_parser_fail(p, at, "invalid syntax for function call expression") != NULL;
        if (kind == JINJA_ARG_NAMED &&
            has_name(p->stack + first, p->n_stack - first, argument->constant.string))
            return jinja_parser_fail(p, argument->at, "keyword argument repeated") != NULL;
        named |= kind == JINJA_ARG_NAMED;
        has_list |= kind == JINJA_ARG_LIST;
        has_dict |= kind == JINJA_ARG_DICT;
        jinja_parser_push(p, argument);
    }
    return jinja_parser_expect(p, ")");
}

static struct jinja_node *parse_call(struct jinja_parser *p, struct jinja_node *callee)
{
    size_t at = p->token.at, first = p->n_stack;
    jinja_parser_push(p, callee);
    return parse_arguments(p) ? jinja_parser_node(p, JINJA_CALL, at, first) : NULL;
}

/* A filter's or test's name, which may have dots. */
static struct jinja_value parse_dotted(struct jinja_parser *p)
{
    const char *from = p->token.text;
    if (p->token.kind != JINJA_T_NAME) {
        jinja_parser_unexpected(p, "a name");
        return jinja_value_none();
    }
    size_t n = p->token.n;
    jinja_parser_next(p);
    while (jinja_parser_skip(p, ".")) {
        if (p->token.kind != JINJA_T_NAME) {
            jinja_parser_unexpected(p, "a name");
            return jinja_value_none();
        }
        n = (size_t)(p->token.text + p->token.n - from);
        jinja_parser_next(p);
    }
    return jinja_parser_text(p, from, n);
}

struct jinja_node *jinja_primary_filters(struct jinja_parser *p, struct jinja_node *value, bool begins)
{
    while (begins || jinja_parser_skip(p, "|")) {
        size_t at = p->token.at, first = p->n_stack;
        struct jinja_value name = parse_dotted(p);
        jinja_parser_push(p, value);
        if (jinja_parser_is(p, "(") && !parse_arguments(p))
            return NULL;
        value = jinja_parser_node(p, JINJA_FILTER, at, first);
        if (!value)
            return NULL;
        value->constant = name;
        begins = false;
    }
    return value;
}

/* ---- primaries ---- */

static struct jinja_node *constant(struct jinja_parser *p, size_t at, struct jinja_value value)
{
    struct jinja_node *node = jinja_parser_node(p, JINJA_CONST, at, p->n_stack);
    if (node)
        node->constant = value;
    return node;
}

/* Strings beside each other are one. */
static struct jinja_node *parse_string(struct jinja_parser *p)
{
    size_t at = p->token.at, n = 0;
    const char *text = p->token.text;
    n = p->token.n;
    jinja_parser_next(p);
    while (p->token.kind == JINJA_T_STRING) {
        char *joined = arena_array(&p->template->arena, n + p->token.n, 1);
        if (!joined)
            return jinja_parser_fail(p, at, "out of memory");
        memcpy(joined, text, n);
        memcpy(joined + n, p->token.text, p->token.n);
        text = joined;
        n += p->token.n;
        jinja_parser_next(p);
    }
    return constant(p, at, jinja_parser_text(p, text, n));
}

static struct jinja_node *parse_name(struct jinja_parser *p, bool may_namespace)
{
    struct jinja_token t = p->token;
    if (jinja_parser_skip_name(p, "true") || jinja_parser_skip_name(p, "True"))
        return constant(p, t.at, jinja_value_bool(true));
    if (jinja_parser_skip_name(p, "false") || jinja_parser_skip_name(p, "False"))
        return constant(p, t.at, jinja_value_bool(false));
    if (jinja_parser_skip_name(p, "none") || jinja_parser_skip_name(p, "None"))
        return constant(p, t.at, jinja_value_none());
    jinja_parser_next(p);
    struct jinja_node *node = jinja_parser_variable(p, t.at, t.text, t.n, JINJA_LOAD);
    if (!node || !may_namespace || !jinja_parser_skip(p, "."))
        return node;
    if (p->token.kind != JINJA_T_NAME)
        return jinja_parser_unexpected(p, "a name");
    node->type = JINJA_NS_NAME;
    node->constant = jinja_parser_text(p, p->token.text, p->token.n);
    jinja_parser_next(p);
    return node;
}

static struct jinja_node *parse_list(struct jinja_parser *p)
{
    size_t at = p->token.at, first = p->n_stack;
    jinja_parser_next(p);
    while (!jinja_parser_is(p, "]") && !p->error) {
        if (p->n_stack > first && !jinja_parser_expect(p, ","))
            return NULL;
        if (!jinja_parser_is(p, "]"))
            jinja_parser_push(p, jinja_expr_parse(p));
    }
    return jinja_parser_expect(p, "]") ? jinja_parser_node(p, JINJA_LIST_OF, at, first) : NULL;
}

static struct jinja_node *parse_dict(struct jinja_parser *p)
{
    size_t at = p->token.at, first = p->n_stack;
    jinja_parser_next(p);
    while (!jinja_parser_is(p, "}") && !p->error) {
        if (p->n_stack > first && !jinja_parser_expect(p, ","))
            return NULL;
        if (jinja_parser_is(p, "}"))
            break;
        jinja_parser_push(p, jinja_expr_parse(p));
        if (!jinja_parser_expect(p, ":"))
            return NULL;
        jinja_parser_push(p, jinja_expr_parse(p));
    }
    return jinja_parser_expect(p, "}") ? jinja_parser_node(p, JINJA_DICT_OF, at, first) : NULL;
}

struct jinja_node *jinja_primary_parse(struct jinja_parser *p, bool may_namespace)
{
    struct jinja_token t = p->token;
    switch (t.kind) {
    case JINJA_T_NAME:
        return parse_name(p, may_namespace);
    case JINJA_T_STRING:
        return parse_string(p);
    case JINJA_T_INT:
        jinja_parser_next(p);
        return constant(p, t.at, jinja_value_int(t.integer));
    case JINJA_T_FLOAT:
        jinja_parser_next(p);
        return constant(p, t.at, jinja_value_float(t.real));
    default:
        break;
    }
    if (jinja_parser_is(p, "["))
        return parse_list(p);
    if (jinja_parser_is(p, "{"))
        return parse_dict(p);
    if (!jinja_parser_skip(p, "("))
        return jinja_parser_unexpected(p, "an expression");
    struct jinja_node *node = jinja_expr_inside(p);
    return jinja_parser_expect(p, ")") ? node : NULL;
}

/* ---- postfixes ---- */

/* One bound of a slice, which may be missing. */
static struct jinja_node *parse_bound(struct jinja_parser *p)
{
    if (jinja_parser_is(p, ":") || jinja_parser_is(p, "]"))
        return NULL;
    return jinja_expr_parse(p);
}

static struct jinja_node *parse_brackets(struct jinja_parser *p, struct jinja_node *object)
{
    size_t at = p->token.at, first = p->n_stack;
    jinja_parser_next(p);
    jinja_parser_push(p, object);
    struct jinja_node *key = parse_bound(p);
    bool is_slice = jinja_parser_skip(p, ":");
    jinja_parser_push(p, key);
    if (!is_slice && jinja_parser_is(p, ","))
        return jinja_parser_fail(p, p->token.at, "a subscript with several indexes is not supported");
    if (is_slice) {
        jinja_parser_push(p, parse_bound(p));
        jinja_parser_push(p, jinja_parser_skip(p, ":") ? parse_bound(p) : NULL);
    } else if (!key) {
        return jinja_parser_unexpected(p, "an expression");
    }
    if (!jinja_parser_expect(p, "]"))
        return NULL;
    return jinja_parser_node(p, is_slice ? JINJA_SLICE : JINJA_ELEMENT, at, first);
}

static struct jinja_node *parse_dot(struct jinja_parser *p, struct jinja_node *object)
{
    size_t at = p->token.at;
    jinja_parser_next(p);
    struct jinja_token t = p->token;
    if (t.kind == JINJA_T_INT) {
        jinja_parser_next(p);
        return jinja_parser_node2(p, JINJA_ELEMENT, at, object,
                                  constant(p, t.at, jinja_value_int(t.integer)));
    }
    if (t.kind != JINJA_T_NAME)
        return jinja_parser_unexpected(p, "a name or number");
    struct jinja_node *node = jinja_parser_node1(p, JINJA_ATTRIBUTE, at, object);
    if (node)
        node->constant = jinja_parser_text(p, t.text, t.n);
    jinja_parser_next(p);
    return node;
}

struct jinja_node *jinja_primary_postfix(struct jinja_parser *p, struct jinja_node *node)
{
    while (!p->error) {
        if (jinja_parser_is(p, "."))
            node = parse_dot(p, node);
        else if (jinja_parser_is(p, "["))
            node = parse_brackets(p, node);
        else if (jinja_parser_is(p, "("))
            node = parse_call(p, node);
        else
            return node;
    }
    return NULL;
}

/* Whether an argument without parentheses begins here: `x is divisibleby 3`. */
static bool begins_argument(const struct jinja_parser *p)
{
    switch (p->token.kind) {
    case JINJA_T_NAME:
        return !jinja_parser_is_name(p, "else") && !jinja_parser_is_name(p, "or") &&
               !jinja_parser_is_name(p, "and");
    case JINJA_T_STRING:
    case JINJA_T_INT:
    case JINJA_T_FLOAT:
        return true;
    default:
        return jinja_parser_is(p, "[") || jinja_parser_is(p, "{");
    }
}

static struct jinja_node *parse_test(struct jinja_parser *p, struct jinja_node *value)
{
    size_t at = p->token.at, first = p->n_stack;
    jinja_parser_next(p);
    bool negated = jinja_parser_skip_name(p, "not");
    struct jinja_value name = parse_dotted(p);
    jinja_parser_push(p, value);
    if (jinja_parser_is(p, "(")) {
        if (!parse_arguments(p))
            return NULL;
    } else if (begins_argument(p)) {
        if (jinja_parser_is_name(p, "is"))
            return jinja_parser_fail(p, p->token.at, "You cannot chain multiple tests with is");
        size_t argument_at = p->token.at;
        struct jinja_node *argument = jinja_primary_postfix(p, jinja_primary_parse(p, false));
        jinja_parser_push(p, jinja_parser_node1(p, JINJA_ARGUMENT, argument_at, argument));
    }
    struct jinja_node *node = jinja_parser_node(p, JINJA_TEST, at, first);
    if (!node)
        return NULL;
    node->constant = name;
    return negated ? jinja_parser_node1(p, JINJA_NOT, at, node) : node;
}

struct jinja_node *jinja_primary_filters_and_tests(struct jinja_parser *p, struct jinja_node *node)
{
    while (!p->error) {
        if (jinja_parser_is(p, "|"))
            node = jinja_primary_filters(p, node, false);
        else if (jinja_parser_is_name(p, "is"))
            node = parse_test(p, node);
        else if (jinja_parser_is(p, "("))
            node = parse_call(p, node);
        else
            return node;
    }
    return NULL;
}
