/* Calling: see jinja_call.h. */
#include "config.h"
#include "src/text/jinja_call.h"

#include <string.h>

#include "src/text/jinja_exec.h"
#include "src/text/jinja_macro.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_run.h"

const struct jinja_function *jinja_call_find(const struct jinja_function *table, size_t n,
                                             const struct jinja_string *name)
{
    for (size_t i = 0; i < n; i++)
        if (jinja_string_is(name, table[i].name))
            return &table[i];
    return NULL;
}

/* ---- binding ---- */

struct param {
    const char *name;
    size_t n_name;
    bool is_optional;
};

static size_t read_params(const char *text, struct param params[JINJA_MAX_PARAMS], bool *ret_by_name)
{
    size_t n = 0;
    bool is_optional = false;
    *ret_by_name = *text != '/';
    text += *text == '/';
    while (*text && n < JINJA_MAX_PARAMS) {
        text += strspn(text, " ");
        if (*text == '?') {
            is_optional = true;
            text++;
        }
        size_t n_name = strcspn(text, " ?");
        if (n_name)
            params[n++] = (struct param){text, n_name, is_optional};
        text += n_name;
    }
    return n;
}

static bool bind_named(struct jinja_run *run, const char *function, const struct param *params,
                       size_t n_param, const struct jinja_args *args, struct jinja_value *bound)
{
    for (size_t i = 0; args->named && i < args->named->n; i++) {
        const struct jinja_string *key = args->named->entries[i].key.string;
        size_t k = 0;
        while (k < n_param && (params[k].n_name != key->n || memcmp(params[k].name, key->text, key->n) != 0))
            k++;
        if (k == n_param || !jinja_value_is_missing(bound[k])) {
            jinja_run_fail(run,
                           k == n_param ? "%s() got an unexpected keyword argument %s"
                                        : "%s() got multiple values for argument %s",
                           function, jinja_repr_short(run, args->named->entries[i].key));
            return false;
        }
        bound[k] = args->named->entries[i].value;
    }
    return true;
}

static bool bind(struct jinja_run *run, const struct jinja_function *f, const struct jinja_args *args,
                 struct jinja_value bound[JINJA_MAX_PARAMS], size_t *ret_n)
{
    struct param params[JINJA_MAX_PARAMS];
    bool by_name;
    size_t n = read_params(f->params, params, &by_name);
    if (args->n > n) {
        jinja_run_fail(run, "%s() takes at most %zu arguments (%zu given)", f->name, n, args->n);
        return false;
    }
    if (args->named && args->named->n && !by_name) {
        jinja_run_fail(run, "%s() takes no keyword arguments", f->name);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        bound[i] = i < args->n ? args->v[i] : jinja_value_missing();
    if (!bind_named(run, f->name, params, n, args, bound))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!params[i].is_optional && jinja_value_is_missing(bound[i])) {
            jinja_run_fail(run, "%s() is missing its argument '%.*s'", f->name, (int)params[i].n_name,
                           params[i].name);
            return false;
        }
    *ret_n = n;
    return true;
}

struct jinja_value jinja_call_function(struct jinja_run *run, const struct jinja_function *f,
                                       struct jinja_value self, const struct jinja_args *args)
{
    struct jinja_value bound[JINJA_MAX_PARAMS];
    struct jinja_args given = {.v = bound};
    if (run->code)
        return jinja_value_none();
    if (f->params[0] == '*')
        return f->call(run, self, args);
    if (!bind(run, f, args, bound, &given.n))
        return jinja_value_none();
    return f->call(run, self, &given);
}

/* ---- calling ---- */

/* A joiner is an empty text at first, its separator afterwards. */
static struct jinja_value call_joiner(struct jinja_run *run, struct jinja_cycler *joiner)
{
    bool first = joiner->at == 0;
    joiner->at = 1;
    return first ? jinja_string_literal(run, "") : joiner->items->items[0];
}

struct jinja_value jinja_call_value(struct jinja_run *run, struct jinja_value callee,
                                    const struct jinja_args *args)
{
    switch (callee.kind) {
    case JINJA_FUNCTION:
        return jinja_call_function(run, callee.function, jinja_value_missing(), args);
    case JINJA_METHOD:
        return jinja_call_function(run, callee.method->function, callee.method->self, args);
    case JINJA_MACRO:
        return jinja_macro_call(run, callee.macro, args);
    case JINJA_LOOP:
        if (args->n != 1 || args->named)
            return jinja_run_fail(run, "a loop is called with one iterable");
        return jinja_exec_loop(run, callee.loop, args->v[0]);
    case JINJA_JOINER:
        return call_joiner(run, callee.cycler);
    case JINJA_UNDEFINED:
        return jinja_value_fail_undefined(run, callee);
    default:
        return jinja_run_fail(run, "'%s' object is not callable", jinja_value_type(callee));
    }
}

void jinja_call_add_macro(struct jinja_builder *b, const struct jinja_macro *macro)
{
    jinja_string_add_format(b, "<Macro ");
    if (jinja_value_is_missing(macro->name))
        jinja_string_add_format(b, "anonymous");
    else
        jinja_repr_add_value(b, macro->name);
    jinja_string_add_format(b, ">");
}

/* ---- arguments ---- */

int64_t jinja_call_whole(struct jinja_run *run, struct jinja_value v, int64_t otherwise)
{
    int64_t i = otherwise;
    if (v.kind == JINJA_UNDEFINED)
        jinja_value_fail_undefined(run, v);
    else if (!jinja_value_is_missing(v) && !jinja_value_is_whole(v, &i))
        jinja_run_fail(run, "'%s' object cannot be interpreted as an integer", jinja_value_type(v));
    return i;
}

const struct jinja_string *jinja_call_string(struct jinja_run *run, struct jinja_value v)
{
    if (v.kind == JINJA_STRING)
        return v.string;
    if (v.kind != JINJA_MISSING && v.kind != JINJA_NONE)
        jinja_run_fail(run, "an argument must be a str, not %s", jinja_value_type(v));
    return NULL;
}

bool jinja_call_flag(struct jinja_run *run, struct jinja_value v, bool otherwise)
{
    return jinja_value_is_missing(v) ? otherwise : jinja_value_is_true(run, v);
}
