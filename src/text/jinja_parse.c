/* Parsing templates: statements. See jinja.h. */
#include "config.h"
#include "src/text/jinja.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/utf8.h"
#include "src/text/jinja_parser.h"
#include "src/text/jinja_scope.h"
#include "src/text/jinja_string.h"

static struct jinja_node *parse_statement(struct jinja_parser *p);

/* Names that end a body, the unused ones NULL; the last one closes the statement. */
struct ends {
    const char *names[3];
};

static bool is_end(const struct jinja_parser *p, const struct ends *ends)
{
    for (size_t i = 0; i < 3 && ends->names[i]; i++)
        if (jinja_parser_is_name(p, ends->names[i]))
            return true;
    return false;
}

static const char *closing(const struct ends *ends)
{
    size_t i = 0;
    while (i + 1 < 3 && ends->names[i + 1])
        i++;
    return ends->names[i];
}

static bool expect_block_end(struct jinja_parser *p)
{
    if (p->token.kind != JINJA_T_BLOCK_END)
        return jinja_parser_unexpected(p, "end of block") != NULL;
    jinja_parser_next(p);
    return true;
}

static struct jinja_node *parse_data(struct jinja_parser *p)
{
    struct jinja_token t = p->token;
    jinja_parser_next(p);
    struct jinja_node *node = jinja_parser_node(p, JINJA_DATA, t.at, p->n_stack);
    if (node)
        node->constant = jinja_parser_text(p, t.text, t.n);
    return node;
}

static struct jinja_node *parse_print(struct jinja_parser *p)
{
    size_t at = p->token.at;
    jinja_parser_next(p);
    struct jinja_node *node = jinja_parser_node1(p, JINJA_PRINT, at, jinja_expr_tuple(p, true, NULL));
    if (p->token.kind != JINJA_T_PRINT_END)
        return jinja_parser_unexpected(p, "end of print statement");
    jinja_parser_next(p);
    return node;
}

/* Statements up to one of the ends (NULL: the end of the template), which is then the token that is read. */
static struct jinja_node *parse_block(struct jinja_parser *p, const struct ends *ends)
{
    size_t at = p->token.at, first = p->n_stack;
    while (!p->error && p->token.kind != JINJA_T_END) {
        if (p->token.kind == JINJA_T_DATA) {
            jinja_parser_push(p, parse_data(p));
        } else if (p->token.kind == JINJA_T_PRINT_BEGIN) {
            jinja_parser_push(p, parse_print(p));
        } else {
            jinja_parser_next(p);
            if (ends && is_end(p, ends))
                return jinja_parser_node(p, JINJA_BLOCK, at, first);
            jinja_parser_push(p, parse_statement(p));
            if (!p->error && !expect_block_end(p))
                return NULL;
        }
    }
    if (ends && !p->error)
        return jinja_parser_fail(p, at, "unexpected end of template, looking for '%s'", closing(ends));
    return jinja_parser_node(p, JINJA_BLOCK, at, first);
}

/* The body of a tag that ends here: a scope around its block where wanted. Its end's name is still to be
 * read. */
static struct jinja_node *parse_body(struct jinja_parser *p, const struct ends *ends)
{
    jinja_parser_skip(p, ":");
    return expect_block_end(p) ? parse_block(p, ends) : NULL;
}

struct jinja_node *jinja_parse_scope(struct jinja_parser *p, const char *end)
{
    const struct ends ends = {{end}};
    size_t at = p->token.at;
    struct jinja_node *scope = jinja_parser_node1(p, JINJA_SCOPE, at, parse_body(p, &ends));
    jinja_parser_next(p);
    return scope;
}

/* ---- if ---- */

static struct jinja_node *parse_if(struct jinja_parser *p, size_t at)
{
    static const struct ends ends = {{"elif", "else", "endif"}}, last = {{"endif"}};
    size_t first = p->n_stack;
    do {
        jinja_parser_push(p, jinja_expr_tuple(p, false, NULL));
        jinja_parser_push(p, parse_body(p, &ends));
    } while (!p->error && jinja_parser_skip_name(p, "elif"));
    if (jinja_parser_skip_name(p, "else"))
        jinja_parser_push(p, parse_body(p, &last));
    jinja_parser_next(p);
    return jinja_parser_node(p, JINJA_IF, at, first);
}

/* ---- for ---- */

/* The same names again, for the scope of the loop's condition. */
static struct jinja_node *copy_target(struct jinja_parser *p, const struct jinja_node *target)
{
    size_t first = p->n_stack;
    for (size_t i = 0; i < target->n_kid; i++)
        jinja_parser_push(p, copy_target(p, target->kids[i]));
    struct jinja_node *copy = jinja_parser_node(p, target->type, target->at, first);
    if (copy) {
        copy->name = target->name;
        copy->op = target->op;
    }
    return copy;
}

