/* The parser's state: see jinja_parser.h. */
#include "config.h"
#include "src/text/jinja_parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/text/jinja.h"
#include "src/text/jinja_string.h"

void jinja_parse_place(const struct jinja *t, size_t at, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1, start = 0;
    for (size_t i = 0; i < at && i < t->n; i++)
        if (t->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    *ret_line = line;
    *ret_column = 1 + jinja_string_count(t->text + start, at - start);
}

struct jinja_node *jinja_parser_fail(struct jinja_parser *p, size_t at, const char *format, ...)
{
    if (p->error)
        return NULL;
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t line, column;
    jinja_parse_place(p->template, at, &line, &column);
    p->error = why_set(p->why, EX_DATAERR, "line %zu column %zu: %s", line, column, text);
    return NULL;
}

static void *out_of_memory(struct jinja_parser *p)
{
    if (!p->error)
        p->error = why_set(p->why, -ENOMEM, "out of memory");
    return NULL;
}

static void *take(struct jinja_parser *p, size_t n, size_t size)
{
    if (p->error)
        return NULL;
    void *memory = arena_array(&p->template->arena, n, size);
    return memory ? memory : out_of_memory(p);
}

/* ---- tokens ---- */

static struct jinja_token read_token(struct jinja_parser *p)
{
    struct jinja_token token = jinja_lex_next(&p->lex);
    if (p->lex.error == -ENOMEM)
        out_of_memory(p);
    else if (p->lex.error)
        jinja_parser_fail(p, p->lex.error_at, "%s", p->lex.why.text);
    return token;
}

void jinja_parser_next(struct jinja_parser *p)
{
    p->token = p->has_after ? p->after : read_token(p);
    p->has_after = false;
    if (p->error)
        p->token = (struct jinja_token){.kind = JINJA_T_END, .at = p->token.at};
}

const struct jinja_token *jinja_parser_look(struct jinja_parser *p)
{
    if (!p->has_after) {
        p->after = read_token(p);
        p->has_after = true;
    }
    return &p->after;
}

static bool is_token(const struct jinja_token *t, enum jinja_token_kind kind, const char *text)
{
    return t->kind == kind && t->n == strlen(text) && memcmp(t->text, text, t->n) == 0;
}

bool jinja_parser_is(const struct jinja_parser *p, const char *op)
{
    return is_token(&p->token, JINJA_T_OPERATOR, op);
}

bool jinja_parser_is_name(const struct jinja_parser *p, const char *name)
{
    return is_token(&p->token, JINJA_T_NAME, name);
}

bool jinja_parser_skip(struct jinja_parser *p, const char *op)
{
    bool is = jinja_parser_is(p, op);
    if (is)
        jinja_parser_next(p);
    return is;
}

bool jinja_parser_skip_name(struct jinja_parser *p, const char *name)
{
    bool is = jinja_parser_is_name(p, name);
    if (is)
        jinja_parser_next(p);
    return is;
}

struct jinja_node *jinja_parser_unexpected(struct jinja_parser *p, const char *expected)
{
    static const char *const kinds[] = {
        "end of template",
        "text",
        "begin of print statement",
        "end of print statement",
        "begin of block",
        "end of block",
        "a name",
        "a string",
        "an integer",
        "a float",
        "an operator",
    };
    const struct jinja_token *t = &p->token;
    if (t->kind == JINJA_T_NAME || t->kind == JINJA_T_OPERATOR)
        return jinja_parser_fail(p, t->at, "expected %s, got '%.*s'", expected, t->n < 60 ? (int)t->n : 60,
                                 t->text);
    return jinja_parser_fail(p, t->at, "expected %s, got %s", expected, kinds[t->kind]);
}

bool jinja_parser_expect(struct jinja_parser *p, const char *op)
{
    char quoted[16];
    if (jinja_parser_skip(p, op))
        return true;
    snprintf(quoted, sizeof quoted, "'%s'", op);
    jinja_parser_unexpected(p, quoted);
    return false;
}

bool jinja_parser_enter(struct jinja_parser *p)
{
    if (p->depth >= JINJA_MAX_DEPTH)
        jinja_parser_fail(p, p->token.at, "nested deeper than %d levels", JINJA_MAX_DEPTH);
    if (p->error)
        return false;
    p->depth++;
    return true;
}

/* ---- nodes ---- */

void jinja_parser_push(struct jinja_parser *p, struct jinja_node *kid)
{
    if (p->n_stack == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 256;
        struct jinja_node **stack = mem_resize(p->stack, capacity, sizeof(struct jinja_node *));
        if (!stack) {
            out_of_memory(p);
            return;
        }
        p->stack = stack;
        p->capacity = capacity;
    }
    p->stack[p->n_stack++] = kid;
}

struct jinja_node *jinja_parser_node(struct jinja_parser *p, enum jinja_type type, size_t at, size_t n_stack)
{
    size_t n = p->n_stack > n_stack ? p->n_stack - n_stack : 0;
    p->n_stack = n_stack < p->n_stack ? n_stack : p->n_stack;
    struct jinja_node *node = take(p, 1, sizeof *node);
    struct jinja_node **kids = node && n ? take(p, n, sizeof(struct jinja_node *)) : NULL;
    if (!node || (n && !kids))
        return NULL;
    *node =
        (struct jinja_node){.type = (uint8_t)type, .at = (uint32_t)at, .n_kid = (uint32_t)n, .kids = kids};
    for (size_t i = 0; i < n; i++) {
        kids[i] = p->stack[n_stack + i];
        if (kids[i] && kids[i]->depth > node->depth)
            node->depth = kids[i]->depth;
    }
    node->depth++;
    if (node->depth > JINJA_MAX_DEPTH)
        return jinja_parser_fail(p, at, "nested deeper than %d levels", JINJA_MAX_DEPTH);
    return node;
}

struct jinja_node *jinja_parser_node1(struct jinja_parser *p, enum jinja_type type, size_t at,
                                      struct jinja_node *a)
{
    size_t n_stack = p->n_stack;
    jinja_parser_push(p, a);
    return jinja_parser_node(p, type, at, n_stack);
}

struct jinja_node *jinja_parser_node2(struct jinja_parser *p, enum jinja_type type, size_t at,
                                      struct jinja_node *a, struct jinja_node *b)
{
    size_t n_stack = p->n_stack;
    jinja_parser_push(p, a);
    jinja_parser_push(p, b);
    return jinja_parser_node(p, type, at, n_stack);
}

struct jinja_value jinja_parser_text(struct jinja_parser *p, const char *text, size_t n)
{
    struct jinja_string *s = take(p, 1, sizeof *s);
    if (!s)
        return jinja_value_none();
    *s = (struct jinja_string){.text = text, .n = n, .n_char = jinja_string_count(text, n)};
    return jinja_string_value(s);
}

/* ---- names ---- */

static size_t bucket_of(const char *text, size_t n, size_t n_bucket)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)text[i]) * 16777619u;
    return h & (n_bucket - 1);
}

