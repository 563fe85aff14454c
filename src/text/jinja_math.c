/* Operators on values: see jinja_math.h. */
#include "config.h"
#include "src/text/jinja_math.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/text/jinja_iter.h"
#include "src/text/jinja_percent.h"
#include "src/text/jinja_run.h"
#include "src/text/jinja_string.h"

static const char *const signs[] = {
    [JINJA_ADD] = "+",       [JINJA_SUB] = "-", [JINJA_MUL] = "*",  [JINJA_DIV] = "/",
    [JINJA_FLOORDIV] = "//", [JINJA_MOD] = "%", [JINJA_POW] = "**",
};

static struct jinja_value fail_overflow(struct jinja_run *run)
{
    return jinja_run_fail(run, "an integer beyond 64 bits");
}

static struct jinja_value fail_operands(struct jinja_run *run, enum jinja_operator op, struct jinja_value a,
                                        struct jinja_value b)
{
    return jinja_run_fail(run, "unsupported operand type(s) for %s: '%s' and '%s'", signs[op],
                          jinja_value_type(a), jinja_value_type(b));
}

double jinja_math_float(struct jinja_value v)
{
    int64_t i = 0;
    if (v.kind == JINJA_FLOAT)
        return v.real;
    if (v.kind == JINJA_BIG)
        return strtod(v.string->text, NULL); /* digits that a number's end follows in any case */
    jinja_value_is_whole(v, &i);
    return (double)i;
}

struct jinja_value jinja_math_truncate(struct jinja_run *run, double x)
{
    if (isnan(x) || isinf(x))
        return jinja_run_fail(run, "cannot convert float %s to integer", isnan(x) ? "NaN" : "infinity");
    if (x < -0x1p63 || x >= 0x1p63)
        return fail_overflow(run);
    return jinja_value_int((int64_t)x);
}

/* ---- integers ---- */

/* a / b rounded once, however large they are. b is not 0. */
static double divide_exactly(int64_t a, int64_t b)
{
    enum { EXACT = 53 };
    uint64_t n = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, d = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (n >> EXACT == 0 && d >> EXACT == 0)
        return (double)a / (double)b;
    if (n == 0)
        return 0;
    /* At least 64 bits of quotient, the last one set for any remainder: enough to be rounded rightly. */
    int shift = __builtin_clzll(n);
    unsigned __int128 wide = (unsigned __int128)(n << shift) << 64, quotient = wide / d;
    quotient |= wide % d != 0;
    double x = ldexp((double)quotient, -64 - shift);
    return (a < 0) != (b < 0) ? -x : x;
}

static struct jinja_value power_whole(struct jinja_run *run, int64_t base, int64_t exponent)
{
    int64_t result = 1;
    for (;;) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return fail_overflow(run);
        exponent >>= 1;
        if (exponent == 0)
            return jinja_value_int(result);
        if (__builtin_mul_overflow(base, base, &base))
            return fail_overflow(run);
    }
}

static struct jinja_value power_float(struct jinja_run *run, double a, double b)
{
    if (a == 0 && b < 0)
        return jinja_run_fail(run, "0.0 cannot be raised to a negative power");
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
        return jinja_run_fail(run, "a negative number raised to a fraction is complex");
    double x = pow(a, b);
    if (isinf(x) && isfinite(a) && isfinite(b))
        return jinja_run_fail(run, "numerical result out of range");
    return jinja_value_float(x);
}

static struct jinja_value apply_whole(struct jinja_run *run, enum jinja_operator op, int64_t a, int64_t b)
{
    int64_t result;
    bool overflow = false;
    if (b == 0 && (op == JINJA_DIV || op == JINJA_FLOORDIV || op == JINJA_MOD))
        return jinja_run_fail(run,
                              op == JINJA_DIV ? "division by zero" : "integer division or modulo by zero");
    switch (op) {
    case JINJA_ADD:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case JINJA_SUB:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case JINJA_MUL:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case JINJA_DIV:
        return jinja_value_float(divide_exactly(a, b));
    case JINJA_FLOORDIV:
        overflow = a == INT64_MIN && b == -1;
        result = overflow ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
        break;
    case JINJA_MOD:
        result = b == -1 ? 0 : a % b;
        result += result != 0 && (result < 0) != (b < 0) ? b : 0;
        break;
    default:
        return b < 0 ? power_float(run, (double)a, (double)b) : power_whole(run, a, b);
    }
    return overflow ? fail_overflow(run) : jinja_value_int(result);
}

