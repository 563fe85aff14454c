/* Formatting with braces: see jinja_braces.h. */
#include "config.h"
#include "src/text/jinja_braces.h"

#include <string.h>

#include "src/base/utf8.h"
#include "src/text/jinja_char.h"
#include "src/text/jinja_get.h"
#include "src/text/jinja_math.h"
#include "src/text/jinja_number.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"

struct braces {
    struct jinja_run *run;
    const struct jinja_args *args;
    size_t n_auto;
    bool by_number;
};

static void add_braces(struct braces *f, struct jinja_builder *out, const struct jinja_string *format,
                       int depth);

/* A number in decimal digits of any script from *at on, which moves behind it; false: there is none. */
static bool read_number(const struct jinja_string *s, size_t *at, size_t to, int64_t *ret_number)
{
    enum { MOST = 1 << 30 }; /* larger ones stay about there: beyond every limit */
    size_t from = *at;
    int digit;
    *ret_number = 0;
    while (*at < to && (digit = jinja_char_decimal(utf8_decode((const uint8_t *)s->text + *at))) >= 0) {
        if (*ret_number < MOST)
            *ret_number = *ret_number * 10 + digit;
        *at += utf8_length((uint8_t)s->text[*at]);
    }
    return *at > from;
}

static bool all_digits(const struct jinja_string *s, size_t from, size_t to, int64_t *ret_number)
{
    return read_number(s, &from, to, ret_number) && from == to;
}

static struct jinja_value first_of(struct braces *f, const struct jinja_string *s, size_t from, size_t to)
{
    int64_t i;
    if (from == to || all_digits(s, from, to, &i)) {
        if (from == to ? f->by_number : f->n_auto > 0)
            return jinja_run_fail(f->run, "cannot switch between automatic and manual field numbering");
        if (from == to)
            i = (int64_t)f->n_auto++;
        else
            f->by_number = true;
        return (size_t)i < f->args->n
                   ? f->args->v[i]
                   : jinja_run_fail(f->run, "Replacement index %lld out of range", (long long)i);
    }
    struct jinja_value key = jinja_string_part(f->run, s, from, to - from);
    struct jinja_value found =
        f->args->named ? jinja_value_get(f->run, f->args->named, key) : jinja_value_missing();
    return jinja_value_is_missing(found) ? jinja_run_fail(f->run, "a format's key is missing") : found;
}

/* name.attribute[element]: from `from` to `to`. */
static struct jinja_value field_value(struct braces *f, const struct jinja_string *s, size_t from, size_t to)
{
    size_t end = from;
    while (end < to && s->text[end] != '.' && s->text[end] != '[')
        end++;
    struct jinja_value v = first_of(f, s, from, end);
    while (end < to && !f->run->code) {
        bool dot = s->text[end] == '.';
        size_t begin = ++end;
        while (end < to && (dot ? s->text[end] != '.' && s->text[end] != '[' : s->text[end] != ']'))
            end++;
        int64_t i;
        struct jinja_value key = jinja_string_part(f->run, s, begin, end - begin);
        if (end == begin || (!dot && end == to))
            return jinja_run_fail(f->run, "a field name with an empty or open part");
        if (!dot && all_digits(s, begin, end, &i))
            key = jinja_value_int(i);
        v = dot ? jinja_get_attribute(f->run, v, key) : jinja_get_element(f->run, v, key);
        end += !dot;
    }
    return v;
}

