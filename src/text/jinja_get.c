/* What is inside a value: see jinja_get.h. */
#include "config.h"
#include "src/text/jinja_get.h"

#include <string.h>

#include "src/base/utf8.h"
#include "src/text/jinja_call.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_macro.h"
#include "src/text/jinja_method.h"
#include "src/text/jinja_run.h"
#include "src/text/jinja_string.h"

static struct jinja_value bind_method(struct jinja_run *run, struct jinja_value self,
                                      const struct jinja_function *function)
{
    struct jinja_method *m = jinja_run_alloc(run, 1, sizeof *m);
    if (!m)
        return jinja_value_none();
    *m = (struct jinja_method){function, self};
    return (struct jinja_value){.kind = JINJA_METHOD, .method = m};
}

/* ---- attributes ---- */

static struct jinja_value get_loop(struct jinja_run *run, struct jinja_loop *loop,
                                   const struct jinja_string *name)
{
    if (jinja_string_is(name, "index"))
        return jinja_value_int(loop->index0 + 1);
    if (jinja_string_is(name, "index0"))
        return jinja_value_int(loop->index0);
    if (jinja_string_is(name, "first"))
        return jinja_value_bool(loop->index0 == 0);
    if (jinja_string_is(name, "last"))
        return jinja_value_bool(!jinja_iter_loop_peek(run, loop));
    if (jinja_string_is(name, "length"))
        return jinja_value_int(jinja_iter_loop_length(run, loop));
    if (jinja_string_is(name, "revindex"))
        return jinja_value_int(jinja_iter_loop_length(run, loop) - loop->index0);
    if (jinja_string_is(name, "revindex0"))
        return jinja_value_int(jinja_iter_loop_length(run, loop) - loop->index0 - 1);
    if (jinja_string_is(name, "previtem"))
        return loop->index0 == 0 ? jinja_value_undefined(run, "there is no previous item") : loop->before;
    if (jinja_string_is(name, "nextitem"))
        return jinja_iter_loop_peek(run, loop) ? loop->after
                                               : jinja_value_undefined(run, "there is no next item");
    if (jinja_string_is(name, "depth"))
        return jinja_value_int(loop->depth0 + 1);
    if (jinja_string_is(name, "depth0"))
        return jinja_value_int(loop->depth0);
    return jinja_value_missing();
}

/* Attributes that are no methods; MISSING where there is none of that name. */
static struct jinja_value get_plain(struct jinja_run *run, struct jinja_value v, struct jinja_value name)
{
    const struct jinja_string *s = name.string;
    switch (v.kind) {
    case JINJA_NAMESPACE:
        return jinja_value_get(run, v.dict, name);
    case JINJA_LOOP:
        return get_loop(run, v.loop, s);
    case JINJA_TUPLE:
        if (v.list->is_group && v.list->n == 2 &&
            (jinja_string_is(s, "grouper") || jinja_string_is(s, "list")))
            return v.list->items[jinja_string_is(s, "list")];
        return jinja_value_missing();
    case JINJA_RANGE:
        if (jinja_string_is(s, "start") || jinja_string_is(s, "stop") || jinja_string_is(s, "step"))
            return jinja_value_int(s->text[2] == 'a'   ? v.span->start
                                   : s->text[2] == 'o' ? v.span->stop
                                                       : v.span->step);
        return jinja_value_missing();
    case JINJA_CYCLER:
        return jinja_string_is(s, "current") ? v.cycler->items->items[v.cycler->at] : jinja_value_missing();
    case JINJA_MACRO:
        return jinja_string_is(s, "name") ? v.macro->name : jinja_value_missing();
    default:
        return jinja_value_missing();
    }
}

/* Python's getattr in the sandbox: MISSING for none. */
static struct jinja_value get_attribute(struct jinja_run *run, struct jinja_value v, struct jinja_value name)
{
    struct jinja_value found = get_plain(run, v, name);
    if (!jinja_value_is_missing(found))
        return found;
    const struct jinja_function *method = jinja_method_find(v, name.string);
    if (method && !method->params)
        return jinja_value_undefined(run, "access to a method that changes its object is unsafe");
    return method ? bind_method(run, v, method) : jinja_value_missing();
}

