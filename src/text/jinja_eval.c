/* Evaluating expressions: see jinja_eval.h. */
#include "config.h"
#include "src/text/jinja_eval.h"

#include "src/text/jinja_filter.h"
#include "src/text/jinja_get.h"
#include "src/text/jinja_global.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_math.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_string.h"
#include "src/text/jinja_test.h"

typedef struct jinja_value value_fn(struct jinja_run *run, struct jinja_frame *f,
                                    const struct jinja_node *node);

struct jinja_value *jinja_eval_slot(struct jinja_frame *f, uint32_t hops, uint32_t slot)
{
    while (hops-- > 0)
        f = f->parent;
    return &f->slots[slot];
}

static struct jinja_value eval(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    return jinja_eval_expression(run, f, node);
}

static struct jinja_value eval_const(struct jinja_run *run, struct jinja_frame *f,
                                     const struct jinja_node *node)
{
    (void)run, (void)f;
    return node->constant;
}

static struct jinja_value eval_name(struct jinja_run *run, struct jinja_frame *f,
                                    const struct jinja_node *node)
{
    struct jinja_value v = *jinja_eval_slot(f, node->hops, node->slot);
    return jinja_value_is_missing(v) ? jinja_value_undefined_name(run, node->name->text) : v;
}

static struct jinja_value eval_items(struct jinja_run *run, struct jinja_frame *f,
                                     const struct jinja_node *node)
{
    struct jinja_value list =
        jinja_value_sequence(run, node->type == JINJA_LIST_OF ? JINJA_LIST : JINJA_TUPLE, node->n_kid);
    for (size_t i = 0; i < node->n_kid && !run->code; i++)
        jinja_value_push(run, list, eval(run, f, node->kids[i]));
    return list;
}

static struct jinja_value eval_dict(struct jinja_run *run, struct jinja_frame *f,
                                    const struct jinja_node *node)
{
    struct jinja_value dict = jinja_value_dict(run);
    for (size_t i = 0; i + 1 < node->n_kid && !run->code; i += 2) {
        struct jinja_value key = eval(run, f, node->kids[i]);
        jinja_value_set(run, dict, key, eval(run, f, node->kids[i + 1]));
    }
    return dict;
}

static struct jinja_value eval_operate(struct jinja_run *run, struct jinja_frame *f,
                                       const struct jinja_node *node)
{
    struct jinja_value a = eval(run, f, node->kids[0]), b = eval(run, f, node->kids[1]);
    run->at = run->code ? run->at : node->at;
    return run->code ? jinja_value_none() : jinja_math_apply(run, node->op, a, b);
}

static struct jinja_value eval_sign(struct jinja_run *run, struct jinja_frame *f,
                                    const struct jinja_node *node)
{
    struct jinja_value v = eval(run, f, node->kids[0]);
    return node->type == JINJA_NEGATE ? jinja_math_negate(run, v) : jinja_math_plus(run, v);
}

static struct jinja_value eval_not(struct jinja_run *run, struct jinja_frame *f,
                                   const struct jinja_node *node)
{
    return jinja_value_bool(!jinja_value_is_true(run, eval(run, f, node->kids[0])));
}

static struct jinja_value eval_logic(struct jinja_run *run, struct jinja_frame *f,
                                     const struct jinja_node *node)
{
    struct jinja_value a = eval(run, f, node->kids[0]);
    bool decided = jinja_value_is_true(run, a) == (node->type == JINJA_OR);
    return decided ? a : eval(run, f, node->kids[1]);
}

static struct jinja_value eval_concat(struct jinja_run *run, struct jinja_frame *f,
                                      const struct jinja_node *node)
{
    struct jinja_builder b = jinja_string_build(run);
    for (size_t i = 0; i < node->n_kid && !run->code; i++)
        jinja_repr_add_text(&b, eval(run, f, node->kids[i]));
    return jinja_string_done(&b);
}

