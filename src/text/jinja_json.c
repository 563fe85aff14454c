/* JSON: see jinja_json.h. */
#include "config.h"
#include "src/text/jinja_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/jsonread.h"
#include "src/base/utf8.h"
#include "src/text/jinja_call.h"
#include "src/text/jinja_math.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"

/* ---- writing ---- */

struct writer {
    struct jinja_run *run;
    struct jinja_builder out;
    bool ascii, sort, has_indent;
    const struct jinja_string *indent; /* one level */
    const struct jinja_string *between_items, *after_key;
    size_t depth;
};

static void add(struct writer *w, const char *text)
{
    jinja_string_add(&w->out, text, strlen(text), JINJA_TRUSTED);
}

static void add_escape(struct writer *w, uint32_t c, enum jinja_origin origin)
{
    char text[16];
    const char *letter = strchr("\"\"\\\\\nn\rr\tt\ff\bb", (int)c);
    if (c && c < 0x80 && letter && strchr("\"\\\n\r\t\f\b", (int)c))
        snprintf(text, sizeof text, "\\%c", letter[1]);
    else if (c < 0x10000)
        snprintf(text, sizeof text, "\\u%04x", (unsigned)c);
    else
        snprintf(text, sizeof text, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
                 (unsigned)(0xdc00 + (c & 0x3ff)));
    jinja_string_add(&w->out, text, strlen(text), origin);
}

static void write_string(struct writer *w, const struct jinja_string *s)
{
    size_t from = 0, at = 0;
    add(w, "\"");
    while (at < s->n && !w->run->code) {
        uint32_t c = utf8_decode((const uint8_t *)s->text + at);
        size_t n = utf8_length((uint8_t)s->text[at]);
        if (c < 0x20 || c == '"' || c == '\\' || (w->ascii && c >= 0x7f)) {
            jinja_string_add_part(&w->out, s, from, at - from);
            add_escape(w, c, jinja_string_origin(s, at));
            from = at + n;
        }
        at += n;
    }
    jinja_string_add_part(&w->out, s, from, s->n - from);
    add(w, "\"");
}

static void write_value(struct writer *w, struct jinja_value v);

static void write_float(struct writer *w, double x)
{
    char text[JINJA_REPR_FLOAT];
    if (isnan(x) || isinf(x)) {
        add(w, isnan(x) ? "NaN" : x < 0 ? "-Infinity" : "Infinity");
        return;
    }
    jinja_repr_float(x, text);
    add(w, text);
}

static void write_key(struct writer *w, struct jinja_value key)
{
    if (key.kind == JINJA_STRING) {
        write_string(w, key.string);
    } else if (key.kind == JINJA_NONE || jinja_value_is_number(key)) {
        add(w, "\"");
        write_value(w, key);
        add(w, "\"");
    } else {
        jinja_run_fail(w->run, "keys must be str, int, float, bool or None, not %s", jinja_value_type(key));
    }
}

/* Before an item: the separator behind the one before, and a line of its own where lines are indented. */
static void begin_item(struct writer *w, bool first)
{
    if (!first)
        jinja_string_add_all(&w->out, w->between_items);
    if (!w->has_indent)
        return;
    add(w, "\n");
    jinja_string_add_repeated(&w->out, w->indent, w->depth);
}

static void end_items(struct writer *w, const char *close)
{
    w->depth--;
    if (w->has_indent) {
        add(w, "\n");
        jinja_string_add_repeated(&w->out, w->indent, w->depth);
    }
    add(w, close);
}

static void write_list(struct writer *w, const struct jinja_list *list)
{
    add(w, "[");
    w->depth++;
    for (size_t i = 0; i < list->n && jinja_run_step(w->run, 1); i++) {
        begin_item(w, i == 0);
        write_value(w, list->items[i]);
    }
    end_items(w, "]");
}

