/* Executing statements, and rendering as a whole: see jinja_exec.h and jinja.h. */
#include "config.h"
#include "src/text/jinja_exec.h"

#include <string.h>

#include "src/text/jinja_eval.h"
#include "src/text/jinja_global.h"
#include "src/text/jinja_macro.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_string.h"

static void exec(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node);

static bool goes_on(const struct jinja_run *run)
{
    return !run->code && run->signal == JINJA_GO_ON;
}

/* ---- scopes ---- */

static struct jinja_value given(struct jinja_run *run, const struct jinja_name *name)
{
    struct jinja_value v = jinja_value_get(run, run->variables, name->text);
    return jinja_value_is_missing(v) ? jinja_global_find(name->text.string) : v;
}

void jinja_exec_enter(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *scope)
{
    jinja_run_step(run, scope->n_load);
    for (size_t i = 0; i < scope->n_load && !run->code; i++) {
        const struct jinja_load *load = &scope->loads[i];
        f->slots[load->slot] = load->kind == JINJA_LOAD_GIVEN ? given(run, load->name)
                               : load->kind == JINJA_LOAD_OUTER
                                   ? *jinja_eval_slot(f, load->outer_hops, load->outer_slot)
                                   : jinja_value_missing();
    }
}

static void leave_scope(struct jinja_frame *f, const struct jinja_node *scope)
{
    for (size_t i = 0; i < scope->n_load; i++)
        f->slots[scope->loads[i].slot] = jinja_value_missing();
}

struct jinja_frame *jinja_exec_frame(struct jinja_run *run, struct jinja_frame *parent, uint32_t n_slot)
{
    struct jinja_frame *f = jinja_run_alloc(run, 1, sizeof *f + n_slot * sizeof(struct jinja_value));
    if (f)
        f->parent = parent;
    return f;
}

struct jinja_value jinja_exec_capture(struct jinja_run *run, struct jinja_frame *f,
                                      const struct jinja_node *block)
{
    struct jinja_builder b = jinja_string_build(run), *outer = run->out;
    run->out = &b;
    exec(run, f, block);
    run->out = outer;
    return jinja_string_done(&b);
}

/* What a block's filter or call gives is written as it is, so it has to be a string. */
static void write_text(struct jinja_run *run, struct jinja_value text)
{
    if (text.kind == JINJA_STRING)
        jinja_string_add_all(run->out, text.string);
    else
        jinja_run_fail(run, "a block gives a str, not %s", jinja_value_type(text));
}

/* ---- assignment ---- */

static void assign(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *target,
                   struct jinja_value value);

static void unpack(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *target,
                   struct jinja_value value)
{
    struct jinja_iter it = jinja_iter_over(run, value);
    struct jinja_value items = jinja_value_sequence(run, JINJA_LIST, target->n_kid), item;
    while (items.list->n < target->n_kid && jinja_iter_next(run, &it, &item))
        jinja_value_push(run, items, item);
    if (!run->code && items.list->n < target->n_kid)
        jinja_run_fail(run, "not enough values to unpack (expected %u, got %zu)", target->n_kid,
                       items.list->n);
    if (!run->code && jinja_iter_next(run, &it, &item))
        jinja_run_fail(run, "too many values to unpack (expected %u)", target->n_kid);
    for (size_t i = 0; i < target->n_kid && !run->code; i++)
        assign(run, f, target->kids[i], items.list->items[i]);
}

static void assign(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *target,
                   struct jinja_value value)
{
    if (run->code)
        return;
    run->at = target->at;
    if (target->type == JINJA_NAME) {
        *jinja_eval_slot(f, target->hops, target->slot) = value;
    } else if (target->type == JINJA_TUPLE_OF) {
        unpack(run, f, target, value);
    } else {
        struct jinja_value space = *jinja_eval_slot(f, target->hops, target->slot);
        if (space.kind == JINJA_NAMESPACE)
            jinja_global_set_in_namespace(run, space, target->constant, value);
        else
            jinja_run_fail(run, "cannot assign attribute on non-namespace object");
    }
}

/* Before the value is evaluated, as Jinja does. */
static void check_namespaces(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *target)
{
    if (target->type == JINJA_NS_NAME &&
        jinja_eval_slot(f, target->hops, target->slot)->kind != JINJA_NAMESPACE) {
        run->at = target->at;
        jinja_run_fail(run, "cannot assign attribute on non-namespace object");
    }
    for (size_t i = 0; i < target->n_kid; i++)
        check_namespaces(run, f, target->kids[i]);
}

static void exec_assign(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    check_namespaces(run, f, node->kids[0]);
    assign(run, f, node->kids[0], jinja_eval_expression(run, f, node->kids[1]));
}

/* The filters of a block, the innermost of which gets what was captured. */
static struct jinja_value filter_captured(struct jinja_run *run, struct jinja_frame *f,
                                          const struct jinja_node *filter, struct jinja_value text)
{
    if (!filter || !jinja_run_enter(run))
        return text;
    text = jinja_eval_filter(run, f, filter, filter_captured(run, f, filter->kids[0], text));
    jinja_run_leave(run);
    return text;
}