/* ---- floats ---- */

/* Quotient and remainder of a floor division as Python takes them, signs of zeros included. */
static double divide_floor(double a, double b, double *ret_remainder)
{
    double remainder = fmod(a, b), quotient = (a - remainder) / b;
    if (remainder == 0) {
        remainder = copysign(0, b);
    } else if ((b < 0) != (remainder < 0)) {
        remainder += b;
        quotient -= 1;
    }
    *ret_remainder = remainder;
    if (quotient == 0)
        return copysign(0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static struct jinja_value apply_float(struct jinja_run *run, enum jinja_operator op, double a, double b)
{
    double remainder;
    if (b == 0 && (op == JINJA_DIV || op == JINJA_FLOORDIV || op == JINJA_MOD))
        return jinja_run_fail(run, "float division by zero");
    switch (op) {
    case JINJA_ADD:
        return jinja_value_float(a + b);
    case JINJA_SUB:
        return jinja_value_float(a - b);
    case JINJA_MUL:
        return jinja_value_float(a * b);
    case JINJA_DIV:
        return jinja_value_float(a / b);
    case JINJA_FLOORDIV:
        return jinja_value_float(divide_floor(a, b, &remainder));
    case JINJA_MOD:
        divide_floor(a, b, &remainder);
        return jinja_value_float(remainder);
    default:
        return power_float(run, a, b);
    }
}

/* ---- sequences ---- */

static struct jinja_value add_strings(struct jinja_run *run, const struct jinja_string *a,
                                      const struct jinja_string *b)
{
    struct jinja_builder text = jinja_string_build(run);
    bool is_safe = a->is_safe || b->is_safe;
    if (is_safe) {
        jinja_string_add_escaped(&text, a);
        jinja_string_add_escaped(&text, b);
    } else {
        jinja_string_add_all(&text, a);
        jinja_string_add_all(&text, b);
    }
    return jinja_string_done_safe(&text, is_safe);
}

static struct jinja_value add_lists(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    struct jinja_value sum = jinja_value_sequence(run, a.kind, a.list->n + b.list->n);
    jinja_run_step(run, a.list->n + b.list->n);
    for (size_t i = 0; i < a.list->n; i++)
        jinja_value_push(run, sum, a.list->items[i]);
    for (size_t i = 0; i < b.list->n; i++)
        jinja_value_push(run, sum, b.list->items[i]);
    return sum;
}

static struct jinja_value repeat(struct jinja_run *run, struct jinja_value v, int64_t times)
{
    if (v.kind == JINJA_STRING) {
        struct jinja_builder text = jinja_string_build(run);
        jinja_string_add_repeated(&text, v.string, times > 0 ? (size_t)times : 0);
        return jinja_string_done_safe(&text, v.string->is_safe);
    }
    struct jinja_value list = jinja_value_sequence(run, v.kind, 0);
    for (int64_t i = 0; v.list->n && i < times && jinja_run_step(run, 1 + v.list->n); i++)
        for (size_t k = 0; k < v.list->n; k++)
            jinja_value_push(run, list, v.list->items[k]);
    return list;
}

static bool is_sequence(struct jinja_value v)
{
    return v.kind == JINJA_STRING || v.kind == JINJA_LIST || v.kind == JINJA_TUPLE;
}

static struct jinja_value apply_sequence(struct jinja_run *run, enum jinja_operator op, struct jinja_value a,
                                         struct jinja_value b)
{
    int64_t times;
    if (op == JINJA_MUL && is_sequence(a) && jinja_value_is_whole(b, &times))
        return repeat(run, a, times);
    if (op == JINJA_MUL && is_sequence(b) && jinja_value_is_whole(a, &times))
        return repeat(run, b, times);
    if (op == JINJA_ADD && is_sequence(a) && a.kind == b.kind)
        return a.kind == JINJA_STRING ? add_strings(run, a.string, b.string) : add_lists(run, a, b);
    if (op == JINJA_ADD && is_sequence(a))
        return jinja_run_fail(run, "can only concatenate %s (not \"%s\") to %s", jinja_value_type(a),
                              jinja_value_type(b), jinja_value_type(a));
    return fail_operands(run, op, a, b);
}

struct jinja_value jinja_math_apply(struct jinja_run *run, enum jinja_operator op, struct jinja_value a,
                                    struct jinja_value b)
{
    int64_t i, k;
    if (op == JINJA_MOD && a.kind == JINJA_STRING)
        return jinja_percent_format(run, a.string, b);
    if (op == JINJA_SUB && (a.kind == JINJA_VIEW || b.kind == JINJA_VIEW))
        return jinja_run_fail(run, "the difference of dictionary views is a set, which is not supported");
    if (a.kind == JINJA_UNDEFINED || b.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, a.kind == JINJA_UNDEFINED ? a : b);
    if (jinja_value_is_whole(a, &i) && jinja_value_is_whole(b, &k))
        return apply_whole(run, op, i, k);
    if (!jinja_value_is_number(a) || !jinja_value_is_number(b))
        return apply_sequence(run, op, a, b);
    if (a.kind == JINJA_BIG || b.kind == JINJA_BIG)
        return fail_overflow(run);
    return apply_float(run, op, jinja_math_float(a), jinja_math_float(b));
}

struct jinja_value jinja_math_plus(struct jinja_run *run, struct jinja_value v)
{
    int64_t i;
    if (v.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, v);
    if (!jinja_value_is_number(v))
        return jinja_run_fail(run, "bad operand type for unary +: '%s'", jinja_value_type(v));
    return jinja_value_is_whole(v, &i) ? jinja_value_int(i) : v;
}

struct jinja_value jinja_math_negate(struct jinja_run *run, struct jinja_value v)
{
    int64_t i;
    if (v.kind == JINJA_UNDEFINED)
        return jinja_value_fail_undefined(run, v);
    if (v.kind == JINJA_FLOAT)
        return jinja_value_float(-v.real);
    if (!jinja_value_is_number(v))
        return jinja_run_fail(run, "bad operand type for unary -: '%s'", jinja_value_type(v));
    if (!jinja_value_is_whole(v, &i) || i == INT64_MIN)
        return fail_overflow(run);
    return jinja_value_int(-i);
}

struct jinja_value jinja_math_absolute(struct jinja_run *run, struct jinja_value v)
{
    int64_t i;
    if (v.kind == JINJA_FLOAT)
        return jinja_value_float(fabs(v.real));
    if (!jinja_value_is_number(v))
        return jinja_run_fail(run, "bad operand type for abs(): '%s'", jinja_value_type(v));
    if (jinja_value_is_whole(v, &i) && i >= 0)
        return jinja_value_int(i);
    return jinja_math_negate(run, v);
}

/* ---- order ---- */

static int compare_bigs(const struct jinja_string *a, const struct jinja_string *b)
{
    bool negative = a->text[0] == '-';
    if (negative != (b->text[0] == '-'))
        return negative ? -1 : 1;
    int order = a->n != b->n ? (a->n < b->n ? -1 : 1) : memcmp(a->text, b->text, a->n);
    order = order < 0 ? -1 : order > 0;
    return negative ? -order : order;
}

static int compare_whole_float(int64_t i, double x)
{
    if (isnan(x))
        return 2;
    if (x >= 0x1p63 || x < -0x1p63)
        return x > 0 ? -1 : 1;
    int64_t whole = (int64_t)x;
    if (i != whole)
        return i < whole ? -1 : 1;
    double rest = x - (double)whole;
    return rest > 0 ? -1 : rest < 0;
}

int jinja_math_compare_numbers(struct jinja_value a, struct jinja_value b)
{
    int64_t i, k;
    bool a_whole = jinja_value_is_whole(a, &i), b_whole = jinja_value_is_whole(b, &k);
    if (a_whole && b_whole)
        return i < k ? -1 : i > k;
    if (a.kind == JINJA_BIG && b.kind == JINJA_BIG)
        return compare_bigs(a.string, b.string);
    if (a.kind == JINJA_BIG && b_whole)
        return a.string->text[0] == '-' ? -1 : 1;
    if (a_whole && b.kind == JINJA_BIG)
        return b.string->text[0] == '-' ? 1 : -1;
    if (a_whole)
        return compare_whole_float(i, b.real);
    if (b_whole) {
        int order = compare_whole_float(k, a.real);
        return order == 2 ? 2 : -order;
    }
    double x = jinja_math_float(a), y = jinja_math_float(b);
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

static int compare_strings(const struct jinja_string *a, const struct jinja_string *b)
{
    int order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
    return order ? order : a->n < b->n ? -1 : a->n > b->n;
}

static bool is_less_list(struct jinja_run *run, const struct jinja_list *a, const struct jinja_list *b,
                         bool or_equal, const char *op)
{
    if (!jinja_run_enter(run))
        return false;
    size_t n = a->n < b->n ? a->n : b->n, i = 0;
    while (i < n && jinja_run_step(run, 1) && jinja_value_equals(run, a->items[i], b->items[i]))
        i++;
    bool less;
    if (i < n)
        less = jinja_math_is_less(run, a->items[i], b->items[i], or_equal, op);
    else
        less = or_equal ? a->n <= b->n : a->n < b->n;
    jinja_run_leave(run);
    return less;
}

bool jinja_math_is_less(struct jinja_run *run, struct jinja_value a, struct jinja_value b, bool or_equal,
                        const char *op)
{
    int order;
    if (a.kind == JINJA_UNDEFINED || b.kind == JINJA_UNDEFINED) {
        jinja_value_fail_undefined(run, a.kind == JINJA_UNDEFINED ? a : b);
        return false;
    }
    if (jinja_value_is_number(a) && jinja_value_is_number(b)) {
        order = jinja_math_compare_numbers(a, b);
        return order == -1 || (or_equal && order == 0);
    }
    if (a.kind == b.kind && a.kind == JINJA_STRING) {
        jinja_run_move(run, a.string->n);
        order = compare_strings(a.string, b.string);
        return order < 0 || (or_equal && order == 0);
    }
    if (a.kind == b.kind && (a.kind == JINJA_LIST || a.kind == JINJA_TUPLE))
        return is_less_list(run, a.list, b.list, or_equal, op);
    bool swapped = op[0] == '>';
    jinja_run_fail(run, "'%s' not supported between instances of '%s' and '%s'", op,
                   jinja_value_type(swapped ? b : a), jinja_value_type(swapped ? a : b));
    return false;
}

static bool contains_text(struct jinja_run *run, const struct jinja_string *s, struct jinja_value what)
{
    if (what.kind != JINJA_STRING) {
        jinja_run_fail(run, "'in <string>' requires string as left operand, not %s", jinja_value_type(what));
        return false;
    }
    jinja_run_move(run, s->n);
    return jinja_string_find(s, what.string, 0) != SIZE_MAX;
}

bool jinja_math_contains(struct jinja_run *run, struct jinja_value b, struct jinja_value a)
{
    if (b.kind == JINJA_STRING)
        return contains_text(run, b.string, a);
    if (b.kind == JINJA_DICT || (b.kind == JINJA_VIEW && b.view->part == JINJA_KEYS))
        return !jinja_value_is_missing(jinja_value_get(run, b.kind == JINJA_DICT ? b.dict : b.view->dict, a));
    if (!jinja_iter_can(b)) {
        jinja_run_fail(run, "argument of type '%s' is not iterable", jinja_value_type(b));
        return false;
    }
    struct jinja_iter it = jinja_iter_over(run, b);
    struct jinja_value item;
    while (jinja_iter_next(run, &it, &item))
        if (jinja_value_equals(run, item, a))
            return true;
    return false;
}