static bool compare(struct jinja_run *run, enum jinja_comparison op, struct jinja_value a,
                    struct jinja_value b)
{
    switch (op) {
    case JINJA_EQ:
    case JINJA_NE:
        return jinja_value_equals(run, a, b) == (op == JINJA_EQ);
    case JINJA_LT:
        return jinja_math_is_less(run, a, b, false, "<");
    case JINJA_LE:
        return jinja_math_is_less(run, a, b, true, "<=");
    case JINJA_GT:
        return jinja_math_is_less(run, b, a, false, ">");
    case JINJA_GE:
        return jinja_math_is_less(run, b, a, true, ">=");
    default:
        return jinja_math_contains(run, b, a) == (op == JINJA_IN);
    }
}

static struct jinja_value eval_compare(struct jinja_run *run, struct jinja_frame *f,
                                       const struct jinja_node *node)
{
    struct jinja_value left = eval(run, f, node->kids[0]);
    bool holds = true;
    for (size_t i = 1; i < node->n_kid && holds && !run->code; i++) {
        const struct jinja_node *comparison = node->kids[i];
        struct jinja_value right = eval(run, f, comparison->kids[0]);
        run->at = run->code ? run->at : comparison->at;
        holds = compare(run, comparison->op, left, right);
        left = right;
    }
    return jinja_value_bool(holds);
}

static struct jinja_value eval_choose(struct jinja_run *run, struct jinja_frame *f,
                                      const struct jinja_node *node)
{
    if (jinja_value_is_true(run, eval(run, f, node->kids[1])))
        return eval(run, f, node->kids[0]);
    if (node->kids[2])
        return eval(run, f, node->kids[2]);
    return jinja_value_undefined(
        run, "the inline if-expression evaluated to false and no else section was defined.");
}

static struct jinja_value eval_attribute(struct jinja_run *run, struct jinja_frame *f,
                                         const struct jinja_node *node)
{
    struct jinja_value v = eval(run, f, node->kids[0]);
    run->at = run->code ? run->at : node->at;
    return jinja_get_attribute(run, v, node->constant);
}

static struct jinja_value eval_element(struct jinja_run *run, struct jinja_frame *f,
                                       const struct jinja_node *node)
{
    struct jinja_value v = eval(run, f, node->kids[0]), key = eval(run, f, node->kids[1]);
    run->at = run->code ? run->at : node->at;
    return jinja_get_element(run, v, key);
}

static struct jinja_value eval_slice(struct jinja_run *run, struct jinja_frame *f,
                                     const struct jinja_node *node)
{
    struct jinja_value v = eval(run, f, node->kids[0]), bounds[3];
    for (size_t i = 0; i < 3; i++)
        bounds[i] = node->kids[i + 1] ? eval(run, f, node->kids[i + 1]) : jinja_value_missing();
    run->at = run->code ? run->at : node->at;
    return jinja_get_slice(run, v, bounds);
}

/* ---- calls ---- */

static void set_named(struct jinja_run *run, struct jinja_value *named, struct jinja_value key,
                      struct jinja_value value)
{
    if (key.kind != JINJA_STRING) {
        jinja_run_fail(run, "keywords must be strings");
        return;
    }
    if (jinja_value_is_missing(*named))
        *named = jinja_value_dict(run);
    if (!jinja_value_is_missing(jinja_value_get(run, named->dict, key)))
        jinja_run_fail(run, "got multiple values for a keyword argument");
    jinja_value_set(run, *named, key, value);
}

static void add_argument(struct jinja_run *run, const struct jinja_node *node, struct jinja_value value,
                         struct jinja_value list, struct jinja_value *named)
{
    if (node->op == JINJA_ARG_PLAIN) {
        jinja_value_push(run, list, value);
    } else if (node->op == JINJA_ARG_NAMED) {
        set_named(run, named, node->constant, value);
    } else if (node->op == JINJA_ARG_LIST) {
        struct jinja_iter it = jinja_iter_over(run, value);
        struct jinja_value item;
        while (jinja_iter_next(run, &it, &item))
            jinja_value_push(run, list, item);
    } else if (value.kind != JINJA_DICT) {
        jinja_run_fail(run, "argument after ** must be a mapping, not %s", jinja_value_type(value));
    } else {
        for (size_t i = 0; i < value.dict->n && jinja_run_step(run, 1); i++)
            set_named(run, named, value.dict->entries[i].key, value.dict->entries[i].value);
    }
}