static struct jinja_value capture_filtered(struct jinja_run *run, struct jinja_frame *f,
                                           const struct jinja_node *scope, const struct jinja_node *filter)
{
    jinja_exec_enter(run, f, scope);
    struct jinja_value text = jinja_exec_capture(run, f, scope->kids[0]);
    if (goes_on(run))
        text = filter_captured(run, f, filter, text);
    leave_scope(f, scope);
    return text;
}

static void exec_set_block(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    struct jinja_value text = capture_filtered(run, f, node->kids[1], node->kids[2]);
    if (goes_on(run))
        assign(run, f, node->kids[0], text);
}

static void exec_filtered(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    struct jinja_value text = capture_filtered(run, f, node->kids[0], node->kids[1]);
    if (goes_on(run))
        write_text(run, text);
}

static void exec_with(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    const struct jinja_node *scope = node->kids[0];
    jinja_exec_enter(run, f, scope);
    for (size_t i = 1; i + 1 < node->n_kid && !run->code; i += 2)
        assign(run, f, node->kids[i], jinja_eval_expression(run, f, node->kids[i + 1]));
    exec(run, f, scope->kids[0]);
    leave_scope(f, scope);
}

/* ---- loops ---- */

static bool next_selected(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item)
{
    const struct jinja_node *scope = g->node;
    while (jinja_iter_next(run, &g->source, ret_item)) {
        assign(run, g->frame, scope->kids[JINJA_SCOPE_TARGET], *ret_item);
        if (jinja_value_is_true(run, jinja_eval_expression(run, g->frame, scope->kids[JINJA_SCOPE_BLOCK])))
            return !run->code;
    }
    return false;
}

static void run_loop(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node,
                     struct jinja_loop *loop)
{
    const struct jinja_node *body = node->kids[JINJA_FOR_BODY], *otherwise = node->kids[JINJA_FOR_ELSE];
    const struct jinja_node *loop_name = body->kids[JINJA_SCOPE_LOOP];
    struct jinja_value item, loop_value = {.kind = JINJA_LOOP, .loop = loop};
    bool none_finished = true;
    while (jinja_iter_loop_next(run, loop, &item)) {
        jinja_exec_enter(run, f, body);
        *jinja_eval_slot(f, loop_name->hops, loop_name->slot) = loop_value;
        assign(run, f, body->kids[JINJA_SCOPE_TARGET], item);
        exec(run, f, body->kids[JINJA_SCOPE_BLOCK]);
        bool left = run->signal == JINJA_BREAK;
        none_finished &= run->signal != JINJA_GO_ON;
        run->signal = JINJA_GO_ON;
        if (left)
            break;
    }
    leave_scope(f, body);
    if (none_finished && otherwise && !run->code) {
        jinja_exec_enter(run, f, otherwise);
        exec(run, f, otherwise->kids[JINJA_SCOPE_BLOCK]);
        leave_scope(f, otherwise);
    }
}

/* Goes through a loop in the frame of the function that it belongs to. `outer` is the frame around a
 * recursive one. */
static void start_loop(struct jinja_run *run, struct jinja_frame *f, struct jinja_frame *outer,
                       const struct jinja_node *node, struct jinja_value iterable, int64_t depth0)
{
    const struct jinja_node *test = node->kids[JINJA_FOR_TEST];
    struct jinja_loop *loop = jinja_run_alloc(run, 1, sizeof *loop);
    if (!loop || !f)
        return;
    if (test) {
        jinja_exec_enter(run, f, test);
        iterable = jinja_iter_generator(
            run,
            (struct jinja_generator){
                .next = next_selected, .source = jinja_iter_over(run, iterable), .node = test, .frame = f});
    }
    *loop = (struct jinja_loop){.iterable = iterable,
                                .iter = jinja_iter_over(run, iterable),
                                .index0 = -1,
                                .length = -1,
                                .depth0 = depth0,
                                .frame = outer};
    loop->node = node->flag ? node : NULL;
    run_loop(run, f, node, loop);
}

static void exec_for(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    struct jinja_value iterable = jinja_eval_expression(run, f, node->kids[JINJA_FOR_ITER]);
    if (!run->code)
        start_loop(run, node->flag ? jinja_exec_frame(run, f, node->n_slot) : f, f, node, iterable, 0);
}

struct jinja_value jinja_exec_loop(struct jinja_run *run, const struct jinja_loop *loop,
                                   struct jinja_value iterable)
{
    if (!loop->node)
        return jinja_run_fail(run, "The loop must have the 'recursive' marker to be called recursively.");
    if (!jinja_run_enter(run))
        return jinja_value_none();
    struct jinja_builder b = jinja_string_build(run), *out = run->out;
    run->out = &b;
    start_loop(run, jinja_exec_frame(run, loop->frame, loop->node->n_slot), loop->frame, loop->node, iterable,
               loop->depth0 + 1);
    run->out = out;
    jinja_run_leave(run);
    return jinja_string_done(&b);
}

