/* Filters on single values: see jinja_filter.h. */
#include "config.h"
#include "src/text/jinja_filter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/text/jinja_char.h"
#include "src/text/jinja_get.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_json.h"
#include "src/text/jinja_literal.h"
#include "src/text/jinja_math.h"
#include "src/text/jinja_number.h"
#include "src/text/jinja_percent.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"

#define FILTER(name)                                                                     \
    static struct jinja_value filter_##name(struct jinja_run *run, struct jinja_value v, \
                                            const struct jinja_args *args)

/* What text filters work on: the string, or str() of anything else. */
static const struct jinja_string *text_of(struct jinja_run *run, struct jinja_value v)
{
    return v.kind == JINJA_STRING ? v.string : jinja_repr_text(run, v).string;
}

FILTER(abs)
{
    (void)args;
    return jinja_math_absolute(run, v);
}

FILTER(attr)
{
    const struct jinja_string *name = jinja_call_string(run, args->v[0]);
    struct jinja_value found = name ? jinja_get_attribute(run, v, args->v[0]) : jinja_value_none();
    /* Attributes only: what was found as a member is not meant. */
    if (name && v.kind == JINJA_DICT && found.kind != JINJA_METHOD)
        return jinja_value_undefined_in(run, v, args->v[0]);
    return found;
}

FILTER(capitalize)
{
    (void)args;
    return jinja_string_capitalize(run, text_of(run, v));
}

FILTER(center)
{
    const struct jinja_string *s = text_of(run, v);
    int64_t width = jinja_call_whole(run, args->v[0], 80), all = width - (int64_t)s->n_char;
    /* The odd blank goes to the left where the width is odd, as str.center does. */
    int64_t left = all > 0 ? all / 2 + (all & width & 1) : 0;
    struct jinja_builder b = jinja_string_build(run);
    struct jinja_string blank = {.text = " ", .n = 1, .n_char = 1};
    jinja_string_add_repeated(&b, &blank, (size_t)left);
    jinja_string_add_all(&b, s);
    jinja_string_add_repeated(&b, &blank, all > 0 ? (size_t)(all - left) : 0);
    return jinja_string_done_safe(&b, s->is_safe);
}

FILTER(length)
{
    (void)args;
    int64_t n = jinja_value_length(run, v);
    return n < 0 ? jinja_run_fail(run, "object of type '%s' has no len()", jinja_value_type(v))
                 : jinja_value_int(n);
}

FILTER(default)
{
    if (v.kind == JINJA_UNDEFINED ||
        (jinja_call_flag(run, args->v[1], false) && !jinja_value_is_true(run, v)))
        return jinja_value_is_missing(args->v[0]) ? jinja_string_literal(run, "") : args->v[0];
    return v;
}

static struct jinja_value escape(struct jinja_run *run, const struct jinja_string *s)
{
    struct jinja_builder b = jinja_string_build(run);
    jinja_string_add_escaped(&b, s);
    return jinja_string_done_safe(&b, true);
}

FILTER(escape)
{
    (void)args;
    return escape(run, text_of(run, v));
}

FILTER(forceescape)
{
    (void)args;
    return escape(run, jinja_string_safe(run, text_of(run, v), false).string);
}

FILTER(float)
{
    struct jinja_value otherwise = jinja_value_is_missing(args->v[0]) ? jinja_value_float(0) : args->v[0];
    double x;
    if (v.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, v);
    if (jinja_value_is_number(v))
        return jinja_value_float(jinja_math_float(v));
    if (v.kind == JINJA_STRING && jinja_literal_parse_float(v.string->text, v.string->n, &x))
        return jinja_value_float(x);
    return otherwise;
}