/* [[fill]align][sign][#][0][width][grouping][.precision][type] */
static bool parse_spec(struct jinja_run *run, const struct jinja_string *s, bool is_float,
                       struct jinja_spec *spec)
{
    static const struct jinja_string zero = {.text = "0", .n = 1, .n_char = 1};
    *spec = (struct jinja_spec){.precision = -1};
    const char *t = s->text;
    size_t at = 0, first = s->n ? utf8_length((uint8_t)t[0]) : 0;
    if (first && first < s->n && jinja_number_is_one_of(t[first], "<>=^")) {
        spec->fill = jinja_string_part(run, s, 0, first).string;
        spec->align = t[first];
        at = first + 1;
    } else if (s->n && jinja_number_is_one_of(t[0], "<>=^")) {
        spec->align = t[at++];
    }
    if (at < s->n && jinja_number_is_one_of(t[at], "+- "))
        spec->sign = t[at++];
    if (at < s->n && t[at] == '#')
        spec->alternative = t[at++];
    if (at < s->n && t[at] == '0') {
        at++;
        spec->zeros = true;
        spec->fill = spec->fill ? spec->fill : &zero;
    }
    read_number(s, &at, s->n, &spec->width);
    if (at < s->n && (t[at] == ',' || t[at] == '_'))
        spec->grouping = t[at++];
    if (at < s->n && t[at] == '.' && (at++, !read_number(s, &at, s->n, &spec->precision)))
        return false;
    if (at < s->n && t[at] == '\0' && !is_float) /* to Python it is no type, but only there */
        return false;
    if (at < s->n)
        spec->type = t[at++];
    return at == s->n;
}

static bool is_type(struct jinja_value v, const struct jinja_spec *spec)
{
    if (spec->type == 0)
        return true;
    if (v.kind == JINJA_STRING)
        return spec->type == 's';
    return strchr(v.kind == JINJA_FLOAT ? "eEfFgGn%" : "bcdoxXneEfFgG%", spec->type) != NULL;
}

static bool fits(struct jinja_value v, const struct jinja_spec *spec)
{
    bool text = v.kind == JINJA_STRING,
         whole = !text && v.kind != JINJA_FLOAT && (!spec->type || strchr("bcdoxXn", spec->type));
    if (!is_type(v, spec))
        return false;
    if (text && (spec->sign || spec->alternative || spec->grouping || spec->align == '='))
        return false;
    if (whole && spec->precision >= 0)
        return false;
    if (spec->grouping == ',' && spec->type && strchr("boxXcn", spec->type))
        return false;
    return !(spec->grouping == '_' && spec->type && strchr("cn", spec->type));
}

static void add_char(struct braces *f, struct jinja_builder *out, struct jinja_value v,
                     struct jinja_spec *spec)
{
    int64_t code = jinja_call_whole(f->run, v, 0);
    struct jinja_builder b = jinja_string_build(f->run);
    if (spec->sign || spec->alternative)
        jinja_run_fail(f->run, "Sign and # are not allowed with format specifier 'c'");
    else if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        jinja_run_fail(f->run, "%%c arg not in range(0x110000)");
    else
        jinja_string_add_code(&b, (uint32_t)code, JINJA_INPUT); /* numbers have no marks */
    spec->align = spec->align == '=' ? '>' : spec->align;
    jinja_number_add_text(out, spec, jinja_string_done(&b).string);
}

/* A string or number as a specification that fits it says. */
static void add_as(struct braces *f, struct jinja_builder *out, struct jinja_value v, struct jinja_spec *spec)
{
    if (v.kind == JINJA_BOOL && spec->type == 0) /* without a type it is a number */
        v = jinja_value_int(v.boolean);
    if (!spec->align)
        spec->align = v.kind == JINJA_STRING ? '<' : spec->zeros ? '=' : '>';
    if (v.kind == JINJA_STRING)
        jinja_number_add_text(out, spec, v.string);
    else if (spec->type == 'c')
        add_char(f, out, v, spec);
    else
        jinja_number_add(out, spec, v);
}