struct jinja_value jinja_get_attribute(struct jinja_run *run, struct jinja_value v, struct jinja_value name)
{
    if (v.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, v);
    struct jinja_value found = get_attribute(run, v, name);
    if (jinja_value_is_missing(found) && v.kind == JINJA_DICT)
        found = jinja_value_get(run, v.dict, name);
    return jinja_value_is_missing(found) ? jinja_value_undefined_in(run, v, name) : found;
}

/* ---- elements ---- */

static bool can_be_key(struct jinja_value v)
{
    if (v.kind == JINJA_LIST || v.kind == JINJA_DICT || v.kind == JINJA_VIEW)
        return false;
    for (size_t i = 0; v.kind == JINJA_TUPLE && i < v.list->n; i++)
        if (v.list->items[i].kind == JINJA_LIST || v.list->items[i].kind == JINJA_DICT)
            return false;
    return true;
}

static struct jinja_value get_index(struct jinja_run *run, struct jinja_value v, int64_t i)
{
    int64_t n = jinja_value_length(run, v);
    if (i < 0)
        i += n;
    if (i < 0 || i >= n)
        return jinja_value_missing();
    if (v.kind == JINJA_RANGE)
        return jinja_value_int(jinja_span_at(v.span, i));
    if (v.kind != JINJA_STRING)
        return v.list->items[i];
    jinja_run_move(run, v.string->n == v.string->n_char ? 0 : (size_t)i);
    size_t at = jinja_string_offset(v.string, (size_t)i);
    return jinja_string_part(run, v.string, at, utf8_length((uint8_t)v.string->text[at]));
}

static bool is_indexed(struct jinja_value v)
{
    return v.kind == JINJA_STRING || v.kind == JINJA_LIST || v.kind == JINJA_TUPLE || v.kind == JINJA_RANGE;
}

struct jinja_value jinja_get_element(struct jinja_run *run, struct jinja_value v, struct jinja_value key)
{
    struct jinja_value found = jinja_value_missing();
    int64_t i;
    if (v.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, v);
    if (v.kind == JINJA_DICT && can_be_key(key))
        found = jinja_value_get(run, v.dict, key);
    else if (is_indexed(v) && jinja_value_is_whole(key, &i))
        found = get_index(run, v, i);
    if (jinja_value_is_missing(found) && key.kind == JINJA_STRING)
        found = get_attribute(run, v, key);
    return jinja_value_is_missing(found) ? jinja_value_undefined_in(run, v, key) : found;
}

/* ---- slices ---- */

static int64_t clamp(int64_t i, int64_t n, int64_t low, int64_t high)
{
    if (i < 0)
        i = i < -n ? -1 : i + n;
    return i < low ? low : i > high ? high : i;
}

struct slice {
    int64_t start, stop, step, n;
};

/* The indexes that a slice of n items takes: what Python's slice.indices does. */
static bool resolve(struct jinja_run *run, const struct jinja_value bounds[3], int64_t n,
                    struct slice *ret_slice)
{
    int64_t given[3] = {0, 0, 1};
    bool has[3];
    for (int i = 0; i < 3; i++) {
        has[i] = bounds[i].kind != JINJA_MISSING && bounds[i].kind != JINJA_NONE;
        if (has[i] && !jinja_value_is_whole(bounds[i], &given[i])) {
            jinja_run_fail(run, "slice indices must be integers or None");
            return false;
        }
    }
    int64_t step = given[2];
    if (step == 0) {
        jinja_run_fail(run, "slice step cannot be zero");
        return false;
    }
    if (step < -INT64_MAX)
        step = -INT64_MAX;
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    int64_t start = has[0] ? clamp(given[0], n, low, high) : step < 0 ? high : low;
    int64_t stop = has[1] ? clamp(given[1], n, low, high) : step < 0 ? low : high;
    int64_t distance = step < 0 ? start - stop : stop - start, stride = step < 0 ? -step : step;
    *ret_slice = (struct slice){start, stop, step, distance > 0 ? (distance - 1) / stride + 1 : 0};
    return true;
}

