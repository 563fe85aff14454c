/* Macros: see jinja_macro.h. */
#include "config.h"
#include "src/text/jinja_macro.h"

#include <string.h>

#include "src/text/jinja_eval.h"
#include "src/text/jinja_exec.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_string.h"

struct jinja_value jinja_macro_make(struct jinja_run *run, struct jinja_frame *f,
                                    const struct jinja_node *node)
{
    struct jinja_macro *macro = jinja_run_alloc(run, 1, sizeof *macro);
    if (!macro)
        return jinja_value_none();
    *macro = (struct jinja_macro){node, f, node->name ? node->name->text : jinja_value_missing()};
    return (struct jinja_value){.kind = JINJA_MACRO, .macro = macro};
}

static struct jinja_value *slot_of(struct jinja_frame *f, const struct jinja_node *name)
{
    return jinja_eval_slot(f, name->hops, name->slot);
}

/* Arguments that no parameter took. */
static void bind_rest(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node,
                      const struct jinja_args *args, struct jinja_value rest)
{
    const struct jinja_node *kwargs = node->kids[JINJA_DEFINE_KWARGS],
                            *varargs = node->kids[JINJA_DEFINE_VARARGS];
    if (kwargs)
        *slot_of(f, kwargs) = rest;
    else if (rest.dict->n)
        jinja_run_fail(run, "a macro takes no keyword argument %s",
                       jinja_repr_short(run, rest.dict->entries[0].key));
    if (!varargs && args->n > node->n_param)
        jinja_run_fail(run, "a macro takes not more than %u argument(s)", node->n_param);
    if (!varargs)
        return;
    struct jinja_value list = jinja_value_sequence(run, JINJA_TUPLE, 0);
    for (size_t i = node->n_param; i < args->n; i++)
        jinja_value_push(run, list, args->v[i]);
    *slot_of(f, varargs) = list;
}

static bool is_param(const struct jinja_node *node, const struct jinja_string *name)
{
    for (size_t i = 0; i < node->n_param; i++) {
        const struct jinja_string *param = node->kids[JINJA_DEFINE_PARAMS + i]->name->text.string;
        if (param->n == name->n && memcmp(param->text, name->text, name->n) == 0)
            return true;
    }
    return false;
}

/* Parameters from arguments by place and by name; what is left goes to caller, kwargs and varargs. */
static void bind_arguments(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node,
                           const struct jinja_args *args)
{
    const struct jinja_node *caller = node->kids[JINJA_DEFINE_CALLER];
    struct jinja_value rest = jinja_value_dict(run);
    if (caller)
        *slot_of(f, caller) = jinja_value_undefined(run, "No caller defined");
    for (size_t i = 0; i < node->n_param && i < args->n; i++)
        *slot_of(f, node->kids[JINJA_DEFINE_PARAMS + i]) = args->v[i];
    for (size_t i = args->n; i < node->n_param && args->named; i++) {
        const struct jinja_node *param = node->kids[JINJA_DEFINE_PARAMS + i];
        *slot_of(f, param) = jinja_value_get(run, args->named, param->name->text);
    }
    for (size_t i = 0; args->named && i < args->named->n && jinja_run_step(run, 1 + node->n_param); i++) {
        const struct jinja_entry *e = &args->named->entries[i];
        bool taken = is_param(node, e->key.string) && args->n < node->n_param;
        for (size_t k = 0; taken && k < args->n; k++) /* given by place already: stays, and is one too many */
            taken = node->kids[JINJA_DEFINE_PARAMS + k]->name->text.string->n != e->key.string->n ||
                    memcmp(node->kids[JINJA_DEFINE_PARAMS + k]->name->text.string->text, e->key.string->text,
                           e->key.string->n) != 0;
        if (caller && jinja_string_is(e->key.string, "caller"))
            *slot_of(f, caller) = e->value;
        else if (!taken)
            jinja_value_set(run, rest, e->key, e->value);
    }
    bind_rest(run, f, node, args, rest);
}

static void fill_defaults(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    size_t n_default = node->n_kid - JINJA_DEFINE_PARAMS - node->n_param;
    for (size_t i = 0; i < node->n_param && !run->code; i++) {
        const struct jinja_node *param = node->kids[JINJA_DEFINE_PARAMS + i];
        if (!jinja_value_is_missing(*slot_of(f, param)))
            continue;
        size_t first = node->n_param - n_default;
        struct jinja_value v =
            i >= first
                ? jinja_eval_expression(run, f, node->kids[JINJA_DEFINE_PARAMS + node->n_param + i - first])
                : jinja_value_undefined(run, "a macro's parameter was not provided");
        *slot_of(f, param) = v;
    }
}

struct jinja_value jinja_macro_call(struct jinja_run *run, const struct jinja_macro *macro,
                                    const struct jinja_args *args)
{
    const struct jinja_node *node = macro->node, *scope = node->kids[JINJA_DEFINE_SCOPE];
    struct jinja_frame *f = jinja_exec_frame(run, macro->frame, node->n_slot);
    if (!f || !jinja_run_enter(run))
        return jinja_value_none();
    jinja_exec_enter(run, f, scope);
    bind_arguments(run, f, node, args);
    fill_defaults(run, f, node);
    struct jinja_value text = jinja_exec_capture(run, f, scope->kids[JINJA_SCOPE_BLOCK]);
    jinja_run_leave(run);
    return text;
}