/* ---- statements ---- */

static void exec_define(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    assign(run, f, node->kids[JINJA_DEFINE_TARGET], jinja_macro_make(run, f, node));
}

static void exec_call_block(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    const struct jinja_node *call = node->kids[1];
    struct jinja_value caller = jinja_macro_make(run, f, node->kids[0]);
    struct jinja_value callee = jinja_eval_expression(run, f, call->kids[0]);
    struct jinja_args args = jinja_eval_arguments(run, f, call, 1, caller);
    run->at = run->code ? run->at : call->at;
    if (!run->code)
        write_text(run, jinja_call_value(run, callee, &args));
}

static void exec_block(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    for (size_t i = 0; i < node->n_kid && goes_on(run); i++)
        exec(run, f, node->kids[i]);
}

static void exec_data(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    (void)f;
    jinja_string_add_all(run->out, node->constant.string);
}

static void exec_print(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    for (size_t i = 0; i < node->n_kid && !run->code; i++)
        jinja_repr_add_text(run->out, jinja_eval_expression(run, f, node->kids[i]));
}

static void exec_if(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    size_t i = 0;
    for (; i + 1 < node->n_kid && !run->code; i += 2)
        if (jinja_value_is_true(run, jinja_eval_expression(run, f, node->kids[i]))) {
            exec(run, f, node->kids[i + 1]);
            return;
        }
    if (i < node->n_kid && !run->code)
        exec(run, f, node->kids[i]);
}

static void exec_leave(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    (void)f;
    run->signal = node->flag ? JINJA_BREAK : JINJA_CONTINUE;
}

static void exec_scope(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    jinja_exec_enter(run, f, node);
    exec(run, f, node->kids[JINJA_SCOPE_BLOCK]);
    leave_scope(f, node);
}

static void exec(struct jinja_run *run, struct jinja_frame *f, const struct jinja_node *node)
{
    typedef void exec_fn(struct jinja_run * run, struct jinja_frame * f, const struct jinja_node *node);
    static exec_fn *const table[] = {
        [JINJA_BLOCK] = exec_block,
        [JINJA_DATA] = exec_data,
        [JINJA_PRINT] = exec_print,
        [JINJA_IF] = exec_if,
        [JINJA_FOR] = exec_for,
        [JINJA_ASSIGN] = exec_assign,
        [JINJA_SET_BLOCK] = exec_set_block,
        [JINJA_FILTERED] = exec_filtered,
        [JINJA_WITH] = exec_with,
        [JINJA_DEFINE] = exec_define,
        [JINJA_CALL_BLOCK] = exec_call_block,
        [JINJA_LEAVE] = exec_leave,
        [JINJA_SCOPE] = exec_scope,
    };
    if (!jinja_run_step(run, 1) || !jinja_run_enter(run))
        return;
    run->at = node->at;
    table[node->type](run, f, node);
    jinja_run_leave(run);
}

/* ---- rendering ---- */

/* Ranges of the bytes that are input. */
static void find_inputs(struct jinja_run *run, const struct jinja_string *s, struct jinja_text *text)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n && s->marks; i++)
        n += s->marks[i] == JINJA_INPUT && (i == 0 || s->marks[i - 1] != JINJA_INPUT);
    n += !s->marks && s->n && s->origin == JINJA_INPUT;
    struct jinja_range *ranges = jinja_run_alloc(run, n, sizeof *ranges);
    if (!ranges)
        return;
    text->inputs = ranges;
    if (!s->marks && n)
        ranges[text->n_input++] = (struct jinja_range){0, s->n};
    for (size_t i = 0; i < s->n && s->marks; i++) {
        if (s->marks[i] != JINJA_INPUT)
            continue;
        if (i == 0 || s->marks[i - 1] != JINJA_INPUT)
            ranges[text->n_input++] = (struct jinja_range){i, 0};
        ranges[text->n_input - 1].n++;
    }
}

int jinja_render(struct jinja_run *run, const struct jinja *t, struct jinja_text *ret_text, struct why *why)
{
    struct jinja_builder out = jinja_string_build(run);
    struct jinja_text text = {0};
    run->at = 0;
    run->depth = 0;
    run->signal = JINJA_GO_ON;
    out.max = run->limits.output;
    run->out = &out;
    struct jinja_frame *f = jinja_exec_frame(run, NULL, t->n_slot);
    if (f)
        exec(run, f, t->root);
    const struct jinja_string *s = jinja_string_done(&out).string;
    run->out = NULL;
    find_inputs(run, s, &text);
    text.text = s->text;
    text.n = s->n;
    if (!run->code) {
        *ret_text = text;
        return 0;
    }
    size_t line, column;
    jinja_parse_place(t, run->at, &line, &column);
    return why_set(why, run->code, "line %zu column %zu: %s", line, column, run->message);
}