static void make_params(struct jinja_node *target)
{
    target->op = JINJA_PARAM;
    for (size_t i = 0; i < target->n_kid; i++)
        make_params(target->kids[i]);
}

static struct jinja_node *parse_condition(struct jinja_parser *p, const struct jinja_node *target)
{
    size_t at = p->token.at;
    if (!jinja_parser_skip_name(p, "if") || p->error)
        return NULL;
    struct jinja_node *condition = jinja_expr_parse(p);
    return condition ? jinja_parser_node2(p, JINJA_SCOPE, at, condition, copy_target(p, target)) : NULL;
}

static struct jinja_node *parse_for_body(struct jinja_parser *p, size_t at, struct jinja_node *target)
{
    static const struct ends ends = {{"else", "endfor"}};
    size_t first = p->n_stack;
    p->in_loop++;
    jinja_parser_push(p, parse_body(p, &ends));
    p->in_loop--;
    jinja_parser_push(p, target);
    jinja_parser_push(p, jinja_parser_variable(p, at, "loop", 4, JINJA_PARAM));
    return jinja_parser_node(p, JINJA_SCOPE, at, first);
}

static struct jinja_node *parse_for(struct jinja_parser *p, size_t at)
{
    struct jinja_node *otherwise = NULL;
    unsigned in_loop = p->in_loop;
    size_t first = p->n_stack;
    p->in_for++;
    struct jinja_node *target = jinja_expr_target(p, false, "in");
    if (!target)
        return NULL;
    make_params(target);
    if (!jinja_parser_skip_name(p, "in"))
        return jinja_parser_unexpected(p, "'in'");
    struct jinja_node *iter = jinja_expr_tuple(p, false, "recursive");
    struct jinja_node *condition = parse_condition(p, target);
    bool recursive = jinja_parser_skip_name(p, "recursive");
    p->in_loop = recursive ? 0 : in_loop; /* a recursive loop is a function */
    struct jinja_node *body = parse_for_body(p, at, target);
    if (jinja_parser_skip_name(p, "else"))
        otherwise = jinja_parse_scope(p, "endfor");
    else
        jinja_parser_next(p);
    p->in_for--;
    p->in_loop = in_loop;
    jinja_parser_push(p, iter);
    jinja_parser_push(p, body);
    jinja_parser_push(p, otherwise);
    jinja_parser_push(p, condition);
    struct jinja_node *node = jinja_parser_node(p, JINJA_FOR, at, first);
    if (node)
        node->flag = recursive;
    return node;
}

/* ---- set, filter, with ---- */

static struct jinja_node *parse_set(struct jinja_parser *p, size_t at)
{
    struct jinja_node *target = jinja_expr_target(p, true, NULL);
    if (jinja_parser_skip(p, "="))
        return jinja_parser_node2(p, JINJA_ASSIGN, at, target, jinja_expr_tuple(p, true, NULL));
    size_t first = p->n_stack;
    struct jinja_node *filter = jinja_primary_filters(p, NULL, false);
    struct jinja_node *scope = jinja_parse_scope(p, "endset");
    jinja_parser_push(p, target);
    jinja_parser_push(p, scope);
    jinja_parser_push(p, filter);
    return jinja_parser_node(p, JINJA_SET_BLOCK, at, first);
}

static struct jinja_node *parse_filtered(struct jinja_parser *p, size_t at)
{
    struct jinja_node *filter = jinja_primary_filters(p, NULL, true);
    return jinja_parser_node2(p, JINJA_FILTERED, at, jinja_parse_scope(p, "endfilter"), filter);
}

static struct jinja_node *parse_with(struct jinja_parser *p, size_t at)
{
    size_t first = p->n_stack;
    jinja_parser_push(p, NULL);
    while (p->token.kind != JINJA_T_BLOCK_END && !p->error) {
        if (p->n_stack > first + 1 && !jinja_parser_expect(p, ","))
            return NULL;
        struct jinja_node *target = jinja_expr_target(p, false, NULL);
        if (!target || !jinja_parser_expect(p, "="))
            return NULL;
        make_params(target);
        jinja_parser_push(p, target);
        jinja_parser_push(p, jinja_expr_parse(p));
    }
    struct jinja_node *scope = jinja_parse_scope(p, "endwith");
    if (!p->error)
        p->stack[first] = scope;
    return jinja_parser_node(p, JINJA_WITH, at, first);
}

