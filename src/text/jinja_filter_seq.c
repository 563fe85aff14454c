/* Filters that go through sequences at once: see jinja_filter.h. */
#include "config.h"
#include "src/text/jinja_filter.h"

#include <string.h>

#include "src/text/jinja_get.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_math.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"

#define FILTER(name)                                                                     \
    static struct jinja_value filter_##name(struct jinja_run *run, struct jinja_value v, \
                                            const struct jinja_args *args)

/* What sorting and grouping compare: strings in small letters, unless case counts. */
static struct jinja_value fold(struct jinja_run *run, struct jinja_value v, bool case_sensitive)
{
    return v.kind == JINJA_STRING && !case_sensitive ? jinja_string_lower(run, v.string) : v;
}

struct jinja_value jinja_filter_seq_key(struct jinja_run *run, struct jinja_value item,
                                        struct jinja_value attribute, bool case_sensitive)
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
        jinja_value_push(run, keys, jinja_filter_seq_key(run, item, name, by->case_sensitive));
        at = end + 1;
    }
    if (!names)
        jinja_value_push(run, keys, jinja_filter_seq_key(run, item, by->attribute, by->case_sensitive));
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
        struct jinja_value key = jinja_filter_seq_key(run, item, args->v[1], case_sensitive);
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

/* ---- the same, in another order ---- */

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

const struct jinja_function jinja_filter_seq[] = {
    {"dictsort", "?case_sensitive by reverse", filter_dictsort},
    {"first", "", filter_first},
    {"groupby", "attribute ?default case_sensitive", filter_groupby},
    {"join", "?d attribute", filter_join},
    {"last", "", filter_last},
    {"list", "", filter_list},
    {"max", "?case_sensitive attribute", filter_max},
    {"min", "?case_sensitive attribute", filter_min},
    {"reverse", "", filter_reverse},
    {"sort", "?reverse case_sensitive attribute", filter_sort},
    {"sum", "?attribute start", filter_sum},
};

const size_t jinja_filter_seq_n = sizeof jinja_filter_seq / sizeof jinja_filter_seq[0];
