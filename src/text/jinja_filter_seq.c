/* Filters that go through sequences: see jinja_filter.h. */
#include "config.h"
#include "src/text/jinja_filter.h"

#include <string.h>

#include "src/text/jinja_get.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_math.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"
#include "src/text/jinja_test.h"

#define FILTER(name)                                                                     \
    static struct jinja_value filter_##name(struct jinja_run *run, struct jinja_value v, \
                                            const struct jinja_args *args)

/* What sorting and grouping compare: strings in small letters, unless case counts. */
static struct jinja_value fold(struct jinja_run *run, struct jinja_value v, bool case_sensitive)
{
    return v.kind == JINJA_STRING && !case_sensitive ? jinja_string_lower(run, v.string) : v;
}

static struct jinja_value key_of(struct jinja_run *run, struct jinja_value item, struct jinja_value attribute,
                                 bool case_sensitive)
{
    return fold(run, jinja_get_path(run, item, attribute, jinja_value_missing()), case_sensitive);
}

/* ---- sorting ---- */

struct keyed {
    struct jinja_value key, item;
};

/* A stable merge of two sorted halves; in reverse, equal ones keep their order, too. */
static void merge(struct jinja_run *run, struct keyed *a, size_t n, struct keyed *scratch, bool reverse)
{
    if (n < 2 || run->code)
        return;
    size_t half = n / 2, i = 0, k = half, out = 0;
    merge(run, a, half, scratch, reverse);
    merge(run, a + half, n - half, scratch, reverse);
    while (i < half && k < n && jinja_run_step(run, 1)) {
        bool later_first = reverse ? jinja_math_is_less(run, a[i].key, a[k].key, false, "<")
                                   : jinja_math_is_less(run, a[k].key, a[i].key, false, "<");
        scratch[out++] = later_first ? a[k++] : a[i++];
    }
    if (run->code)
        return;
    memcpy(scratch + out, a + i, (half - i) * sizeof *a);
    memcpy(scratch + out + half - i, a + k, (n - k) * sizeof *a);
    memcpy(a, scratch, n * sizeof *a);
}

typedef struct jinja_value key_fn(struct jinja_run *run, struct jinja_value item, const void *how);

static struct jinja_value sort(struct jinja_run *run, struct jinja_value v, bool reverse, key_fn *key,
                               const void *how)
{
    struct jinja_value list = jinja_iter_list(run, v);
    size_t n = list.list->n;
    struct keyed *keyed = jinja_run_alloc(run, n, sizeof *keyed);
    struct keyed *scratch = jinja_run_alloc(run, n, sizeof *scratch);
    if (!keyed || !scratch)
        return list;
    for (size_t i = 0; i < n && !run->code; i++)
        keyed[i] = (struct keyed){key(run, list.list->items[i], how), list.list->items[i]};
    merge(run, keyed, n, scratch, reverse);
    for (size_t i = 0; i < n; i++)
        list.list->items[i] = keyed[i].item;
    return list;
}

struct sort_by {
    struct jinja_value attribute, otherwise;
    bool case_sensitive;
};

/* Several attributes, separated by commas, as a list. */
static struct jinja_value sort_key(struct jinja_run *run, struct jinja_value item, const void *how)
{
    const struct sort_by *by = how;
    struct jinja_value keys = jinja_value_list(run);
    const struct jinja_string *names = by->attribute.kind == JINJA_STRING ? by->attribute.string : NULL;
    for (size_t at = 0; names && at <= names->n && !run->code;) {
        const char *comma = memchr(names->text + at, ',', names->n - at);
        size_t end = comma ? (size_t)(comma - names->text) : names->n;
        struct jinja_value name = jinja_string_part(run, names, at, end - at);
        jinja_value_push(run, keys, key_of(run, item, name, by->case_sensitive));
        at = end + 1;
    }
    if (!names)
        jinja_value_push(run, keys, key_of(run, item, by->attribute, by->case_sensitive));
    return keys;
}

