/* Filters that give their items one by one, when they are asked for: see jinja_filter.h. */
#include "config.h"
#include "src/text/jinja_filter.h"

#include "src/text/jinja_get.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_run.h"
#include "src/text/jinja_test.h"

#define FILTER(name)                                                                     \
    static struct jinja_value filter_##name(struct jinja_run *run, struct jinja_value v, \
                                            const struct jinja_args *args)

/* Arguments that a generator keeps, since the caller's end with the call. */
static const struct jinja_args *keep(struct jinja_run *run, const struct jinja_args *args)
{
    struct jinja_args *kept = jinja_run_alloc(run, 1, sizeof *kept);
    struct jinja_value *v = jinja_run_alloc(run, args->n, sizeof *v);
    static const struct jinja_args none;
    if (!kept || !v)
        return &none;
    for (size_t i = 0; i < args->n; i++)
        v[i] = args->v[i];
    *kept = (struct jinja_args){v, args->n, args->named};
    return kept;
}

/* ---- from one sequence ---- */

static bool next_item(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item)
{
    if (!g->has_begun) {
        g->has_begun = true;
        if (g->a.kind == JINJA_UNDEFINED)
            return false;
        if (g->a.kind != JINJA_DICT) {
            jinja_run_fail(run, "Can only get item pairs from a mapping.");
            return false;
        }
        struct jinja_view *view = jinja_run_alloc(run, 1, sizeof *view);
        if (!view)
            return false;
        *view = (struct jinja_view){g->a.dict, JINJA_ITEMS};
        g->source = jinja_iter_over(run, (struct jinja_value){.kind = JINJA_VIEW, .view = view});
    }
    return jinja_iter_next(run, &g->source, ret_item);
}

FILTER(items)
{
    (void)args;
    return jinja_iter_generator(run, (struct jinja_generator){.next = next_item, .a = v});
}

static bool next_unique(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item)
{
    if (!g->has_begun)
        g->source = jinja_iter_over(run, g->a);
    if (!g->has_begun)
        g->b = jinja_value_dict(run);
    g->has_begun = true;
    while (jinja_iter_next(run, &g->source, ret_item)) {
        struct jinja_value key =
            jinja_filter_seq_key(run, *ret_item, g->args->v[1], jinja_call_flag(run, g->args->v[0], false));
        if (jinja_value_is_missing(jinja_value_get(run, g->b.dict, key))) {
            jinja_value_set(run, g->b, key, jinja_value_none());
            return !run->code;
        }
    }
    return false;
}

FILTER(unique)
{
    return jinja_iter_generator(
        run, (struct jinja_generator){.next = next_unique, .a = v, .args = keep(run, args)});
}

static bool next_batch(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item)
{
    int64_t size = jinja_call_whole(run, g->args->v[0], 0);
    struct jinja_value fill = g->args->v[1], item;
    if (!g->has_begun)
        g->source = jinja_iter_over(run, g->a);
    struct jinja_value batch = jinja_value_list(run);
    /* An item that began the next batch was read already. */
    if (g->has_begun && !jinja_value_is_missing(g->b))
        jinja_value_push(run, batch, g->b);
    g->has_begun = true;
    g->b = jinja_value_missing();
    while (jinja_iter_next(run, &g->source, &item)) {
        if ((int64_t)batch.list->n == size) {
            g->b = item;
            *ret_item = batch;
            return true;
        }
        jinja_value_push(run, batch, item);
    }
    if (batch.list->n == 0 || run->code)
        return false;
    while (fill.kind != JINJA_MISSING && fill.kind != JINJA_NONE && (int64_t)batch.list->n < size &&
           jinja_run_step(run, 1))
        jinja_value_push(run, batch, fill);
    *ret_item = batch;
    return true;
}

FILTER(batch)
{
    return jinja_iter_generator(
        run, (struct jinja_generator){.next = next_batch, .a = v, .args = keep(run, args)});
}

static bool next_slice(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item)
{
    int64_t slices = jinja_call_whole(run, g->args->v[0], 0);
    struct jinja_value fill = g->args->v[1];
    if (!g->has_begun)
        g->a = jinja_iter_list(run, g->a);
    g->has_begun = true;
    if (slices == 0)
        jinja_run_fail(run, "integer division or modulo by zero");
    if (run->code || g->i >= slices)
        return false;
    int64_t n = (int64_t)g->a.list->n, each = n / slices, extra = n % slices;
    int64_t start = g->i * each + (g->i < extra ? g->i : extra), size = each + (g->i < extra);
    struct jinja_value slice = jinja_value_list(run);
    for (int64_t i = start; i < start + size && jinja_run_step(run, 1); i++)
        jinja_value_push(run, slice, g->a.list->items[i]);
    if (fill.kind != JINJA_MISSING && fill.kind != JINJA_NONE && g->i >= extra)
        jinja_value_push(run, slice, fill);
    g->i++;
    *ret_item = slice;
    return true;
}

