/* Formatting with %: see jinja_percent.h. */
#include "config.h"
#include "src/text/jinja_percent.h"

#include <string.h>

#include "src/text/jinja_math.h"
#include "src/text/jinja_number.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"

struct percent {
    struct jinja_run *run;
    const struct jinja_string *format;
    size_t at;
    struct jinja_value values;
    size_t n_used;
    bool used_names;
    struct jinja_builder out;
};

static char current(const struct percent *p)
{
    return p->at < p->format->n ? p->format->text[p->at] : '\0';
}

static struct jinja_value take_value(struct percent *p)
{
    bool many = p->values.kind == JINJA_TUPLE;
    if (p->n_used >= (many ? p->values.list->n : 1))
        return jinja_run_fail(p->run, "not enough arguments for format string");
    size_t i = p->n_used++;
    return many ? p->values.list->items[i] : p->values;
}

/* %(name): the value of that name. */
static struct jinja_value take_named(struct percent *p)
{
    size_t from = ++p->at;
    int depth = 1;
    while (p->at < p->format->n && depth > 0) {
        depth += current(p) == '(' ? 1 : current(p) == ')' ? -1 : 0;
        p->at++;
    }
    if (depth > 0)
        return jinja_run_fail(p->run, "incomplete format key");
    if (p->values.kind != JINJA_DICT)
        return jinja_run_fail(p->run, "format requires a mapping");
    p->used_names = true;
    struct jinja_value key = jinja_string_part(p->run, p->format, from, p->at - 1 - from);
    struct jinja_value found = jinja_value_get(p->run, p->values.dict, key);
    return jinja_value_is_missing(found) ? jinja_run_fail(p->run, "a format's key is missing") : found;
}

/* Digits, or "*" for the next value. */
static int64_t read_count(struct percent *p, int64_t limit)
{
    int64_t n = 0;
    if (current(p) == '*') {
        p->at++;
        struct jinja_value v = take_value(p);
        if (v.kind != JINJA_INT && v.kind != JINJA_BOOL)
            jinja_run_fail(p->run, "* wants int");
        n = jinja_call_whole(p->run, v, 0);
    }
    while (current(p) >= '0' && current(p) <= '9' && n <= limit)
        n = n * 10 + (p->format->text[p->at++] - '0');
    if (n > limit || n < -limit)
        jinja_run_stop(p->run, JINJA_E_LIMIT, "a width or precision beyond %lld", (long long)limit);
    return p->run->code ? 0 : n;
}

static struct jinja_spec read_spec(struct percent *p, bool *ret_left)
{
    struct jinja_spec spec = {.precision = -1};
    for (; jinja_number_is_one_of(current(p), "-+ #0"); p->at++) {
        char c = current(p);
        *ret_left |= c == '-';
        if (c == '+' || (c == ' ' && spec.sign != '+'))
            spec.sign = c;
        spec.alternative |= c == '#';
        spec.zeros |= c == '0';
    }
    spec.width = read_count(p, JINJA_NUMBER_WIDTH);
    *ret_left |= spec.width < 0;
    spec.width = spec.width < 0 ? -spec.width : spec.width;
    if (current(p) == '.') {
        p->at++;
        int64_t precision = read_count(p, JINJA_NUMBER_PRECISION);
        spec.precision = precision < 0 ? 0 : precision;
    }
    if (jinja_number_is_one_of(current(p), "hlL"))
        p->at++;
    return spec;
}

static void add_percent_text(struct percent *p, struct jinja_spec *spec, bool left, struct jinja_value v)
{
    struct jinja_value text = spec->type == 's' ? jinja_repr_text(p->run, v) : jinja_repr_value(p->run, v);
    spec->align = left ? '<' : '>';
    if (!p->format->is_safe) {
        jinja_number_add_text(&p->out, spec, text.string);
        return;
    }
    struct jinja_builder b = jinja_string_build(p->run);
    jinja_string_add_escaped(&b, v.kind == JINJA_STRING ? v.string : text.string);
    jinja_number_add_text(&p->out, spec, jinja_string_done(&b).string);
}