FILTER(sort)
{
    struct sort_by by = {args->v[2], jinja_value_missing(), jinja_call_flag(run, args->v[1], false)};
    return sort(run, v, jinja_call_flag(run, args->v[0], false), sort_key, &by);
}

static struct jinja_value pair_key(struct jinja_run *run, struct jinja_value pair, const void *how)
{
    const struct sort_by *by = how;
    return fold(run, pair.list->items[by->attribute.integer], by->case_sensitive);
}

FILTER(dictsort)
{
    const struct jinja_string *by = jinja_call_string(run, args->v[1]);
    bool by_value = by && jinja_string_is(by, "value");
    if (by && !by_value && !jinja_string_is(by, "key"))
        return jinja_run_fail(run, "You can only sort by either \"key\" or \"value\"");
    if (v.kind != JINJA_DICT)
        return v.kind == JINJA_UNDEFINED
                   ? jinja_value_fail_undefined(run, v)
                   : jinja_run_fail(run, "'%s' object has no attribute 'items'", jinja_value_type(v));
    struct jinja_view view = {v.dict, JINJA_ITEMS};
    struct sort_by how = {jinja_value_int(by_value), jinja_value_missing(),
                          jinja_call_flag(run, args->v[0], false)};
    return sort(run, (struct jinja_value){.kind = JINJA_VIEW, .view = &view},
                jinja_call_flag(run, args->v[2], false), pair_key, &how);
}

static struct jinja_value group_key(struct jinja_run *run, struct jinja_value item, const void *how)
{
    const struct sort_by *by = how;
    return fold(run, jinja_get_path(run, item, by->attribute, by->otherwise), by->case_sensitive);
}

FILTER(groupby)
{
    struct sort_by by = {args->v[0], args->v[1], jinja_call_flag(run, args->v[2], false)};
    struct jinja_value sorted = sort(run, v, false, group_key, &by), groups = jinja_value_list(run);
    struct jinja_value last = jinja_value_missing(), items = jinja_value_missing();
    for (size_t i = 0; i < sorted.list->n && !run->code; i++) {
        struct jinja_value item = sorted.list->items[i], key = group_key(run, item, &by);
        if (jinja_value_is_missing(last) || !jinja_value_equals(run, last, key)) {
            items = jinja_value_list(run);
            struct jinja_value group =
                jinja_value_pair(run, jinja_get_path(run, item, by.attribute, by.otherwise), items);
            if (!run->code)
                group.list->is_group = true;
            jinja_value_push(run, groups, group);
            last = key;
        }
        jinja_value_push(run, items, item);
    }
    return groups;
}

/* ---- one of many ---- */

static struct jinja_value extreme(struct jinja_run *run, struct jinja_value v, const struct jinja_args *args,
                                  bool greatest)
{
    bool case_sensitive = jinja_call_flag(run, args->v[0], false);
    struct jinja_iter it = jinja_iter_over(run, v);
    struct jinja_value best = jinja_value_missing(), best_key = best, item;
    while (jinja_iter_next(run, &it, &item)) {
        struct jinja_value key = key_of(run, item, args->v[1], case_sensitive);
        bool better =
            jinja_value_is_missing(best) || (greatest ? jinja_math_is_less(run, best_key, key, false, ">")
                                                      : jinja_math_is_less(run, key, best_key, false, "<"));
        best = better ? item : best;
        best_key = better ? key : best_key;
    }
    return jinja_value_is_missing(best)
               ? jinja_value_undefined(run, "No aggregated item, sequence was empty.")
               : best;
}

FILTER(min)
{
    return extreme(run, v, args, false);
}

FILTER(max)
{
    return extreme(run, v, args, true);
}

FILTER(first)
{
    (void)args;
    struct jinja_iter it = jinja_iter_over(run, v);
    struct jinja_value item;
    return jinja_iter_next(run, &it, &item)
               ? item
               : jinja_value_undefined(run, "No first item, sequence was empty.");
}