FILTER(slice)
{
    return jinja_iter_generator(
        run, (struct jinja_generator){.next = next_slice, .a = v, .args = keep(run, args)});
}

/* ---- map and select ---- */

enum { REJECT = 1, BY_ATTRIBUTE = 2 };

/* Nothing comes of what is false; the first call finds out. */
static bool begin(struct jinja_run *run, struct jinja_generator *g)
{
    if (g->has_begun)
        return true;
    g->has_begun = true;
    if (!jinja_value_is_true(run, g->a))
        return false;
    g->source = jinja_iter_over(run, g->a);
    return !run->code;
}

static struct jinja_value named(struct jinja_run *run, const struct jinja_args *args, const char *name)
{
    return args->named ? jinja_value_get_text(run, args->named, name) : jinja_value_missing();
}

static bool next_mapped(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item)
{
    const struct jinja_args *args = g->args;
    struct jinja_value attribute = named(run, args, "attribute"), item;
    if (!begin(run, g))
        return false;
    bool by_attribute = args->n == 0 && !jinja_value_is_missing(attribute);
    struct jinja_value otherwise = named(run, args, "default");
    if (by_attribute && args->named->n > 1u + !jinja_value_is_missing(otherwise))
        jinja_run_fail(run, "map: an unexpected keyword argument");
    else if (!by_attribute && args->n == 0)
        jinja_run_fail(run, "map requires a filter argument");
    if (run->code || !jinja_iter_next(run, &g->source, &item))
        return false;
    const struct jinja_args rest = {args->v + 1, args->n ? args->n - 1 : 0, args->named};
    *ret_item = by_attribute ? jinja_get_path(run, item, attribute, otherwise)
                             : jinja_filter_apply(run, args->v[0], item, &rest);
    return !run->code;
}

FILTER(map)
{
    return jinja_iter_generator(
        run, (struct jinja_generator){.next = next_mapped, .a = v, .args = keep(run, args)});
}

static bool is_selected(struct jinja_run *run, const struct jinja_generator *g, struct jinja_value item)
{
    const struct jinja_args *args = g->args;
    size_t offset = g->flags & BY_ATTRIBUTE ? 1 : 0;
    if (offset)
        item = jinja_get_path(run, item, args->v[0], jinja_value_missing());
    const struct jinja_args rest = {args->v + offset + 1, args->n > offset ? args->n - offset - 1 : 0,
                                    args->named};
    struct jinja_value holds = args->n > offset ? jinja_test_apply(run, args->v[offset], item, &rest) : item;
    return jinja_value_is_true(run, holds) != ((g->flags & REJECT) != 0);
}

static bool next_selected(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item)
{
    if (!begin(run, g))
        return false;
    if ((g->flags & BY_ATTRIBUTE) && g->args->n == 0) {
        jinja_run_fail(run, "Missing parameter for attribute name");
        return false;
    }
    while (jinja_iter_next(run, &g->source, ret_item))
        if (is_selected(run, g, *ret_item))
            return !run->code;
    return false;
}

static struct jinja_value select(struct jinja_run *run, struct jinja_value v, const struct jinja_args *args,
                                 unsigned flags)
{
    return jinja_iter_generator(
        run,
        (struct jinja_generator){.next = next_selected, .a = v, .args = keep(run, args), .flags = flags});
}

FILTER(select)
{
    return select(run, v, args, 0);
}

FILTER(reject)
{
    return select(run, v, args, REJECT);
}

FILTER(selectattr)
{
    return select(run, v, args, BY_ATTRIBUTE);
}

FILTER(rejectattr)
{
    return select(run, v, args, BY_ATTRIBUTE | REJECT);
}

const struct jinja_function jinja_filter_lazy[] = {
    {"batch", "linecount ?fill_with", filter_batch},
    {"items", "", filter_items},
    {"map", "*", filter_map},
    {"reject", "*", filter_reject},
    {"rejectattr", "*", filter_rejectattr},
    {"select", "*", filter_select},
    {"selectattr", "*", filter_selectattr},
    {"slice", "slices ?fill_with", filter_slice},
    {"unique", "?case_sensitive attribute", filter_unique},
};

const size_t jinja_filter_lazy_n = sizeof jinja_filter_lazy / sizeof jinja_filter_lazy[0];