static void add_value(struct braces *f, struct jinja_builder *out, struct jinja_value v,
                      const struct jinja_string *format)
{
    struct jinja_spec spec;
    if (format->n == 0) {
        jinja_repr_add_text(out, v);
        return;
    }
    if (!jinja_value_is_number(v) && v.kind != JINJA_STRING) {
        jinja_run_fail(f->run, "unsupported format string passed to %s.__format__", jinja_value_type(v));
        return;
    }
    bool ok = parse_spec(f->run, format, v.kind == JINJA_FLOAT, &spec);
    if (spec.width > JINJA_NUMBER_WIDTH ||
        (spec.precision > JINJA_NUMBER_PRECISION && v.kind != JINJA_STRING))
        jinja_run_stop(f->run, JINJA_E_LIMIT, "a width beyond %d or a precision beyond %d",
                       JINJA_NUMBER_WIDTH, JINJA_NUMBER_PRECISION);
    else if (!ok || !fits(v, &spec))
        jinja_run_fail(f->run, "Invalid format specifier for object of type '%s'", jinja_value_type(v));
    else
        add_as(f, out, v, &spec);
}

/* {name!conversion:spec}, whose inside is from `from` to `to`. */
static void add_field(struct braces *f, struct jinja_builder *out, const struct jinja_string *s, size_t from,
                      size_t to, int depth)
{
    size_t end = from;
    int brackets = 0;
    char conversion = 0;
    while (end < to && (brackets || (s->text[end] != ':' && s->text[end] != '!'))) {
        brackets = s->text[end] == '[' ? 1 : s->text[end] == ']' ? 0 : brackets;
        end++;
    }
    struct jinja_value v = field_value(f, s, from, end);
    if (end < to && s->text[end] == '!') {
        conversion = end + 1 < to ? s->text[end + 1] : ' ';
        end += 2;
        if (!jinja_number_is_one_of(conversion, "rsa") || (end < to && s->text[end] != ':') || end > to) {
            jinja_run_fail(f->run, "an unknown conversion in a format");
            return;
        }
    }
    if (conversion)
        v = conversion == 's' ? jinja_repr_text(f->run, v) : jinja_repr_value(f->run, v);
    struct jinja_builder spec = jinja_string_build(f->run);
    if (end < to) {
        const struct jinja_string *inner = jinja_string_part(f->run, s, end + 1, to - end - 1).string;
        add_braces(f, &spec, inner, depth + 1);
    }
    const struct jinja_string *format = jinja_string_done(&spec).string;
    if (!f->run->code)
        add_value(f, out, v, format);
}

static size_t field_end(const struct jinja_string *s, size_t at)
{
    for (int depth = 1; at < s->n; at++) {
        depth += s->text[at] == '{' ? 1 : s->text[at] == '}' ? -1 : 0;
        if (depth == 0)
            return at;
    }
    return SIZE_MAX;
}

static void add_braces(struct braces *f, struct jinja_builder *out, const struct jinja_string *s, int depth)
{
    enum { MAX_DEPTH = 2 };
    size_t at = 0;
    if (depth >= MAX_DEPTH) {
        jinja_run_fail(f->run, "Max string recursion exceeded");
        return;
    }
    while (at < s->n && jinja_run_step(f->run, 1)) {
        size_t from = at;
        while (at < s->n && s->text[at] != '{' && s->text[at] != '}')
            at++;
        jinja_string_add_part(out, s, from, at - from);
        if (at == s->n)
            return;
        if (at + 1 < s->n && s->text[at + 1] == s->text[at]) {
            jinja_string_add_part(out, s, at, 1);
            at += 2;
            continue;
        }
        size_t end = s->text[at] == '{' ? field_end(s, at + 1) : SIZE_MAX;
        if (end == SIZE_MAX) {
            jinja_run_fail(f->run, "Single '%c' encountered in format string", s->text[at]);
            return;
        }
        add_field(f, out, s, at + 1, end, depth);
        at = end + 1;
    }
}

struct jinja_value jinja_braces_format(struct jinja_run *run, const struct jinja_string *format,
                                       const struct jinja_args *args)
{
    struct braces f = {.run = run, .args = args};
    struct jinja_builder out = jinja_string_build(run);
    add_braces(&f, &out, format, 0);
    return jinja_string_done_safe(&out, format->is_safe);
}
