/* Numbers in formats, and rounding: see jinja_number.h. */
#include "config.h"
#include "src/text/jinja_number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/text/jinja_math.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"

/* Enough for any double with JINJA_NUMBER_PRECISION decimals. */
enum { MAX_DIGITS = JINJA_NUMBER_PRECISION + 400 };

static void pad(struct jinja_builder *b, const struct jinja_spec *spec, int64_t n)
{
    struct jinja_string blank = {.text = " ", .n = 1, .n_char = 1};
    jinja_string_add_repeated(b, spec->fill ? spec->fill : &blank, n > 0 ? (size_t)n : 0);
}

void jinja_number_add_text(struct jinja_builder *b, const struct jinja_spec *spec,
                           const struct jinja_string *s)
{
    size_t n = spec->precision >= 0 ? jinja_string_offset(s, (size_t)spec->precision) : s->n;
    int64_t room = spec->width - (int64_t)jinja_string_count(s->text, n);
    int64_t left = spec->align == '>' ? room : spec->align == '^' ? room / 2 : 0;
    room = room > 0 ? room : 0;
    left = left > 0 ? left : 0;
    pad(b, spec, left);
    jinja_string_add_part(b, s, 0, n);
    pad(b, spec, room - left);
}

/* ---- digits ---- */

static void write_bits(uint64_t value, unsigned base_bits, bool upper, char *out)
{
    char reversed[65];
    size_t n = 0;
    do
        reversed[n++] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[value & ((1u << base_bits) - 1)];
    while (value >>= base_bits);
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    out[n] = '\0';
}

/* The magnitude of an integer, and in *ret_prefix what stands before it where an alternative form is wanted.
 */
static void write_int(struct jinja_value v, char type, char out[MAX_DIGITS], const char **ret_prefix)
{
    int64_t i = 0;
    jinja_value_is_whole(v, &i);
    uint64_t magnitude = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    *ret_prefix = type == 'x' ? "0x" : type == 'X' ? "0X" : type == 'o' ? "0o" : type == 'b' ? "0b" : "";
    if (type == 'x' || type == 'X' || type == 'o' || type == 'b')
        write_bits(magnitude, type == 'o' ? 3 : type == 'b' ? 1 : 4, type == 'X', out);
    else if (v.kind == JINJA_BIG)
        snprintf(out, MAX_DIGITS, "%.*s", MAX_DIGITS - 1, v.string->text + (v.string->text[0] == '-'));
    else
        snprintf(out, MAX_DIGITS, "%" PRIu64, magnitude);
}

/* Without a type: repr() without a precision, else 'g' that shows at least one decimal and goes over to
 * exponents one digit earlier. The alternative form always has a point, and keeps zeros. */
static void write_float_plain(double x, const struct jinja_spec *spec, char out[MAX_DIGITS])
{
    char digits[MAX_DIGITS];
    if (spec->precision < 0) {
        jinja_repr_float(x, digits);
        size_t n = spec->alternative && !strchr(digits, '.') ? strcspn(digits, "e") : strlen(digits);
        snprintf(out, MAX_DIGITS, "%.*s%s%s", (int)n, digits, digits[n] ? "." : "", digits + n);
        return;
    }
    int precision = spec->precision ? (int)spec->precision : 1;
    snprintf(digits, sizeof digits, spec->alternative ? "%#.*e" : "%.*e", precision - 1, x);
    char *e = strchr(digits, 'e'), *end = e;
    int exponent = atoi(e + 1);
    if (exponent >= -4 && exponent < precision - 1) {
        snprintf(out, MAX_DIGITS - 2, spec->alternative ? "%#.*g" : "%.*g", precision, x);
        strcat(out, strchr(out, '.') ? "" : ".0");
        return;
    }
    if (!spec->alternative && strchr(digits, '.')) {
        while (end[-1] == '0')
            end--;
        end -= end[-1] == '.';
    }
    snprintf(out, MAX_DIGITS, "%.*s%s", (int)(end - digits), digits, e);
}

/* The magnitude of a float. */
static void write_float(double x, const struct jinja_spec *spec, char out[MAX_DIGITS])
{
    char format[8], type = spec->type == 'n' ? 'g' : spec->type;
    x = fabs(x);
    if (isnan(x) || isinf(x)) {
        bool upper = type == 'F' || type == 'E' || type == 'G';
        snprintf(out, MAX_DIGITS, "%s%s",
                 isnan(x) ? (upper ? "NAN" : "nan")
                 : upper  ? "INF"
                          : "inf",
                 type == '%' ? "%" : "");
        return;
    }
    if (type == 0) {
        write_float_plain(x, spec, out);
        return;
    }
    int precision = spec->precision < 0 ? 6 : (int)spec->precision;
    snprintf(format, sizeof format, spec->alternative ? "%%#.*%c" : "%%.*%c", type == '%' ? 'f' : type);
    snprintf(out, MAX_DIGITS, format, precision, type == '%' ? x * 100 : x);
    if (type == '%')
        strcat(out, "%");
}

/* Digits with separators, and zeros before them up to a width. Returns the length. */
static void add_grouped(struct jinja_builder *b, const char *digits, char grouping, size_t each,
                        int64_t width)
{
    size_t whole = strspn(digits, "0123456789abcdefABCDEF");
    if (each == 3)
        whole = strspn(digits, "0123456789");
    int64_t rest = (int64_t)strlen(digits + whole), n = (int64_t)whole;
    if (!grouping)
        n = width - rest > n ? width - rest : n;
    else /* a group more takes each digits and a separator */
        while (n + (n - 1) / (int64_t)each + rest < width)
            n++;
    for (int64_t i = 0; i < n && jinja_run_step(b->run, 1); i++) {
        int64_t left = n - i, from = i - (n - (int64_t)whole);
        if (grouping && i && left % (int64_t)each == 0)
            jinja_string_add(b, &grouping, 1, JINJA_TRUSTED);
        jinja_string_add(b, from < 0 ? "0" : digits + from, 1, JINJA_TRUSTED);
    }
    jinja_string_add(b, digits + whole, (size_t)rest, JINJA_TRUSTED);
}