FILTER(format)
{
    if (args->n && args->named && args->named->n)
        return jinja_run_fail(run, "can't handle positional and keyword arguments at the same time");
    struct jinja_value operand;
    if (args->named && args->named->n) {
        operand = jinja_value_dict(run);
        for (size_t i = 0; i < args->named->n; i++)
            jinja_value_set(run, operand, args->named->entries[i].key, args->named->entries[i].value);
    } else {
        operand = jinja_value_sequence(run, JINJA_TUPLE, args->n);
        for (size_t i = 0; i < args->n; i++)
            jinja_value_push(run, operand, args->v[i]);
    }
    return jinja_percent_format(run, text_of(run, v), operand);
}

FILTER(indent)
{
    if (v.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, v);
    if (v.kind != JINJA_STRING)
        return jinja_run_fail(run, "indent needs a str, not %s", jinja_value_type(v));
    bool first = jinja_call_flag(run, args->v[1], false), blank = jinja_call_flag(run, args->v[2], false);
    struct jinja_string blanks = {.text = " ", .n = 1, .n_char = 1};
    const struct jinja_string *unit = args->v[0].kind == JINJA_STRING ? args->v[0].string : &blanks;
    int64_t times = args->v[0].kind == JINJA_STRING ? 1 : jinja_call_whole(run, args->v[0], 4);
    const struct jinja_string *s = v.string;
    struct jinja_builder b = jinja_string_build(run);
    size_t at = 0, next;
    enum jinja_origin origin = JINJA_TRUSTED; /* of the line break before this line */
    bool is_first = true;
    do {
        size_t end = jinja_string_line(s, at, &next);
        if (!is_first)
            jinja_string_add(&b, "\n", 1, origin);
        if (is_first ? first : blank || end > at)
            jinja_string_add_repeated(&b, unit, times > 0 ? (size_t)times : 0);
        jinja_string_add_part(&b, s, at, end - at);
        is_first = false;
        origin = end < s->n ? jinja_string_origin(s, end) : JINJA_TRUSTED;
        /* A line break at the end begins no line, but the filter adds one of its own. */
        if (next == end || !jinja_run_step(run, 1))
            break;
        at = next;
    } while (true);
    return jinja_string_done_safe(&b, s->is_safe);
}

FILTER(int)
{
    struct jinja_value otherwise = jinja_value_is_missing(args->v[0]) ? jinja_value_int(0) : args->v[0];
    int64_t base = jinja_call_whole(run, args->v[1], 10), i;
    bool large;
    double x;
    if (v.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, v);
    if (jinja_value_is_whole(v, &i))
        return jinja_value_int(i);
    if (v.kind == JINJA_BIG)
        return v;
    if (v.kind == JINJA_FLOAT)
        return isnan(v.real) ? otherwise : jinja_math_truncate(run, v.real);
    if (v.kind != JINJA_STRING)
        return otherwise;
    if ((base == 0 || (base >= 2 && base <= 36)) &&
        jinja_literal_parse_int(v.string->text, v.string->n, (int)base, &i, &large))
        return large ? jinja_run_fail(run, "an integer beyond 64 bits") : jinja_value_int(i);
    if (!jinja_literal_parse_float(v.string->text, v.string->n, &x) || isnan(x) || isinf(x))
        return otherwise;
    return jinja_math_truncate(run, x);
}

FILTER(lower)
{
    (void)args;
    return jinja_string_lower(run, text_of(run, v));
}

FILTER(upper)
{
    (void)args;
    return jinja_string_upper(run, text_of(run, v));
}

FILTER(title)
{
    (void)args;
    return jinja_string_headline(run, text_of(run, v));
}

FILTER(replace)
{
    const struct jinja_string *s = jinja_repr_text(run, v).string,
                              *old = jinja_repr_text(run, args->v[0]).string,
                              *new = jinja_repr_text(run, args->v[1]).string;
    int64_t count = args->v[2].kind == JINJA_NONE ? -1 : jinja_call_whole(run, args->v[2], -1);
    return jinja_string_replace(run, s, old, new, count);
}

