/* Where each variable of a template lives: see jinja_scope.h.
 *
 * Jinja decides that when it compiles, and templates feel it: a scope (a loop's body, a macro, a block) is
 * first looked through for names, not into the scopes inside it. A name that is stored there is the scope's
 * own, and begins as the variable of an outer scope that has it, else undefined (else what the host gave,
 * where the first store is inside an if). A name that is only read is the nearest outer scope's that has it,
 * else what the host gave when this scope was entered. Then the scopes inside follow. */
#include "config.h"
#include "src/text/jinja_scope.h"

#include "src/text/jinja_filter.h"
#include "src/text/jinja_string.h"
#include "src/text/jinja_test.h"

/* What has variables of its own at run time. */
struct function {
    uint32_t depth, n_slot;
};

struct jinja_symbol {
    struct jinja_symbol *shadowed; /* what the name means outside */
    struct jinja_symbol *next;     /* of the scope */
    struct jinja_name *name;
    struct scope *scope;
    struct jinja_load load;
};

struct scope {
    struct function *function;
    struct jinja_symbol *symbols;
    uint32_t n_load;
};

static struct jinja_symbol *declare(struct jinja_parser *p, struct scope *s, struct jinja_name *name,
                                    enum jinja_load_kind kind)
{
    struct jinja_symbol *symbol = arena_array(&p->template->arena, 1, sizeof *symbol);
    if (!symbol) {
        jinja_parser_fail(p, 0, "out of memory");
        return NULL;
    }
    *symbol = (struct jinja_symbol){.shadowed = name->symbol, .next = s->symbols, .name = name, .scope = s};
    symbol->load = (struct jinja_load){.kind = kind, .slot = s->function->n_slot++, .name = name};
    if (kind == JINJA_LOAD_OUTER) {
        const struct jinja_symbol *outer = name->symbol;
        symbol->load.outer_hops = s->function->depth - outer->scope->function->depth;
        symbol->load.outer_slot = outer->load.slot;
    }
    s->symbols = symbol;
    s->n_load++;
    name->symbol = symbol;
    return symbol;
}

static bool is_own(const struct scope *s, const struct jinja_name *name)
{
    return name->symbol && name->symbol->scope == s;
}

static void store(struct jinja_parser *p, struct scope *s, struct jinja_name *name, bool in_branch)
{
    if (!is_own(s, name))
        declare(p, s, name,
                name->symbol ? JINJA_LOAD_OUTER
                : in_branch  ? JINJA_LOAD_GIVEN
                             : JINJA_LOAD_NOTHING);
}

static void load(struct jinja_parser *p, struct scope *s, struct jinja_name *name)
{
    if (!name->symbol)
        declare(p, s, name, JINJA_LOAD_GIVEN);
}

/* ---- the first look: which names are in a scope ---- */

static void look(struct jinja_parser *p, struct scope *s, const struct jinja_node *node, bool in_branch);

static void look_kids(struct jinja_parser *p, struct scope *s, const struct jinja_node *node, bool in_branch)
{
    for (size_t i = 0; i < node->n_kid; i++)
        look(p, s, node->kids[i], in_branch);
}

static void look(struct jinja_parser *p, struct scope *s, const struct jinja_node *node, bool in_branch)
{
    if (!node || p->error)
        return;
    switch (node->type) {
    case JINJA_NAME:
        if (node->op == JINJA_STORE)
            store(p, s, node->name, in_branch);
        else if (node->op == JINJA_LOAD)
            load(p, s, node->name);
        else if (!is_own(s, node->name))
            declare(p, s, node->name, JINJA_LOAD_NOTHING);
        break;
    case JINJA_NS_NAME:
        load(p, s, node->name);
        break;
    case JINJA_SCOPE: /* another one's */
        break;
    case JINJA_IF:
        look(p, s, node->kids[0], in_branch);
        for (size_t i = 1; i < node->n_kid; i++)
            look(p, s, node->kids[i], true);
        break;
    case JINJA_FOR:
        look(p, s, node->kids[JINJA_FOR_ITER], in_branch);
        break;
    case JINJA_ASSIGN:
        look(p, s, node->kids[1], in_branch);
        look(p, s, node->kids[0], in_branch);
        break;
    case JINJA_SET_BLOCK:
        look(p, s, node->kids[0], in_branch);
        break;
    case JINJA_WITH:
        for (size_t i = 2; i < node->n_kid; i += 2)
            look(p, s, node->kids[i], in_branch);
        break;
    case JINJA_DEFINE:
        look(p, s, node->kids[JINJA_DEFINE_TARGET], in_branch);
        break;
    case JINJA_CALL_BLOCK:
        look(p, s, node->kids[1], in_branch);
        break;
    default:
        look_kids(p, s, node, in_branch);
        break;
    }
}

/* ---- the second: each name's place, and the scopes inside ---- */

static void bind(struct jinja_parser *p, struct scope *s, struct jinja_node *node, bool soft);

static void bind_name(struct jinja_parser *p, struct scope *s, struct jinja_node *node)
{
    load(p, s,
         node->name); /* for names where the first look does not look: arguments of a set block's filter */
    const struct jinja_symbol *symbol = node->name->symbol;
    if (!symbol)
        return;
    node->hops = s->function->depth - symbol->scope->function->depth;
    node->slot = symbol->load.slot;
}

static void open_scope(struct scope *s, struct function *function)
{
    *s = (struct scope){.function = function};
}

