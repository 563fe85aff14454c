/* Values as text: see jinja_repr.h. */
#include "config.h"
#include "src/text/jinja_repr.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/text/jinja_call.h"
#include "src/text/jinja_char.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_macro.h"
#include "src/text/jinja_run.h"

void jinja_repr_float(double x, char out[JINJA_REPR_FLOAT])
{
    enum { MAX_DIGITS = 17, LEAST_EXPONENT = -4, GREATEST_EXPONENT = 16 }; /* when Python writes exponents */
    if (isnan(x) || isinf(x)) {
        snprintf(out, JINJA_REPR_FLOAT, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    char digits[JINJA_REPR_FLOAT];
    int n = 1;
    do
        snprintf(digits, sizeof digits, "%.*e", n - 1, x);
    while (strtod(digits, NULL) != x && n++ < MAX_DIGITS);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < LEAST_EXPONENT || exponent >= GREATEST_EXPONENT) {
        /* C writes at least two digits of exponent, as Python does. */
        snprintf(out, JINJA_REPR_FLOAT, "%s", digits);
        return;
    }
    int decimals = n - 1 - exponent;
    snprintf(out, JINJA_REPR_FLOAT, "%.*f", decimals > 1 ? decimals : 1, x);
}

/* ---- strings ---- */

static void add_escape(struct jinja_builder *b, uint32_t c, enum jinja_origin origin)
{
    char text[16];
    if (c == '\n' || c == '\r' || c == '\t')
        snprintf(text, sizeof text, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else
        snprintf(text, sizeof text, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
    jinja_string_add(b, text, strlen(text), origin);
}

static void add_quoted(struct jinja_builder *b, const struct jinja_string *s)
{
    bool has_single = memchr(s->text, '\'', s->n), has_double = memchr(s->text, '"', s->n);
    char quote = has_single && !has_double ? '"' : '\'';
    jinja_string_add(b, &quote, 1, JINJA_TRUSTED);
    size_t from = 0, at = 0;
    while (at < s->n && !jinja_run_has_failed(b->run)) {
        uint32_t c = utf8_decode((const uint8_t *)s->text + at);
        size_t n = utf8_length((uint8_t)s->text[at]);
        bool escaped = c == (uint32_t)quote || c == '\\';
        if (escaped || !jinja_char_is_printable(c)) {
            jinja_string_add_part(b, s, from, at - from);
            enum jinja_origin origin = jinja_string_origin(s, at);
            if (escaped)
                jinja_string_add(b, "\\", 1, origin);
            else
                add_escape(b, c, origin);
            from = escaped ? at : at + n;
        }
        at += n;
    }
    jinja_string_add_part(b, s, from, s->n - from);
    jinja_string_add(b, &quote, 1, JINJA_TRUSTED);
}

static void add_string(struct jinja_builder *b, const struct jinja_string *s)
{
    if (s->is_safe)
        jinja_string_add_format(b, "Markup(");
    add_quoted(b, s);
    if (s->is_safe)
        jinja_string_add_format(b, ")");
}

/* ---- collections ---- */

static void add_items(struct jinja_builder *b, const struct jinja_list *list)
{
    for (size_t i = 0; i < list->n && jinja_run_step(b->run, 1); i++) {
        if (i)
            jinja_string_add_format(b, ", ");
        jinja_repr_add_value(b, list->items[i]);
    }
}

static void add_members(struct jinja_builder *b, const struct jinja_dict *dict)
{
    jinja_string_add_format(b, "{");
    for (size_t i = 0; i < dict->n && jinja_run_step(b->run, 1); i++) {
        if (i)
            jinja_string_add_format(b, ", ");
        jinja_repr_add_value(b, dict->entries[i].key);
        jinja_string_add_format(b, ": ");
        jinja_repr_add_value(b, dict->entries[i].value);
    }
    jinja_string_add_format(b, "}");
}

static void add_view(struct jinja_builder *b, const struct jinja_view *view)
{
    static const char *const names[] = {"dict_keys", "dict_values", "dict_items"};
    jinja_string_add_format(b, "%s([", names[view->part]);
    for (size_t i = 0; i < view->dict->n && jinja_run_step(b->run, 1); i++) {
        const struct jinja_entry *e = &view->dict->entries[i];
        jinja_string_add_format(b, "%s%s", i ? ", " : "", view->part == JINJA_ITEMS ? "(" : "");
        if (view->part != JINJA_VALUES)
            jinja_repr_add_value(b, e->key);
        if (view->part == JINJA_ITEMS)
            jinja_string_add_format(b, ", ");
        if (view->part != JINJA_KEYS)
            jinja_repr_add_value(b, e->value);
        if (view->part == JINJA_ITEMS)
            jinja_string_add_format(b, ")");
    }
    jinja_string_add_format(b, "])");
}

static void add_collection(struct jinja_builder *b, struct jinja_value v)
{
    if (!jinja_run_enter(b->run))
        return;
    switch (v.kind) {
    case JINJA_LIST:
        jinja_string_add_format(b, "[");
        add_items(b, v.list);
        jinja_string_add_format(b, "]");
        break;
    case JINJA_TUPLE:
        jinja_string_add_format(b, "(");
        add_items(b, v.list);
        jinja_string_add_format(b, v.list->n == 1 ? ",)" : ")");
        break;
    case JINJA_NAMESPACE:
        jinja_string_add_format(b, "<Namespace ");
        add_members(b, v.dict);
        jinja_string_add_format(b, ">");
        break;
    case JINJA_DICT:
        add_members(b, v.dict);
        break;
    default:
        add_view(b, v.view);
        break;
    }
    jinja_run_leave(b->run);
}

/* Objects that Python shows with their address, which no two runs share, show their kind here. */
static void add_object(struct jinja_builder *b, struct jinja_value v)
{
    switch (v.kind) {
    case JINJA_RANGE:
        jinja_string_add_format(b, "range(%" PRId64 ", %" PRId64, v.span->start, v.span->stop);
        if (v.span->step != 1)
            jinja_string_add_format(b, ", %" PRId64, v.span->step);
        jinja_string_add_format(b, ")");
        break;
    case JINJA_LOOP:
        jinja_string_add_format(b, "<LoopContext %" PRId64 "/%" PRId64 ">", v.loop->index0 + 1,
                                jinja_iter_loop_length(b->run, v.loop));
        break;
    case JINJA_MACRO:
        jinja_call_add_macro(b, v.macro);
        break;
    default:
        jinja_string_add_format(b, "<%s>", jinja_value_type(v));
        break;
    }
}

void jinja_repr_add_value(struct jinja_builder *b, struct jinja_value v)
{
    char text[JINJA_REPR_FLOAT];
    switch (v.kind) {
    case JINJA_UNDEFINED:
    case JINJA_MISSING:
        jinja_string_add_format(b, "Undefined");
        break;
    case JINJA_NONE:
        jinja_string_add_format(b, "None");
        break;
    case JINJA_BOOL:
        jinja_string_add_format(b, v.boolean ? "True" : "False");
        break;
    case JINJA_INT:
        jinja_string_add_format(b, "%" PRId64, v.integer);
        break;
    case JINJA_FLOAT:
        jinja_repr_float(v.real, text);
        jinja_string_add_format(b, "%s", text);
        break;
    case JINJA_BIG:
        jinja_string_add_all(b, v.string);
        break;
    case JINJA_STRING:
        add_string(b, v.string);
        break;
    case JINJA_LIST:
    case JINJA_TUPLE:
    case JINJA_DICT:
    case JINJA_VIEW:
    case JINJA_NAMESPACE:
        add_collection(b, v);
        break;
    default:
        add_object(b, v);
        break;
    }
}

void jinja_repr_add_text(struct jinja_builder *b, struct jinja_value v)
{
    if (v.kind == JINJA_STRING)
        jinja_string_add_all(b, v.string);
    else if (v.kind != JINJA_UNDEFINED)
        jinja_repr_add_value(b, v);
}

struct jinja_value jinja_repr_value(struct jinja_run *run, struct jinja_value v)
{
    struct jinja_builder b = jinja_string_build(run);
    jinja_repr_add_value(&b, v);
    return jinja_string_done(&b);
}

struct jinja_value jinja_repr_text(struct jinja_run *run, struct jinja_value v)
{
    if (v.kind == JINJA_STRING)
        return jinja_string_safe(run, v.string, false);
    struct jinja_builder b = jinja_string_build(run);
    jinja_repr_add_text(&b, v);
    return jinja_string_done(&b);
}

const char *jinja_repr_short(struct jinja_run *run, struct jinja_value v)
{
    enum { MOST = 100 }; /* bytes; one that cuts a character is made visible where the sentence is made */
    const struct jinja_string *s = jinja_repr_value(run, v).string;
    size_t n = s->n < MOST ? s->n : MOST;
    char *text = jinja_run_alloc(run, n + 1, 1);
    if (!text)
        return "";
    memcpy(text, s->text, n);
    text[n] = '\0';
    return text;
}