FILTER(round)
{
    int64_t precision = jinja_call_whole(run, args->v[0], 0), i;
    const struct jinja_string *method = jinja_call_string(run, args->v[1]);
    if (v.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, v);
    if (v.kind == JINJA_BIG || !jinja_value_is_number(v))
        return jinja_run_fail(run, "type %s doesn't define __round__ method", jinja_value_type(v));
    if (!method || jinja_string_is(method, "common"))
        return jinja_value_is_whole(v, &i) ? jinja_number_round_int(run, i, precision)
                                           : jinja_number_round(run, v.real, precision);
    bool up = jinja_string_is(method, "ceil");
    if (!up && !jinja_string_is(method, "floor"))
        return jinja_run_fail(run, "method must be common, ceil or floor");
    struct jinja_value scale =
        jinja_math_apply(run, JINJA_POW, jinja_value_int(10), jinja_value_int(precision));
    double scaled = jinja_math_float(jinja_math_apply(run, JINJA_MUL, v, scale));
    struct jinja_value whole = jinja_math_truncate(run, up ? ceil(scaled) : floor(scaled));
    return jinja_math_apply(run, JINJA_DIV, whole, scale);
}

FILTER(safe)
{
    (void)args;
    return jinja_string_safe(run, text_of(run, v), true);
}

FILTER(string)
{
    (void)args;
    return v.kind == JINJA_STRING ? v : jinja_repr_text(run, v);
}

FILTER(tojson)
{
    return jinja_json_write(run, v, args->v);
}

FILTER(trim)
{
    return jinja_string_strip(run, text_of(run, v), jinja_call_string(run, args->v[0]), JINJA_BOTH);
}

FILTER(truncate)
{
    int64_t length = jinja_call_whole(run, args->v[0], 255), leeway = 5;
    bool killwords = jinja_call_flag(run, args->v[1], false);
    struct jinja_string dots = {.text = "...", .n = 3, .n_char = 3};
    const struct jinja_string *end =
        jinja_value_is_missing(args->v[2]) ? &dots : jinja_call_string(run, args->v[2]);
    if (args->v[3].kind != JINJA_NONE)
        leeway = jinja_call_whole(run, args->v[3], leeway);
    int64_t n_char = jinja_value_length(run, v);
    if (n_char < 0 || !end)
        return jinja_run_fail(run, "truncate needs a str, not %s", jinja_value_type(v));
    if (length < (int64_t)end->n_char || leeway < 0)
        return jinja_run_fail(
            run, "truncate: a length of %lld is shorter than its end, or a leeway of %lld negative",
            (long long)length, (long long)leeway);
    if ((uint64_t)n_char <= (uint64_t)length + (uint64_t)leeway)
        return v;
    if (v.kind != JINJA_STRING)
        return jinja_run_fail(run, "truncate needs a str, not %s", jinja_value_type(v));
    size_t n = jinja_string_offset(v.string, (size_t)length - end->n_char);
    struct jinja_string blank = {.text = " ", .n = 1, .n_char = 1};
    size_t cut = killwords ? SIZE_MAX : jinja_string_find_last(v.string, &blank, n);
    struct jinja_builder b = jinja_string_build(run);
    jinja_string_add_part(&b, v.string, 0, cut == SIZE_MAX ? n : cut);
    jinja_string_add_all(&b, end);
    return jinja_string_done(&b);
}