FILTER(last)
{
    (void)args;
    struct jinja_iter it;
    struct jinja_value item;
    if (!jinja_iter_back(&it, v))
        return jinja_run_fail(run, "'%s' object is not reversible", jinja_value_type(v));
    return jinja_iter_next(run, &it, &item) ? item
                                            : jinja_value_undefined(run, "No last item, sequence was empty.");
}

FILTER(sum)
{
    struct jinja_iter it = jinja_iter_over(run, v);
    struct jinja_value sum = jinja_value_is_missing(args->v[1]) ? jinja_value_int(0) : args->v[1], item;
    if (sum.kind == JINJA_STRING)
        return jinja_run_fail(run, "sum() can't sum strings [use ''.join(seq) instead]");
    while (jinja_iter_next(run, &it, &item))
        sum = jinja_math_apply(run, JINJA_ADD, sum,
                               jinja_get_path(run, item, args->v[0], jinja_value_missing()));
    return sum;
}

FILTER(join)
{
    struct jinja_value between =
        jinja_value_is_missing(args->v[0]) ? jinja_string_literal(run, "") : jinja_repr_text(run, args->v[0]);
    struct jinja_iter it = jinja_iter_over(run, v);
    struct jinja_builder b = jinja_string_build(run);
    struct jinja_value item;
    for (bool first = true; jinja_iter_next(run, &it, &item); first = false) {
        if (!first)
            jinja_string_add_all(&b, between.string);
        jinja_repr_add_text(&b, jinja_get_path(run, item, args->v[1], jinja_value_missing()));
    }
    return jinja_string_done(&b);
}

/* ---- other sequences ---- */

FILTER(list)
{
    (void)args;
    return jinja_iter_list(run, v);
}

FILTER(reverse)
{
    (void)args;
    struct jinja_iter it;
    bool can = jinja_iter_back(&it, v);
    if (v.kind == JINJA_STRING) {
        struct jinja_builder b = jinja_string_build(run);
        struct jinja_value c;
        while (jinja_iter_next(run, &it, &c))
            jinja_string_add_all(&b, c.string);
        return jinja_string_done_safe(&b, v.string->is_safe);
    }
    if (can)
        return jinja_iter_rest(run, it);
    if (!jinja_iter_can(v))
        return jinja_run_fail(run, "argument must be iterable");
    jinja_iter_back(&it, jinja_iter_list(run, v));
    return jinja_iter_collect(run, &it, JINJA_LIST);
}

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
            key_of(run, *ret_item, g->args->v[1], jinja_call_flag(run, g->args->v[0], false));
        if (jinja_value_is_missing(jinja_value_get(run, g->b.dict, key))) {
            jinja_value_set(run, g->b, key, jinja_value_none());
            return !run->code;
        }
    }
    return false;
}

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

const struct jinja_function jinja_filter_seq[] = {
    {"batch", "linecount ?fill_with", filter_batch},
    {"dictsort", "?case_sensitive by reverse", filter_dictsort},
    {"first", "", filter_first},
    {"groupby", "attribute ?default case_sensitive", filter_groupby},
    {"items", "", filter_items},
    {"join", "?d attribute", filter_join},
    {"last", "", filter_last},
    {"list", "", filter_list},
    {"map", "*", filter_map},
    {"max", "?case_sensitive attribute", filter_max},
    {"min", "?case_sensitive attribute", filter_min},
    {"reject", "*", filter_reject},
    {"rejectattr", "*", filter_rejectattr},
    {"reverse", "", filter_reverse},
    {"select", "*", filter_select},
    {"selectattr", "*", filter_selectattr},
    {"slice", "slices ?fill_with", filter_slice},
    {"sort", "?reverse case_sensitive attribute", filter_sort},
    {"sum", "?attribute start", filter_sum},
    {"unique", "?case_sensitive attribute", filter_unique},
};

const size_t jinja_filter_seq_n = sizeof jinja_filter_seq / sizeof jinja_filter_seq[0];
