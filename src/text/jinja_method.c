/* Methods of everything but strings: see jinja_method.h. */
#include "config.h"
#include "src/text/jinja_method.h"

#include "src/text/jinja_iter.h"
#include "src/text/jinja_math.h"
#include "src/text/jinja_run.h"

#define METHOD(name)                                                                        \
    static struct jinja_value method_##name(struct jinja_run *run, struct jinja_value self, \
                                            const struct jinja_args *args)

/* ---- dictionaries ---- */

METHOD(get)
{
    struct jinja_value found = jinja_value_get(run, self.dict, args->v[0]);
    if (!jinja_value_is_missing(found))
        return found;
    return jinja_value_is_missing(args->v[1]) ? jinja_value_none() : args->v[1];
}

static struct jinja_value view(struct jinja_run *run, struct jinja_value self, enum jinja_part part)
{
    struct jinja_view *made = jinja_run_alloc(run, 1, sizeof *made);
    if (!made)
        return jinja_value_none();
    *made = (struct jinja_view){self.dict, part};
    return (struct jinja_value){.kind = JINJA_VIEW, .view = made};
}

METHOD(items)
{
    (void)args;
    return view(run, self, JINJA_ITEMS);
}

METHOD(keys)
{
    (void)args;
    return view(run, self, JINJA_KEYS);
}

METHOD(values)
{
    (void)args;
    return view(run, self, JINJA_VALUES);
}

METHOD(copy_dict)
{
    (void)args;
    struct jinja_value copy = jinja_value_dict(run);
    for (size_t i = 0; i < self.dict->n && jinja_run_step(run, 1); i++)
        jinja_value_set(run, copy, self.dict->entries[i].key, self.dict->entries[i].value);
    return copy;
}

static const struct jinja_function of_dict[] = {
    {"clear", NULL, NULL},          {"copy", "/", method_copy_dict}, {"get", "/key ?default", method_get},
    {"items", "/", method_items},   {"keys", "/", method_keys},      {"pop", NULL, NULL},
    {"popitem", NULL, NULL},        {"setdefault", NULL, NULL},      {"update", NULL, NULL},
    {"values", "/", method_values},
};

/* ---- lists, tuples and ranges ---- */

METHOD(copy_list)
{
    (void)args;
    return jinja_iter_list(run, self);
}

METHOD(count)
{
    struct jinja_iter it = jinja_iter_over(run, self);
    struct jinja_value item;
    int64_t n = 0;
    while (jinja_iter_next(run, &it, &item))
        n += jinja_value_equals(run, item, args->v[0]);
    return jinja_value_int(n);
}

METHOD(index)
{
    int64_t n = jinja_value_length(run, self), from = jinja_call_whole(run, args->v[1], 0),
            to = jinja_call_whole(run, args->v[2], n), i = 0;
    from = from < 0 ? from + n : from;
    to = to < 0 ? to + n : to;
    struct jinja_iter it = jinja_iter_over(run, self);
    struct jinja_value item;
    for (; jinja_iter_next(run, &it, &item); i++)
        if (i >= from && i < to && jinja_value_equals(run, item, args->v[0]))
            return jinja_value_int(i);
    return jinja_run_fail(run, "the value is not in the %s", jinja_value_type(self));
}

static const struct jinja_function of_list[] = {
    {"append", NULL, NULL},
    {"clear", NULL, NULL},
    {"copy", "/", method_copy_list},
    {"count", "/value", method_count},
    {"extend", NULL, NULL},
    {"index", "/value ?start stop", method_index},
    {"insert", NULL, NULL},
    {"pop", NULL, NULL},
    {"remove", NULL, NULL},
    {"reverse", NULL, NULL},
    {"sort", NULL, NULL},
};

static const struct jinja_function of_tuple[] = {
    {"count", "/value", method_count},
    {"index", "/value ?start stop", method_index},
};

/* ---- loops and cyclers ---- */

METHOD(cycle)
{
    struct jinja_loop *loop = self.loop;
    if (args->n == 0)
        return jinja_run_fail(run, "no items for cycling given");
    return args->v[(size_t)loop->index0 % args->n];
}

METHOD(changed)
{
    struct jinja_value now = jinja_value_sequence(run, JINJA_TUPLE, args->n);
    for (size_t i = 0; i < args->n; i++)
        jinja_value_push(run, now, args->v[i]);
    bool same =
        self.loop->last_changed.kind == JINJA_TUPLE && jinja_value_equals(run, self.loop->last_changed, now);
    self.loop->last_changed = now;
    return jinja_value_bool(!same);
}

static const struct jinja_function of_loop[] = {
    {"changed", "*", method_changed},
    {"cycle", "*", method_cycle},
};

METHOD(next)
{
    (void)args;
    struct jinja_cycler *cycler = self.cycler;
    struct jinja_value item = cycler->items->items[cycler->at];
    cycler->at = (cycler->at + 1) % cycler->items->n;
    (void)run;
    return item;
}

METHOD(reset)
{
    (void)run, (void)args;
    self.cycler->at = 0;
    return jinja_value_none();
}

static const struct jinja_function of_cycler[] = {
    {"next", "", method_next},
    {"reset", "", method_reset},
};

#define FIND(table, name) jinja_call_find(table, sizeof(table) / sizeof(table)[0], name)

const struct jinja_function *jinja_method_find(struct jinja_value v, const struct jinja_string *name)
{
    switch (v.kind) {
    case JINJA_STRING:
        return jinja_call_find(jinja_method_str, jinja_method_str_n, name);
    case JINJA_DICT:
        return FIND(of_dict, name);
    case JINJA_LIST:
        return FIND(of_list, name);
    case JINJA_TUPLE:
    case JINJA_RANGE:
        return FIND(of_tuple, name);
    case JINJA_LOOP:
        return FIND(of_loop, name);
    case JINJA_CYCLER:
        return FIND(of_cycler, name);
    default:
        return NULL;
    }
}
