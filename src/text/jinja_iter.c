/* Going through values: see jinja_iter.h. */
#include "config.h"
#include "src/text/jinja_iter.h"

#include "src/base/utf8.h"
#include "src/text/jinja_run.h"
#include "src/text/jinja_string.h"

bool jinja_iter_can(struct jinja_value v)
{
    switch (v.kind) {
    case JINJA_UNDEFINED:
    case JINJA_STRING:
    case JINJA_LIST:
    case JINJA_TUPLE:
    case JINJA_DICT:
    case JINJA_VIEW:
    case JINJA_RANGE:
    case JINJA_GENERATOR:
        return true;
    default:
        return false;
    }
}

struct jinja_iter jinja_iter_over(struct jinja_run *run, struct jinja_value v)
{
    if (!jinja_iter_can(v)) {
        jinja_run_fail(run, "'%s' object is not iterable", jinja_value_type(v));
        v = (struct jinja_value){.kind = JINJA_UNDEFINED};
    }
    return (struct jinja_iter){.source = v};
}

bool jinja_iter_back(struct jinja_iter *it, struct jinja_value v)
{
    *it = (struct jinja_iter){.source = v, .backward = true};
    return jinja_iter_can(v) && v.kind != JINJA_GENERATOR;
}

static struct jinja_value entry_value(struct jinja_run *run, const struct jinja_entry *e,
                                      enum jinja_part part)
{
    return part == JINJA_KEYS     ? e->key
           : part == JINJA_VALUES ? e->value
                                  : jinja_value_pair(run, e->key, e->value);
}

/* Strings go by bytes, so that each character is found in one step. */
static bool next_char(struct jinja_run *run, struct jinja_iter *it, struct jinja_value *ret_item)
{
    const struct jinja_string *s = it->source.string;
    if (it->at >= s->n)
        return false;
    size_t first = it->at, n = 0;
    if (it->backward)
        first = (size_t)((const char *)utf8_previous((const uint8_t *)s->text + s->n - it->at) - s->text);
    n = utf8_length((uint8_t)s->text[first]);
    it->at += n;
    /* A character of a safe string is a plain one. */
    *ret_item = jinja_string_safe(run, jinja_string_part(run, s, first, n).string, false);
    return true;
}

static bool next_generated(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item)
{
    if (g->has_ended || !jinja_run_enter(run))
        return false;
    g->has_ended = !g->next(run, g, ret_item);
    jinja_run_leave(run);
    return !g->has_ended;
}

bool jinja_iter_next(struct jinja_run *run, struct jinja_iter *it, struct jinja_value *ret_item)
{
    struct jinja_value v = it->source;
    if (!jinja_run_step(run, 1))
        return false;
    if (v.kind == JINJA_STRING)
        return next_char(run, it, ret_item);
    if (v.kind == JINJA_GENERATOR)
        return next_generated(run, v.generator, ret_item);
    int64_t n = jinja_iter_can(v) ? jinja_value_length(run, v) : 0;
    if (n < 0 || it->at >= (size_t)n)
        return false;
    size_t i = it->backward ? (size_t)n - 1 - it->at : it->at;
    it->at++;
    switch (v.kind) {
    case JINJA_LIST:
    case JINJA_TUPLE:
        *ret_item = v.list->items[i];
        break;
    case JINJA_DICT:
        *ret_item = v.dict->entries[i].key;
        break;
    case JINJA_VIEW:
        *ret_item = entry_value(run, &v.view->dict->entries[i], v.view->part);
        break;
    default:
        *ret_item = jinja_value_int(jinja_span_at(v.span, (int64_t)i));
        break;
    }
    return !jinja_run_has_failed(run);
}

struct jinja_value jinja_iter_collect(struct jinja_run *run, struct jinja_iter *it, enum jinja_kind kind)
{
    struct jinja_value list = jinja_value_sequence(run, kind, 0), item;
    while (jinja_iter_next(run, it, &item))
        jinja_value_push(run, list, item);
    return list;
}

struct jinja_value jinja_iter_list(struct jinja_run *run, struct jinja_value v)
{
    struct jinja_iter it = jinja_iter_over(run, v);
    return jinja_iter_collect(run, &it, JINJA_LIST);
}

struct jinja_value jinja_iter_generator(struct jinja_run *run, struct jinja_generator from)
{
    struct jinja_generator *g = jinja_run_alloc(run, 1, sizeof *g);
    if (!g)
        return jinja_value_none();
    *g = from;
    return (struct jinja_value){.kind = JINJA_GENERATOR, .generator = g};
}

static bool next_rest(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item)
{
    return jinja_iter_next(run, &g->source, ret_item);
}

struct jinja_value jinja_iter_rest(struct jinja_run *run, struct jinja_iter it)
{
    return jinja_iter_generator(run, (struct jinja_generator){.next = next_rest, .source = it});
}

/* ---- loops ---- */

bool jinja_iter_loop_peek(struct jinja_run *run, struct jinja_loop *loop)
{
    struct jinja_value item;
    if (jinja_value_is_missing(loop->after) && jinja_iter_next(run, &loop->iter, &item))
        loop->after = item;
    return !jinja_value_is_missing(loop->after);
}

bool jinja_iter_loop_next(struct jinja_run *run, struct jinja_loop *loop, struct jinja_value *ret_item)
{
    if (!jinja_iter_loop_peek(run, loop))
        return false;
    loop->before = loop->current;
    loop->current = loop->after;
    loop->after = jinja_value_missing();
    loop->index0++;
    *ret_item = loop->current;
    return true;
}

int64_t jinja_iter_loop_length(struct jinja_run *run, struct jinja_loop *loop)
{
    if (loop->length < 0)
        loop->length = jinja_value_length(run, loop->iterable);
    if (loop->length < 0) {
        /* A generator has to be run to its end to be counted. */
        struct jinja_value rest = jinja_iter_collect(run, &loop->iter, JINJA_LIST);
        loop->iter = jinja_iter_over(run, rest);
        loop->length = (int64_t)rest.list->n + loop->index0 + 1 + !jinja_value_is_missing(loop->after);
    }
    return loop->length;
}