/* The order of the keys: as they are, or sorted (a merge from the bottom up; indexes in two arrays). */
static size_t *order_keys(struct writer *w, const struct jinja_dict *dict)
{
    size_t n = dict->n;
    size_t *from = jinja_run_alloc(w->run, n, sizeof *from), *to = jinja_run_alloc(w->run, n, sizeof *to);
    if (!from || !to)
        return NULL;
    for (size_t i = 0; i < n; i++)
        from[i] = i;
    for (size_t width = 1; w->sort && width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t middle = start + width < n ? start + width : n,
                   end = middle + width < n ? middle + width : n;
            size_t a = start, b = middle;
            for (size_t i = start; i < end && jinja_run_step(w->run, 1); i++) {
                bool later =
                    a == middle || (b < end && jinja_math_is_less(w->run, dict->entries[from[b]].key,
                                                                  dict->entries[from[a]].key, false, "<"));
                to[i] = later ? from[b++] : from[a++];
            }
        }
        size_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static void write_dict(struct writer *w, const struct jinja_dict *dict)
{
    size_t *order = order_keys(w, dict);
    add(w, "{");
    w->depth++;
    for (size_t i = 0; i < dict->n && jinja_run_step(w->run, 1); i++) {
        const struct jinja_entry *e = &dict->entries[order[i]];
        begin_item(w, i == 0);
        write_key(w, e->key);
        jinja_string_add_all(&w->out, w->after_key);
        write_value(w, e->value);
    }
    end_items(w, "}");
}

static void write_nested(struct writer *w, struct jinja_value v)
{
    if (!jinja_run_enter(w->run))
        return;
    bool list = v.kind != JINJA_DICT;
    if ((list ? v.list->n : v.dict->n) == 0)
        add(w, list ? "[]" : "{}");
    else if (list)
        write_list(w, v.list);
    else
        write_dict(w, v.dict);
    jinja_run_leave(w->run);
}

static void write_value(struct writer *w, struct jinja_value v)
{
    switch (v.kind) {
    case JINJA_NONE:
        add(w, "null");
        break;
    case JINJA_BOOL:
        add(w, v.boolean ? "true" : "false");
        break;
    case JINJA_FLOAT:
        write_float(w, v.real);
        break;
    case JINJA_INT:
    case JINJA_BIG:
        jinja_repr_add_value(&w->out, v);
        break;
    case JINJA_STRING:
        write_string(w, v.string);
        break;
    case JINJA_LIST:
    case JINJA_TUPLE:
    case JINJA_DICT:
        write_nested(w, v);
        break;
    default:
        jinja_run_fail(w->run, "Object of type %s is not JSON serializable", jinja_value_type(v));
        break;
    }
}

static bool read_separators(struct writer *w, struct jinja_value v)
{
    if (v.kind == JINJA_MISSING || v.kind == JINJA_NONE)
        return true;
    if ((v.kind != JINJA_LIST && v.kind != JINJA_TUPLE) || v.list->n != 2 ||
        v.list->items[0].kind != JINJA_STRING || v.list->items[1].kind != JINJA_STRING) {
        jinja_run_fail(w->run, "separators must be two str");
        return false;
    }
    w->between_items = v.list->items[0].string;
    w->after_key = v.list->items[1].string;
    return true;
}

static const struct jinja_string *read_indent(struct jinja_run *run, struct jinja_value v)
{
    static const struct jinja_string blank = {.text = " ", .n = 1, .n_char = 1};
    if (v.kind == JINJA_STRING)
        return v.string;
    int64_t n = jinja_call_whole(run, v, 0);
    struct jinja_builder b = jinja_string_build(run);
    jinja_string_add_repeated(&b, &blank, n > 0 ? (size_t)n : 0);
    return jinja_string_done(&b).string;
}

struct jinja_value jinja_json_write(struct jinja_run *run, struct jinja_value v,
                                    const struct jinja_value options[4])
{
    static const struct jinja_string comma = {.text = ",", .n = 1, .n_char = 1},
                                     comma_blank = {.text = ", ", .n = 2, .n_char = 2},
                                     colon_blank = {.text = ": ", .n = 2, .n_char = 2};
    struct writer w = {.run = run, .out = jinja_string_build(run)};
    w.ascii = jinja_call_flag(run, options[0], false);
    w.has_indent = options[1].kind != JINJA_MISSING && options[1].kind != JINJA_NONE;
    w.indent = w.has_indent ? read_indent(run, options[1]) : NULL;
    w.sort = jinja_call_flag(run, options[3], false);
    w.between_items = w.has_indent ? &comma : &comma_blank;
    w.after_key = &colon_blank;
    if (read_separators(&w, options[2]))
        write_value(&w, v);
    return jinja_string_done(&w.out);
}

/* ---- reading ---- */

struct reader {
    struct jinja_run *run;
    struct jsonread json;
    enum jinja_origin origin;
};

static struct jinja_value read_big(struct reader *r)
{
    struct jinja_string *s = jinja_run_alloc(r->run, 1, sizeof *s);
    char *digits = jinja_run_alloc(r->run, r->json.n_string + 1, 1); /* the zero behind them is read, too */
    if (!s || !digits)
        return jinja_value_none();
    memcpy(digits, r->json.string, r->json.n_string);
    *s = (struct jinja_string){.text = digits, .n = r->json.n_string, .n_char = r->json.n_string};
    return (struct jinja_value){.kind = JINJA_BIG, .string = s};
}

/* A value that is no collection. */
static struct jinja_value read_scalar(struct reader *r)
{
    switch (r->json.kind) {
    case JSONREAD_STRING:
    case JSONREAD_KEY:
        return jinja_value_text(r->run, r->json.string, r->json.n_string, r->origin);
    case JSONREAD_INT:
        return jinja_value_int(r->json.integer);
    case JSONREAD_BIG:
        return read_big(r);
    case JSONREAD_FLOAT:
        return jinja_value_float(r->json.real);
    case JSONREAD_TRUE:
    case JSONREAD_FALSE:
        return jinja_value_bool(r->json.kind == JSONREAD_TRUE);
    default:
        return jinja_value_none();
    }
}

static struct jinja_value read_any(struct reader *r);

static struct jinja_value read_list(struct reader *r)
{
    struct jinja_value list = jinja_value_list(r->run);
    while (jsonread_next(&r->json) != JSONREAD_ARRAY_END && r->json.kind != JSONREAD_ERROR && !r->run->code)
        jinja_value_push(r->run, list, read_any(r));
    return list;
}

static struct jinja_value read_dict(struct reader *r)
{
    struct jinja_value dict = jinja_value_dict(r->run);
    while (jsonread_next(&r->json) == JSONREAD_KEY && !r->run->code) {
        struct jinja_value key = read_scalar(r);
        jsonread_next(&r->json);
        jinja_value_set(r->run, dict, key, read_any(r));
    }
    return dict;
}

/* The reader limits the depth. */
static struct jinja_value read_any(struct reader *r)
{
    if (r->json.kind == JSONREAD_ARRAY)
        return read_list(r);
    return r->json.kind == JSONREAD_OBJECT ? read_dict(r) : read_scalar(r);
}

int jinja_json_read(struct jinja_run *run, const char *text, size_t n, enum jinja_origin origin,
                    struct jinja_value *ret_value, struct why *why)
{
    struct reader r = {.run = run, .origin = origin};
    jsonread_init(&r.json, text, n, why);
    jsonread_next(&r.json);
    struct jinja_value v = read_any(&r);
    if (r.json.kind != JSONREAD_ERROR && !run->code)
        jsonread_next(&r.json);
    int error = r.json.kind == JSONREAD_ERROR ? r.json.error : 0;
    jsonread_deinit(&r.json);
    if (error)
        return error;
    if (run->code)
        return why_set(why, run->code < 0 ? run->code : EX_DATAERR, "%s", run->message);
    *ret_value = v;
    return 0;
}