/* Marks what the assistant says, for training; to us it is a scope. */
static struct jinja_node *parse_generation(struct jinja_parser *p, size_t at)
{
    unsigned in_loop = p->in_loop;
    p->in_loop = 0;
    struct jinja_node *node = jinja_parser_node1(p, JINJA_WITH, at, jinja_parse_scope(p, "endgeneration"));
    p->in_loop = in_loop;
    return node;
}

/* ---- all of them ---- */

static struct jinja_node *parse_leave(struct jinja_parser *p, size_t at, bool is_break)
{
    if (!p->in_loop)
        return jinja_parser_fail(p, at, "'%s' outside loop", is_break ? "break" : "continue");
    struct jinja_node *node = jinja_parser_node(p, JINJA_LEAVE, at, p->n_stack);
    if (node)
        node->flag = is_break;
    return node;
}

static struct jinja_node *parse_break(struct jinja_parser *p, size_t at)
{
    return parse_leave(p, at, true);
}

static struct jinja_node *parse_continue(struct jinja_parser *p, size_t at)
{
    return parse_leave(p, at, false);
}

static struct jinja_node *parse_print_tag(struct jinja_parser *p, size_t at)
{
    size_t first = p->n_stack;
    while (p->token.kind != JINJA_T_BLOCK_END && !p->error) {
        if (p->n_stack > first && !jinja_parser_expect(p, ","))
            return NULL;
        jinja_parser_push(p, jinja_expr_parse(p));
    }
    return jinja_parser_node(p, JINJA_PRINT, at, first);
}

static const struct {
    const char *name;
    struct jinja_node *(*parse)(struct jinja_parser *p, size_t at);
} statements[] = {
    {"if", parse_if},
    {"for", parse_for},
    {"set", parse_set},
    {"macro", jinja_define_macro},
    {"call", jinja_define_call_block},
    {"filter", parse_filtered},
    {"with", parse_with},
    {"break", parse_break},
    {"continue", parse_continue},
    {"print", parse_print_tag},
    {"generation", parse_generation},
};

static struct jinja_node *parse_statement(struct jinja_parser *p)
{
    struct jinja_token t = p->token;
    if (t.kind != JINJA_T_NAME)
        return jinja_parser_unexpected(p, "a tag's name");
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        if (!jinja_parser_is_name(p, statements[i].name))
            continue;
        if (!jinja_parser_enter(p))
            return NULL;
        jinja_parser_next(p);
        struct jinja_node *node = statements[i].parse(p, t.at);
        p->depth--;
        return node;
    }
    return jinja_parser_fail(p, t.at, "unknown tag '%.*s'", t.n < 60 ? (int)t.n : 60, t.text);
}

/* Line breaks as \n, the last one left out, as Jinja reads templates. */
static bool copy_text(struct jinja *t, const char *text, size_t n)
{
    char *copy = arena_array(&t->arena, n + 1, 1);
    if (!copy)
        return false;
    size_t n_copy = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_return = text[i] == '\r';
        copy[n_copy++] = is_return ? '\n' : text[i];
        i += is_return && i + 1 < n && text[i + 1] == '\n';
    }
    t->text = copy;
    t->n = n_copy - (n_copy > 0 && copy[n_copy - 1] == '\n');
    return true;
}

static int parse(struct jinja *t, struct why *why)
{
    struct jinja_parser p = {.template = t, .why = why};
    jinja_lex_init(&p.lex, t->text, t->n, &t->arena);
    jinja_parser_next(&p);
    struct jinja_node *root = jinja_parser_node1(&p, JINJA_SCOPE, 0, parse_block(&p, NULL));
    if (!p.error)
        jinja_scope_resolve(&p, root);
    t->root = root;
    free(p.stack);
    free(p.names);
    return p.error;
}

int jinja_parse(struct jinja **ret_template, const char *text, size_t n, struct why *why)
{
    if (n > JINJA_MAX_TEMPLATE)
        return why_set(why, EX_DATAERR, "a template of %zu bytes, more than %d", n, JINJA_MAX_TEMPLATE);
    size_t valid = utf8_check(text, n);
    if (valid != n)
        return why_set(why, EX_DATAERR, "the template is no UTF-8 at its byte %zu", valid);
    struct jinja *t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    int r = copy_text(t, text, n) ? parse(t, why) : -ENOMEM;
    if (r) {
        jinja_free(t);
        return r;
    }
    *ret_template = t;
    return 0;
}

struct jinja *jinja_free(struct jinja *t)
{
    if (t) {
        arena_deinit(&t->arena);
        free(t);
    }
    return NULL;
}