struct jinja_args jinja_eval_arguments(struct jinja_run *run, struct jinja_frame *f,
                                       const struct jinja_node *node, size_t first, struct jinja_value caller)
{
    if (node->n_kid == first && jinja_value_is_missing(caller))
        return (struct jinja_args){0};
    struct jinja_value list = jinja_value_sequence(run, JINJA_LIST, node->n_kid - first);
    struct jinja_value named = jinja_value_missing();
    for (size_t i = first; i < node->n_kid && !run->code; i++)
        add_argument(run, node->kids[i], eval(run, f, node->kids[i]->kids[0]), list, &named);
    if (!jinja_value_is_missing(caller))
        set_named(run, &named, jinja_string_literal(run, "caller"), caller);
    return (struct jinja_args){list.list->items, list.list->n,
                               jinja_value_is_missing(named) ? NULL : named.dict};
}

static struct jinja_value eval_call(struct jinja_run *run, struct jinja_frame *f,
                                    const struct jinja_node *node)
{
    struct jinja_value callee = eval(run, f, node->kids[0]);
    struct jinja_args args = jinja_eval_arguments(run, f, node, 1, jinja_value_missing());
    run->at = run->code ? run->at : node->at;
    return run->code ? jinja_value_none() : jinja_call_value(run, callee, &args);
}

struct jinja_value jinja_eval_filter(struct jinja_run *run, struct jinja_frame *f,
                                     const struct jinja_node *node, struct jinja_value value)
{
    struct jinja_args args = jinja_eval_arguments(run, f, node, 1, jinja_value_missing());
    run->at = run->code ? run->at : node->at;
    return jinja_filter_apply(run, node->constant, value, &args);
}

static struct jinja_value eval_filter(struct jinja_run *run, struct jinja_frame *f,
                                      const struct jinja_node *node)
{
    return jinja_eval_filter(run, f, node, eval(run, f, node->kids[0]));
}

static struct jinja_value eval_test(struct jinja_run *run, struct jinja_frame *f,
                                    const struct jinja_node *node)
{
    struct jinja_value v = eval(run, f, node->kids[0]);
    struct jinja_args args = jinja_eval_arguments(run, f, node, 1, jinja_value_missing());
    run->at = run->code ? run->at : node->at;
    return jinja_test_apply(run, node->constant, v, &args);
}

struct jinja_value jinja_eval_expression(struct jinja_run *run, struct jinja_frame *f,
                                         const struct jinja_node *node)
{
    static value_fn *const table[] = {
        [JINJA_CONST] = eval_const,     [JINJA_NAME] = eval_name,     [JINJA_LIST_OF] = eval_items,
        [JINJA_TUPLE_OF] = eval_items,  [JINJA_DICT_OF] = eval_dict,  [JINJA_OPERATE] = eval_operate,
        [JINJA_NEGATE] = eval_sign,     [JINJA_PLUS] = eval_sign,     [JINJA_NOT] = eval_not,
        [JINJA_AND] = eval_logic,       [JINJA_OR] = eval_logic,      [JINJA_CONCAT] = eval_concat,
        [JINJA_COMPARE] = eval_compare, [JINJA_CHOOSE] = eval_choose, [JINJA_ATTRIBUTE] = eval_attribute,
        [JINJA_ELEMENT] = eval_element, [JINJA_SLICE] = eval_slice,   [JINJA_CALL] = eval_call,
        [JINJA_FILTER] = eval_filter,   [JINJA_TEST] = eval_test,
    };
    if (!jinja_run_step(run, 1) || !jinja_run_enter(run))
        return jinja_value_none();
    run->at = node->at;
    struct jinja_value v = table[node->type](run, f, node);
    jinja_run_leave(run);
    return run->code ? jinja_value_none() : v;
}
