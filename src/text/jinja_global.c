/* What every template can call: see jinja_global.h. */
#include "config.h"
#include "src/text/jinja_global.h"

#include <string.h>
#include <time.h>

#include "src/text/jinja_iter.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"

#define GLOBAL(name)                                                                        \
    static struct jinja_value global_##name(struct jinja_run *run, struct jinja_value self, \
                                            const struct jinja_args *args)

GLOBAL(range)
{
    (void)self;
    bool single = jinja_value_is_missing(args->v[1]);
    int64_t start = single ? 0 : jinja_call_whole(run, args->v[0], 0);
    int64_t stop = jinja_call_whole(run, args->v[single ? 0 : 1], 0),
            step = jinja_call_whole(run, args->v[2], 1);
    if (step == 0)
        return jinja_run_fail(run, "range() arg 3 must not be zero");
    /* In 128 bits nothing here overflows. */
    __int128 distance = step > 0 ? (__int128)stop - start : (__int128)start - stop;
    __int128 stride = step > 0 ? step : -(__int128)step, n = distance > 0 ? (distance - 1) / stride + 1 : 0;
    if (n > JINJA_MAX_RANGE)
        return jinja_run_fail(run, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).",
                              JINJA_MAX_RANGE);
    struct jinja_span *span = jinja_run_alloc(run, 1, sizeof *span);
    if (!span)
        return jinja_value_none();
    *span = (struct jinja_span){start, stop, step, (int64_t)n};
    return (struct jinja_value){.kind = JINJA_RANGE, .span = span};
}

/* dict(): from a mapping or pairs, and from named arguments. */
static struct jinja_value make_dict(struct jinja_run *run, const struct jinja_args *args)
{
    struct jinja_value dict = jinja_value_dict(run), item;
    if (args->n > 1)
        return jinja_run_fail(run, "dict expected at most 1 argument, got %zu", args->n);
    if (args->n && args->v[0].kind == JINJA_DICT) {
        for (size_t i = 0; i < args->v[0].dict->n && jinja_run_step(run, 1); i++)
            jinja_value_set(run, dict, args->v[0].dict->entries[i].key, args->v[0].dict->entries[i].value);
    } else if (args->n) {
        struct jinja_iter it = jinja_iter_over(run, args->v[0]);
        while (jinja_iter_next(run, &it, &item)) {
            struct jinja_value pair = jinja_iter_list(run, item);
            if (pair.list->n != 2)
                return jinja_run_fail(run, "dictionary update sequence element has length %zu; 2 is required",
                                      pair.list->n);
            jinja_value_set(run, dict, pair.list->items[0], pair.list->items[1]);
        }
    }
    for (size_t i = 0; args->named && i < args->named->n; i++)
        jinja_value_set(run, dict, args->named->entries[i].key, args->named->entries[i].value);
    return dict;
}

GLOBAL(dict)
{
    (void)self;
    return make_dict(run, args);
}

static bool check_name(struct jinja_run *run, struct jinja_value name)
{
    if (name.kind != JINJA_STRING || name.string->n == 0 || name.string->text[0] != '_')
        return true;
    jinja_run_fail(run, "Chat templates cannot store underscore-prefixed attributes on a namespace");
    return false;
}

GLOBAL(namespace)
{
    (void)self;
    struct jinja_value space = make_dict(run, args);
    if (space.kind != JINJA_DICT)
        return space;
    for (size_t i = 0; i < space.dict->n; i++)
        if (!check_name(run, space.dict->entries[i].key))
            return jinja_value_none();
    space.kind = JINJA_NAMESPACE;
    return space;
}

void jinja_global_set_in_namespace(struct jinja_run *run, struct jinja_value space, struct jinja_value name,
                                   struct jinja_value value)
{
    if (check_name(run, name))
        jinja_value_set(run, space, name, value);
}

static struct jinja_value make_cycler(struct jinja_run *run, enum jinja_kind kind,
                                      const struct jinja_value *items, size_t n)
{
    struct jinja_cycler *cycler = jinja_run_alloc(run, 1, sizeof *cycler);
    struct jinja_value list = jinja_value_sequence(run, JINJA_TUPLE, n);
    for (size_t i = 0; i < n; i++)
        jinja_value_push(run, list, items[i]);
    if (!cycler || run->code)
        return jinja_value_none();
    cycler->items = list.list;
    return (struct jinja_value){.kind = kind, .cycler = cycler};
}

GLOBAL(cycler)
{
    (void)self;
    if (args->n == 0 || (args->named && args->named->n))
        return jinja_run_fail(run, "at least one item has to be provided");
    return make_cycler(run, JINJA_CYCLER, args->v, args->n);
}

GLOBAL(joiner)
{
    (void)self;
    struct jinja_value separator =
        jinja_value_is_missing(args->v[0]) ? jinja_string_literal(run, ", ") : args->v[0];
    return make_cycler(run, JINJA_JOINER, &separator, 1);
}

GLOBAL(raise_exception)
{
    (void)self;
    const struct jinja_string *text = jinja_repr_text(run, args->v[0]).string;
    int n = text->n < 350 ? (int)text->n : 350;
    jinja_run_stop(run, JINJA_E_RAISED, "%.*s", n, text->text);
    return jinja_value_none();
}

/* Python's strftime is C's, besides %f, %z and %Z, which of a local time without zone are 000000 and nothing.
 */
GLOBAL(strftime_now)
{
    (void)self;
    const struct jinja_string *format = jinja_call_string(run, args->v[0]);
    struct jinja_builder b = jinja_string_build(run);
    if (!format)
        return jinja_run_fail(run, "strftime_now needs a str");
    if (!run->has_now)
        return jinja_run_fail(run, "strftime_now: no time was given");
    for (size_t i = 0; i < format->n; i++) {
        char spec[3] = {'%', format->text[i + (i + 1 < format->n)], '\0'}, text[128];
        if (format->text[i] != '%' || i + 1 == format->n) {
            jinja_string_add_part(&b, format, i, 1);
            continue;
        }
        enum jinja_origin origin = jinja_string_origin(format, i++);
        if (spec[1] == 'f')
            jinja_string_add(&b, "000000", 6, origin);
        else if (spec[1] && strchr("aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyY%", spec[1]))
            jinja_string_add(&b, text, strftime(text, sizeof text, spec, &run->now), origin);
        else if (spec[1] != 'z' && spec[1] != 'Z')
            return jinja_run_fail(run, "strftime_now: an unknown format '%%%c'", spec[1] & 0x7f);
    }
    return jinja_string_done(&b);
}

static const struct jinja_function globals[] = {
    {"cycler", "*", global_cycler},
    {"dict", "*", global_dict},
    {"joiner", "?sep", global_joiner},
    {"namespace", "*", global_namespace},
    {"raise_exception", "message", global_raise_exception},
    {"range", "/start ?stop step", global_range},
    {"strftime_now", "format", global_strftime_now},
};

struct jinja_value jinja_global_find(const struct jinja_string *name)
{
    const struct jinja_function *f = jinja_call_find(globals, sizeof globals / sizeof globals[0], name);
    return f ? (struct jinja_value){.kind = JINJA_FUNCTION, .function = f} : jinja_value_missing();
}
