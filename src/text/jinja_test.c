/* Tests: see jinja_test.h. */
#include "config.h"
#include "src/text/jinja_test.h"

#include "src/text/jinja_filter.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_math.h"
#include "src/text/jinja_method.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"

/* One that only looks at the value. */
#define LOOK(name, condition)                                                          \
    static struct jinja_value test_##name(struct jinja_run *run, struct jinja_value v, \
                                          const struct jinja_args *args)               \
    {                                                                                  \
        (void)run, (void)args;                                                         \
        return jinja_value_bool(condition);                                            \
    }
#define COMPARE(name, condition)                                                       \
    static struct jinja_value test_##name(struct jinja_run *run, struct jinja_value v, \
                                          const struct jinja_args *args)               \
    {                                                                                  \
        struct jinja_value w = args->v[0];                                             \
        return jinja_value_bool(condition);                                            \
    }

static bool is_callable(struct jinja_value v)
{
    return v.kind == JINJA_MACRO || v.kind == JINJA_FUNCTION || v.kind == JINJA_METHOD ||
           v.kind == JINJA_LOOP || v.kind == JINJA_JOINER || v.kind == JINJA_UNDEFINED;
}

static bool is_sequence(struct jinja_value v)
{
    return v.kind == JINJA_STRING || v.kind == JINJA_LIST || v.kind == JINJA_TUPLE || v.kind == JINJA_DICT ||
           v.kind == JINJA_RANGE || v.kind == JINJA_UNDEFINED;
}

static bool is_known(struct jinja_run *run, const struct jinja_function *(*find)(const struct jinja_string *),
                     struct jinja_value v)
{
    uint64_t hash;
    return jinja_value_hash(run, v, &hash) && v.kind == JINJA_STRING && find(v.string);
}

static bool is_same(struct jinja_value a, struct jinja_value b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case JINJA_NONE:
        return true;
    case JINJA_BOOL:
        return a.boolean == b.boolean;
    case JINJA_INT: /* small ones are one object in Python */
        return a.integer == b.integer;
    case JINJA_FLOAT:
        return false;
    default:
        return a.dict == b.dict;
    }
}

LOOK(boolean, v.kind == JINJA_BOOL)
LOOK(callable, is_callable(v))
LOOK(defined, v.kind != JINJA_UNDEFINED)
LOOK(escaped, v.kind == JINJA_STRING && v.string->is_safe)
LOOK(false, v.kind == JINJA_BOOL && !v.boolean)
LOOK(filter, is_known(run, jinja_filter_find, v))
LOOK(float, v.kind == JINJA_FLOAT)
LOOK(integer, v.kind == JINJA_INT || v.kind == JINJA_BIG)
LOOK(iterable, jinja_iter_can(v) || v.kind == JINJA_LOOP)
LOOK(lower, jinja_method_is_lower(run, jinja_repr_text(run, v).string))
LOOK(mapping, v.kind == JINJA_DICT)
LOOK(none, v.kind == JINJA_NONE)
LOOK(number, jinja_value_is_number(v))
LOOK(sequence, is_sequence(v))
LOOK(string, v.kind == JINJA_STRING)
LOOK(test, is_known(run, jinja_test_find, v))
LOOK(true, v.kind == JINJA_BOOL && v.boolean)
LOOK(undefined, v.kind == JINJA_UNDEFINED)
LOOK(upper, jinja_method_is_upper(run, jinja_repr_text(run, v).string))

COMPARE(eq, jinja_value_equals(run, v, w))
COMPARE(ne, !jinja_value_equals(run, v, w))
COMPARE(lt, jinja_math_is_less(run, v, w, false, "<"))
COMPARE(le, jinja_math_is_less(run, v, w, true, "<="))
COMPARE(gt, jinja_math_is_less(run, w, v, false, ">"))
COMPARE(ge, jinja_math_is_less(run, w, v, true, ">="))
COMPARE(in, jinja_math_contains(run, w, v))
COMPARE(sameas, ((void)run, is_same(v, w)))
COMPARE(divisibleby, jinja_value_equals(run, jinja_math_apply(run, JINJA_MOD, v, w), jinja_value_int(0)))

static bool has_remainder(struct jinja_run *run, struct jinja_value v, int64_t remainder)
{
    struct jinja_value rest = jinja_math_apply(run, JINJA_MOD, v, jinja_value_int(2));
    return jinja_value_equals(run, rest, jinja_value_int(remainder));
}

LOOK(even, has_remainder(run, v, 0))
LOOK(odd, has_remainder(run, v, 1))

static const struct jinja_function tests[] = {
    {"!=", "/other", test_ne},
    {"<", "/other", test_lt},
    {"<=", "/other", test_le},
    {"==", "/other", test_eq},
    {">", "/other", test_gt},
    {">=", "/other", test_ge},
    {"boolean", "", test_boolean},
    {"callable", "/", test_callable},
    {"defined", "", test_defined},
    {"divisibleby", "num", test_divisibleby},
    {"eq", "/other", test_eq},
    {"equalto", "/other", test_eq},
    {"escaped", "", test_escaped},
    {"even", "", test_even},
    {"false", "", test_false},
    {"filter", "", test_filter},
    {"float", "", test_float},
    {"ge", "/other", test_ge},
    {"greaterthan", "/other", test_gt},
    {"gt", "/other", test_gt},
    {"in", "seq", test_in},
    {"integer", "", test_integer},
    {"iterable", "", test_iterable},
    {"le", "/other", test_le},
    {"lessthan", "/other", test_lt},
    {"lower", "", test_lower},
    {"lt", "/other", test_lt},
    {"mapping", "", test_mapping},
    {"ne", "/other", test_ne},
    {"none", "", test_none},
    {"number", "", test_number},
    {"odd", "", test_odd},
    {"sameas", "other", test_sameas},
    {"sequence", "", test_sequence},
    {"string", "", test_string},
    {"test", "", test_test},
    {"true", "", test_true},
    {"undefined", "", test_undefined},
    {"upper", "", test_upper},
};

const struct jinja_function *jinja_test_find(const struct jinja_string *name)
{
    return jinja_call_find(tests, sizeof tests / sizeof tests[0], name);
}

struct jinja_value jinja_test_apply(struct jinja_run *run, struct jinja_value name, struct jinja_value v,
                                    const struct jinja_args *args)
{
    const struct jinja_function *f = name.kind == JINJA_STRING ? jinja_test_find(name.string) : NULL;
    if (f)
        return jinja_call_function(run, f, v, args);
    return jinja_run_fail(run, "No test named %s.", jinja_repr_short(run, name));
}