/* Integers with a precision have at least so many digits. */
static void add_percent_number(struct percent *p, struct jinja_spec *spec, bool left, struct jinja_value v)
{
    static const struct jinja_string zero = {.text = "0", .n = 1, .n_char = 1};
    bool as_int = strchr("diuxXo", spec->type) != NULL;
    if (as_int && v.kind == JINJA_FLOAT && strchr("diu", spec->type))
        v = jinja_math_truncate(p->run, v.real);
    if (v.kind == JINJA_UNDEFINED) {
        jinja_value_fail_undefined(p->run, v);
        return;
    }
    if (!jinja_value_is_number(v) || (as_int && v.kind == JINJA_FLOAT)) {
        jinja_run_fail(p->run, "%%%c format: a real number is required, not %s", spec->type,
                       jinja_value_type(v));
        return;
    }
    if (strchr("iu", spec->type))
        spec->type = 'd';
    spec->align = left ? '<' : '>';
    if (as_int && spec->precision >= 0) {
        struct jinja_spec inner = {.sign = spec->sign,
                                   .alternative = spec->alternative,
                                   .precision = -1,
                                   .type = spec->type,
                                   .align = '=',
                                   .fill = &zero};
        int64_t i = 0;
        bool negative = jinja_value_is_whole(v, &i) && i < 0;
        inner.width =
            spec->precision + (negative || spec->sign) + (spec->alternative && spec->type != 'd' ? 2 : 0);
        if (spec->zeros && !left && inner.width < spec->width)
            inner.width = spec->width;
        struct jinja_builder b = jinja_string_build(p->run);
        jinja_number_add(&b, &inner, v);
        spec->precision = -1;
        jinja_number_add_text(&p->out, spec, jinja_string_done(&b).string);
        return;
    }
    if (spec->zeros && !left) {
        spec->align = '=';
        spec->fill = &zero;
    }
    jinja_number_add(&p->out, spec, v);
}

static void add_percent_char(struct percent *p, struct jinja_spec *spec, bool left, struct jinja_value v)
{
    struct jinja_builder b = jinja_string_build(p->run);
    int64_t code;
    spec->align = left ? '<' : '>';
    if (jinja_value_is_whole(v, &code) && code >= 0 && code < 0x110000 && (code < 0xd800 || code >= 0xe000))
        jinja_string_add_code(&b, (uint32_t)code, JINJA_INPUT); /* numbers have no marks */
    else if (v.kind == JINJA_STRING && v.string->n_char == 1)
        jinja_string_add_all(&b, v.string);
    else
        jinja_run_fail(p->run, "%%c requires int or char");
    spec->precision = -1;
    jinja_number_add_text(&p->out, spec, jinja_string_done(&b).string);
}

static void add_conversion(struct percent *p)
{
    bool left = false;
    if (current(p) == '%') {
        jinja_string_add_part(&p->out, p->format, p->at++, 1);
        return;
    }
    struct jinja_value named = current(p) == '(' ? take_named(p) : jinja_value_missing();
    struct jinja_spec spec = read_spec(p, &left);
    spec.type = current(p);
    if (p->run->code)
        return;
    p->at++;
    if (!jinja_number_is_one_of(spec.type, "srdiuxXoeEfFgGc")) {
        jinja_run_fail(p->run, spec.type ? "unsupported format character" : "incomplete format");
        return;
    }
    struct jinja_value v = jinja_value_is_missing(named) ? take_value(p) : named;
    if (spec.type == 's' || spec.type == 'r')
        add_percent_text(p, &spec, left, v);
    else if (spec.type == 'c')
        add_percent_char(p, &spec, left, v);
    else
        add_percent_number(p, &spec, left, v);
}

struct jinja_value jinja_percent_format(struct jinja_run *run, const struct jinja_string *format,
                                        struct jinja_value values)
{
    struct percent p = {.run = run, .format = format, .values = values, .out = jinja_string_build(run)};
    while (p.at < format->n && jinja_run_step(run, 1)) {
        const char *sign = memchr(format->text + p.at, '%', format->n - p.at);
        size_t end = sign ? (size_t)(sign - format->text) : format->n;
        jinja_string_add_part(&p.out, format, p.at, end - p.at);
        p.at = end + 1;
        if (sign)
            add_conversion(&p);
    }
    size_t given = values.kind == JINJA_TUPLE ? values.list->n : 1;
    /* Python takes a single value for a mapping that need not be used where it has members. */
    bool may_be_unused = values.kind == JINJA_DICT || values.kind == JINJA_LIST ||
                         values.kind == JINJA_UNDEFINED || values.kind == JINJA_VIEW ||
                         values.kind == JINJA_RANGE || p.used_names;
    if (p.n_used < given && !may_be_unused)
        return jinja_run_fail(run, "not all arguments converted during string formatting");
    return jinja_string_done_safe(&p.out, format->is_safe);
}