/* Writes the loads into the node; the names mean what they meant outside again. */
static void close_scope(struct jinja_parser *p, struct scope *s, struct jinja_node *node)
{
    node->loads = arena_array(&p->template->arena, s->n_load, sizeof *node->loads);
    if (!node->loads)
        jinja_parser_fail(p, node->at, "out of memory");
    for (struct jinja_symbol *symbol = s->symbols; symbol; symbol = symbol->next) {
        if (node->loads)
            node->loads[node->n_load++] = symbol->load;
        symbol->name->symbol = symbol->shadowed;
    }
}

/* A scope: its parameters (kids behind the block) first. */
static void bind_scope(struct jinja_parser *p, struct function *function, struct jinja_node *node)
{
    struct scope s;
    if (!node || p->error)
        return;
    open_scope(&s, function);
    for (size_t i = node->n_kid; i-- > 0;)
        look(p, &s, node->kids[i], false);
    for (size_t i = 0; i < node->n_kid; i++)
        bind(p, &s, node->kids[i], false);
    close_scope(p, &s, node);
}

static void bind_for(struct jinja_parser *p, struct scope *s, struct jinja_node *node, bool soft)
{
    struct function own = {s->function->depth + 1, 0};
    struct function *function = node->flag ? &own : s->function;
    bind(p, s, node->kids[JINJA_FOR_ITER], soft);
    bind_scope(p, function, node->kids[JINJA_FOR_TEST]);
    bind_scope(p, function, node->kids[JINJA_FOR_BODY]);
    bind_scope(p, function, node->kids[JINJA_FOR_ELSE]);
    node->n_slot = own.n_slot;
}

static void bind_with(struct jinja_parser *p, struct scope *s, struct jinja_node *node, bool soft)
{
    struct scope inner;
    struct jinja_node *scope = node->kids[0];
    for (size_t i = 2; i < node->n_kid; i += 2)
        bind(p, s, node->kids[i], soft);
    open_scope(&inner, s->function);
    for (size_t i = 1; i < node->n_kid; i += 2)
        look(p, &inner, node->kids[i], false);
    look_kids(p, &inner, scope, false);
    for (size_t i = 1; i < node->n_kid; i += 2)
        bind(p, &inner, node->kids[i], false);
    bind(p, &inner, scope->kids[0], false);
    close_scope(p, &inner, scope);
}

static void bind_define(struct jinja_parser *p, struct scope *s, struct jinja_node *node)
{
    struct function own = {s->function->depth + 1, 0};
    struct scope inner;
    struct jinja_node *scope = node->kids[JINJA_DEFINE_SCOPE];
    bind(p, s, node->kids[JINJA_DEFINE_TARGET], false);
    open_scope(&inner, &own);
    for (size_t i = JINJA_DEFINE_CALLER; i < node->n_kid; i++)
        look(p, &inner, node->kids[i], false);
    look_kids(p, &inner, scope, false);
    for (size_t i = JINJA_DEFINE_CALLER; i < node->n_kid; i++)
        bind(p, &inner, node->kids[i], false);
    bind(p, &inner, scope->kids[0], false);
    close_scope(p, &inner, scope);
    node->n_slot = own.n_slot;
}

/* Of the scope that is captured, and of a filter that sees its variables. */
static void bind_captured(struct jinja_parser *p, struct scope *s, struct jinja_node *node,
                          struct jinja_node *filter, bool filter_first)
{
    struct scope inner;
    open_scope(&inner, s->function);
    look_kids(p, &inner, node, false);
    if (filter_first)
        look(p, &inner, filter, false);
    bind(p, &inner, node->kids[0], false);
    bind(p, &inner, filter, false);
    close_scope(p, &inner, node);
}

/* An unknown filter or test is an error at once, unless a condition may keep it from being called. */
static void check_known(struct jinja_parser *p, const struct jinja_node *node, bool soft)
{
    bool is_filter = node->type == JINJA_FILTER;
    const struct jinja_string *name = node->constant.string;
    if (!soft && !(is_filter ? jinja_filter_find(name) : jinja_test_find(name)))
        jinja_parser_fail(p, node->at, "No %s named '%.*s'.", is_filter ? "filter" : "test",
                          name->n < 60 ? (int)name->n : 60, name->text);
}

static void bind(struct jinja_parser *p, struct scope *s, struct jinja_node *node, bool soft)
{
    if (!node || p->error)
        return;
    switch (node->type) {
    case JINJA_NAME:
    case JINJA_NS_NAME:
        bind_name(p, s, node);
        return;
    case JINJA_FOR:
        bind_for(p, s, node, soft);
        return;
    case JINJA_WITH:
        bind_with(p, s, node, soft);
        return;
    case JINJA_DEFINE:
        bind_define(p, s, node);
        return;
    case JINJA_SET_BLOCK:
        bind(p, s, node->kids[0], soft);
        bind_captured(p, s, node->kids[1], node->kids[2], false);
        return;
    case JINJA_FILTERED:
        bind_captured(p, s, node->kids[0], node->kids[1], true);
        return;
    case JINJA_FILTER:
    case JINJA_TEST:
        check_known(p, node, soft);
        break;
    case JINJA_IF:
    case JINJA_CHOOSE:
        soft = true;
        break;
    default:
        break;
    }
    for (size_t i = 0; i < node->n_kid; i++)
        bind(p, s, node->kids[i], soft);
}

void jinja_scope_resolve(struct jinja_parser *p, struct jinja_node *root)
{
    struct function function = {0, 0};
    bind_scope(p, &function, root);
    p->template->n_slot = function.n_slot;
}