static bool is_int_type(char type)
{
    return type == 0 || strchr("dnxXob", type);
}

void jinja_number_add(struct jinja_builder *b, const struct jinja_spec *spec, struct jinja_value v)
{
    char digits[MAX_DIGITS];
    const char *prefix = "";
    bool as_int = v.kind != JINJA_FLOAT && is_int_type(spec->type), negative;
    if (as_int) {
        write_int(v, spec->type, digits, &prefix);
        int64_t i = 0;
        negative = v.kind == JINJA_BIG ? v.string->text[0] == '-' : jinja_value_is_whole(v, &i) && i < 0;
    } else {
        double x = jinja_math_float(v);
        write_float(x, spec, digits);
        negative = signbit(x) && !isnan(x);
    }
    char sign = negative ? '-' : spec->sign == '+' || spec->sign == ' ' ? spec->sign : 0;
    size_t n_prefix = spec->alternative ? strlen(prefix) : 0,
           each = spec->type && strchr("xXob", spec->type) ? 4 : 3;
    bool zeros = spec->align == '=' && spec->fill && jinja_string_is(spec->fill, "0");
    struct jinja_builder body = jinja_string_build(b->run);
    int64_t width = spec->width - (sign != 0) - (int64_t)n_prefix;
    add_grouped(&body, digits, spec->grouping, each, zeros ? width : 0);
    const struct jinja_string *s = jinja_string_done(&body).string;
    int64_t room = width - (int64_t)s->n_char;
    int64_t left = spec->align == '<' ? 0 : spec->align == '^' ? room / 2 : room;
    if (spec->align != '=')
        pad(b, spec, left);
    jinja_string_add(b, &sign, sign != 0, JINJA_TRUSTED);
    jinja_string_add(b, prefix, n_prefix, JINJA_TRUSTED);
    if (spec->align == '=')
        pad(b, spec, room);
    jinja_string_add_all(b, s);
    if (spec->align != '=')
        pad(b, spec, room - left);
}

/* ---- rounding ---- */

/* A decimal number without sign, rounded before its digit at `cut`; ties go to the even digit. Digits from
 * there on become zeros. Returns whether a 1 has to be put before it. */
static bool round_digits(char *digits, size_t cut)
{
    size_t n = strlen(digits);
    bool above = false, tie = cut < n && digits[cut] == '5';
    for (size_t i = cut + 1; i < n && tie; i++)
        if (digits[i] != '0' && digits[i] != '.')
            above = true;
    bool odd = cut > 0 && (digits[cut - 1] - '0') % 2;
    bool up = cut < n && (digits[cut] > '5' || (tie && (above || odd)));
    for (size_t i = cut; i < n; i++)
        if (digits[i] != '.')
            digits[i] = '0';
    for (size_t i = cut; up && i > 0; i--) {
        up = digits[i - 1] == '9';
        digits[i - 1] = up ? '0' : (char)(digits[i - 1] + 1);
    }
    return up;
}

struct jinja_value jinja_number_round(struct jinja_run *run, double x, int64_t precision)
{
    enum { MOST_DECIMALS = 323, MOST_DIGITS = 309 }; /* beyond them a double does not change, or is 0 */
    char text[1500];
    if (isnan(x) || isinf(x) || precision > MOST_DECIMALS)
        return jinja_value_float(x);
    if (precision < -MOST_DIGITS)
        return jinja_value_float(copysign(0, x));
    if (precision >= 0) {
        snprintf(text, sizeof text, "%.*f", (int)precision, x);
        double rounded = strtod(text, NULL);
        if (isinf(rounded))
            return jinja_run_fail(run, "rounded value too large to represent");
        return jinja_value_float(rounded);
    }
    text[0] = '0'; /* takes a carry */
    snprintf(text + 1, sizeof text - 1, "%.1074f", fabs(x));
    size_t whole = strcspn(text, "."), drop = (size_t)-precision;
    if (drop >= whole)
        return jinja_value_float(copysign(0, x));
    round_digits(text, whole - drop);
    double rounded = strtod(text, NULL);
    if (isinf(rounded))
        return jinja_run_fail(run, "rounded value too large to represent");
    return jinja_value_float(copysign(rounded, x));
}

struct jinja_value jinja_number_round_int(struct jinja_run *run, int64_t i, int64_t precision)
{
    enum { MOST_DIGITS = 19 };
    if (precision >= 0)
        return jinja_value_int(i);
    if (precision < -MOST_DIGITS)
        return jinja_value_int(0);
    __int128 scale = 1, value = i;
    for (int64_t k = 0; k < -precision; k++)
        scale *= 10;
    __int128 rest = ((value % scale) + scale) % scale, down = value - rest;
    bool odd = (down / scale) % 2 != 0;
    __int128 rounded = rest * 2 > scale || (rest * 2 == scale && odd) ? down + scale : down;
    if (rounded > INT64_MAX || rounded < INT64_MIN)
        return jinja_run_fail(run, "an integer beyond 64 bits");
    return jinja_value_int((int64_t)rounded);
}