static void add_quoted(struct jinja_builder *b, const struct jinja_string *s, bool in_query)
{
    for (size_t i = 0; i < s->n; i++) {
        uint8_t c = (uint8_t)s->text[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     (c && c < 0x80 && strchr("_.-~", c)) || (c == '/' && !in_query);
        char text[4];
        if (plain || (c == ' ' && in_query))
            snprintf(text, sizeof text, "%c", plain ? c : '+');
        else
            snprintf(text, sizeof text, "%%%02X", c);
        jinja_string_add(b, text, strlen(text), jinja_string_origin(s, i));
    }
}

FILTER(urlencode)
{
    (void)args;
    struct jinja_builder b = jinja_string_build(run);
    if (v.kind == JINJA_STRING || !jinja_iter_can(v)) {
        add_quoted(&b, text_of(run, v), false);
        return jinja_string_done(&b);
    }
    struct jinja_view view = {v.dict, JINJA_ITEMS};
    struct jinja_value items =
        v.kind == JINJA_DICT ? (struct jinja_value){.kind = JINJA_VIEW, .view = &view} : v;
    struct jinja_iter it = jinja_iter_over(run, items);
    struct jinja_value item;
    for (bool first = true; jinja_iter_next(run, &it, &item); first = false) {
        struct jinja_value pair = jinja_iter_list(run, item);
        if (pair.list->n != 2)
            return jinja_run_fail(run, "urlencode needs pairs, not %zu values", pair.list->n);
        if (!first)
            jinja_string_add(&b, "&", 1, JINJA_TRUSTED);
        add_quoted(&b, text_of(run, pair.list->items[0]), true);
        jinja_string_add(&b, "=", 1, JINJA_TRUSTED);
        add_quoted(&b, text_of(run, pair.list->items[1]), true);
    }
    return jinja_string_done(&b);
}

FILTER(wordcount)
{
    (void)args;
    const struct jinja_string *s = text_of(run, v);
    int64_t count = 0;
    bool inside = false;
    for (size_t i = 0; i < s->n; i += utf8_length((uint8_t)s->text[i])) {
        uint32_t c = utf8_decode((const uint8_t *)s->text + i);
        bool is_word = c == '_' || jinja_char_is_alnum(c);
        count += is_word && !inside;
        inside = is_word;
    }
    jinja_run_read(run, s->n);
    return jinja_value_int(count);
}

static const struct jinja_function filters[] = {
    {"abs", "/", filter_abs},
    {"attr", "name", filter_attr},
    {"capitalize", "", filter_capitalize},
    {"center", "?width", filter_center},
    {"count", "/", filter_length},
    {"d", "?default_value boolean", filter_default},
    {"default", "?default_value boolean", filter_default},
    {"e", "/", filter_escape},
    {"escape", "/", filter_escape},
    {"float", "?default", filter_float},
    {"forceescape", "", filter_forceescape},
    {"format", "*", filter_format},
    {"indent", "?width first blank", filter_indent},
    {"int", "?default base", filter_int},
    {"length", "/", filter_length},
    {"lower", "", filter_lower},
    {"replace", "old new ?count", filter_replace},
    {"round", "?precision method", filter_round},
    {"safe", "", filter_safe},
    {"string", "", filter_string},
    {"title", "", filter_title},
    {"tojson", "?ensure_ascii indent separators sort_keys", filter_tojson},
    {"trim", "?chars", filter_trim},
    {"truncate", "?length killwords end leeway", filter_truncate},
    {"upper", "", filter_upper},
    {"urlencode", "", filter_urlencode},
    {"wordcount", "", filter_wordcount},
};

const struct jinja_function *jinja_filter_find(const struct jinja_string *name)
{
    const struct jinja_function *f = jinja_call_find(filters, sizeof filters / sizeof filters[0], name);
    f = f ? f : jinja_call_find(jinja_filter_seq, jinja_filter_seq_n, name);
    return f ? f : jinja_call_find(jinja_filter_lazy, jinja_filter_lazy_n, name);
}

struct jinja_value jinja_filter_apply(struct jinja_run *run, struct jinja_value name, struct jinja_value v,
                                      const struct jinja_args *args)
{
    const struct jinja_function *f = name.kind == JINJA_STRING ? jinja_filter_find(name.string) : NULL;
    if (f)
        return jinja_call_function(run, f, v, args);
    return jinja_run_fail(run, "No filter named %s.", jinja_repr_short(run, name));
}