static bool grow_names(struct jinja_parser *p)
{
    size_t n_bucket = p->n_bucket ? 4 * p->n_bucket : 64;
    struct jinja_name **names = mem_array(n_bucket, sizeof(struct jinja_name *));
    if (!names)
        return out_of_memory(p), false;
    for (size_t i = 0; i < p->n_bucket; i++)
        for (struct jinja_name *name = p->names[i], *next; name; name = next) {
            next = name->next;
            size_t bucket = bucket_of(name->text.string->text, name->text.string->n, n_bucket);
            name->next = names[bucket];
            names[bucket] = name;
        }
    free(p->names);
    p->names = names;
    p->n_bucket = n_bucket;
    return true;
}

struct jinja_name *jinja_parser_name(struct jinja_parser *p, const char *text, size_t n)
{
    if (p->n_name >= p->n_bucket && !grow_names(p))
        return NULL;
    struct jinja_name **bucket = &p->names[bucket_of(text, n, p->n_bucket)];
    for (struct jinja_name *name = *bucket; name; name = name->next)
        if (name->text.string->n == n && memcmp(name->text.string->text, text, n) == 0)
            return name;
    struct jinja_name *name = take(p, 1, sizeof *name);
    struct jinja_value value = jinja_parser_text(p, text, n);
    if (!name || value.kind != JINJA_STRING)
        return NULL;
    *name = (struct jinja_name){.text = value, .next = *bucket};
    *bucket = name;
    p->n_name++;
    return name;
}

struct jinja_node *jinja_parser_variable(struct jinja_parser *p, size_t at, const char *text, size_t n,
                                         enum jinja_context context)
{
    struct jinja_name *name = jinja_parser_name(p, text, n);
    struct jinja_node *node = jinja_parser_node(p, JINJA_NAME, at, p->n_stack);
    if (!node || !name)
        return NULL;
    node->name = name;
    node->op = (uint8_t)context;
    return node;
}