static struct jinja_value slice_text(struct jinja_run *run, const struct jinja_string *s, struct slice slice)
{
    jinja_run_move(run, s->n);
    if (slice.step == 1) {
        size_t first = jinja_string_offset(s, (size_t)slice.start);
        size_t end = jinja_string_offset(s, (size_t)(slice.start + slice.n));
        return jinja_string_part(run, s, first, end > first ? end - first : 0);
    }
    struct jinja_builder b = jinja_string_build(run);
    const uint8_t *text = (const uint8_t *)s->text;
    size_t at = slice.n ? jinja_string_offset(s, (size_t)slice.start) : 0;
    for (int64_t i = 0; i < slice.n && jinja_run_step(run, 1); i++) {
        jinja_string_add_part(&b, s, at, utf8_length(text[at]));
        if (i + 1 == slice.n)
            break;
        for (int64_t k = 0; k < slice.step; k++)
            at += utf8_length(text[at]);
        for (int64_t k = 0; k > slice.step; k--)
            at = (size_t)(utf8_previous(text + at) - text);
    }
    return jinja_string_done_safe(&b, s->is_safe);
}

static struct jinja_value slice_span(struct jinja_run *run, const struct jinja_span *span, struct slice slice)
{
    struct jinja_span *part = jinja_run_alloc(run, 1, sizeof *part);
    if (!part)
        return jinja_value_none();
    /* In 128 bits nothing here overflows. */
    __int128 start = (__int128)span->start + (__int128)slice.start * span->step,
             stop = (__int128)span->start + (__int128)slice.stop * span->step,
             step = (__int128)span->step * slice.step;
    *part = (struct jinja_span){(int64_t)start, (int64_t)stop, (int64_t)step, slice.n};
    if (part->start != start || part->stop != stop || part->step != step)
        return jinja_run_fail(run, "an integer beyond 64 bits");
    return (struct jinja_value){.kind = JINJA_RANGE, .span = part};
}

struct jinja_value jinja_get_slice(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_value bounds[3])
{
    struct slice slice;
    if (v.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, v);
    if (!is_indexed(v))
        return jinja_run_fail(run, "'%s' object cannot be sliced", jinja_value_type(v));
    if (!resolve(run, bounds, jinja_value_length(run, v), &slice))
        return jinja_value_none();
    if (v.kind == JINJA_STRING)
        return slice_text(run, v.string, slice);
    if (v.kind == JINJA_RANGE)
        return slice_span(run, v.span, slice);
    struct jinja_value part = jinja_value_sequence(run, v.kind, (size_t)slice.n);
    for (int64_t i = 0; i < slice.n && jinja_run_step(run, 1); i++)
        jinja_value_push(run, part, v.list->items[slice.start + i * slice.step]);
    return part;
}

/* ---- paths ---- */

static struct jinja_value path_part(struct jinja_run *run, const struct jinja_string *s, size_t first,
                                    size_t n)
{
    int64_t i = 0;
    for (size_t k = 0; k < n; k++) {
        char c = s->text[first + k];
        if (c < '0' || c > '9' || __builtin_mul_overflow(i, 10, &i) || __builtin_add_overflow(i, c - '0', &i))
            return jinja_string_part(run, s, first, n);
    }
    return n ? jinja_value_int(i) : jinja_string_part(run, s, first, n);
}

struct jinja_value jinja_get_path(struct jinja_run *run, struct jinja_value v, struct jinja_value path,
                                  struct jinja_value otherwise)
{
    if (path.kind == JINJA_NONE || path.kind == JINJA_MISSING)
        return v;
    const struct jinja_string *s = path.kind == JINJA_STRING ? path.string : NULL;
    size_t at = 0;
    do {
        const char *dot = s ? memchr(s->text + at, '.', s->n - at) : NULL;
        size_t end = s ? (dot ? (size_t)(dot - s->text) : s->n) : 0;
        v = jinja_get_element(run, v, s ? path_part(run, s, at, end - at) : path);
        if (v.kind == JINJA_UNDEFINED && otherwise.kind != JINJA_NONE && otherwise.kind != JINJA_MISSING)
            v = otherwise;
        at = end + 1;
    } while (s && at <= s->n && jinja_run_step(run, 1));
    return v;
}
