/* The template engine against what Jinja2 renders (tests/data/jinja), where bytes came from, and its limits.
 */
#include "config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/text/jinja.h"
#include "src/text/jinja_json.h"
#include "tests/support.h"

static const struct tm now = {
    .tm_year = 125, .tm_mon = 2, .tm_mday = 9, .tm_hour = 17, .tm_min = 4, .tm_sec = 5, .tm_yday = 67};

/* One rendering; freed with done(). */
struct rendering {
    struct jinja *t;
    struct jinja_run *run;
    struct jinja_text text;
    struct why why;
    int r; /* of jinja_parse, else of jinja_render */
};

/* Renders with the variables that a JSON object has, all of them input. */
static struct rendering *render_n(const char *source, size_t n, const char *context, size_t n_context,
                                  const struct jinja_limits *limits)
{
    struct rendering *x = calloc(1, sizeof *x);
    struct jinja_value v;
    cr_assert_not_null(x);
    cr_assert_eq(jinja_run_new(&x->run, limits), 0);
    jinja_run_set_now(x->run, &now);
    cr_assert_eq(jinja_json_read(x->run, context, n_context, JINJA_INPUT, &v, &x->why), 0, "%s", x->why.text);
    for (size_t i = 0; i < v.dict->n; i++) {
        char name[32] = "";
        const struct jinja_string *key = v.dict->entries[i].key.string;
        cr_assert_lt(key->n, sizeof name);
        memcpy(name, key->text, key->n);
        jinja_run_set(x->run, name, v.dict->entries[i].value);
    }
    x->r = jinja_parse(&x->t, source, n, &x->why);
    if (x->r == 0)
        x->r = jinja_render(x->run, x->t, &x->text, &x->why);
    return x;
}

static struct rendering *render(const char *source, const char *context)
{
    return render_n(source, strlen(source), context, strlen(context), NULL);
}

static void done(struct rendering *x)
{
    jinja_run_free(x->run);
    jinja_free(x->t);
    free(x);
}

static bool is_input(const struct jinja_text *text, size_t at)
{
    for (size_t i = 0; i < text->n_input; i++)
        if (at >= text->inputs[i].first && at < text->inputs[i].first + text->inputs[i].n)
            return true;
    return false;
}

/* Ranges are in order, do not touch, are not empty and lie in the text. */
static void check_ranges(const struct jinja_text *text)
{
    size_t end = 0;
    for (size_t i = 0; i < text->n_input; i++) {
        cr_assert(i == 0 || text->inputs[i].first > end, "range %zu", i);
        cr_assert_gt(text->inputs[i].n, 0);
        end = text->inputs[i].first + text->inputs[i].n;
        cr_assert_leq(end, text->n);
    }
}

/* ---- the table ---- */

struct case_file {
    struct jinja_run *run; /* of the values */
    char *line;
    size_t capacity;
    FILE *file;
};

static bool next_case(struct case_file *f, struct jinja_value *ret)
{
    struct why why;
    ssize_t n = getline(&f->line, &f->capacity, f->file);
    if (n <= 0)
        return false;
    cr_assert_eq(jinja_json_read(f->run, f->line, (size_t)n, JINJA_INPUT, ret, &why), 0, "%s", why.text);
    return true;
}

static const struct jinja_string *member(struct case_file *f, struct jinja_value v, const char *key)
{
    struct jinja_value m = jinja_value_get_text(f->run, v.dict, key);
    return m.kind == JINJA_STRING ? m.string : NULL;
}

static void check_case(const struct jinja_string *source, const struct jinja_string *expected,
                       const char *context, size_t n_context)
{
    struct rendering *x = render_n(source->text, source->n, context, n_context, NULL);
    if (!expected) {
        cr_expect_neq(x->r, 0, "'%s' renders '%s'", source->text, x->r ? "" : x->text.text);
        cr_expect_eq(strncmp(x->why.text, "line ", 5), 0, "'%s' gives '%s'", source->text, x->why.text);
        done(x);
        return;
    }
    cr_assert_eq(x->r, 0, "'%s' fails: %s", source->text, x->why.text);
    cr_expect(x->text.n == expected->n && !memcmp(x->text.text, expected->text, expected->n),
              "'%s'\nrenders '%.*s'\nnot     '%s'", source->text, (int)x->text.n, x->text.text,
              expected->text);
    check_ranges(&x->text);
    bool has_greek = strstr(source->text, "\xce") || strstr(source->text, "\xcf");
    for (size_t i = 0; i < x->text.n && !has_greek; i++)
        if ((unsigned char)x->text.text[i] == 0xce || (unsigned char)x->text.text[i] == 0xcf)
            cr_expect(is_input(&x->text, i), "'%s': byte %zu of '%.*s' is no input", source->text, i,
                      (int)x->text.n, x->text.text);
    done(x);
}

Test(jinja, renders_as_the_reference)
{
    char path[4096];
    struct case_file f = {0};
    struct jinja_value v;
    support_source(path, "tests/data/jinja/cases.jsonl");
    f.file = fopen(path, "r");
    cr_assert_not_null(f.file);
    cr_assert_eq(jinja_run_new(&f.run, NULL), 0);
    cr_assert(next_case(&f, &v));
    char *context = strdup(strchr(f.line + 1, '{'));
    size_t n_context = strlen(context) - 2; /* without "}\n" */
    int n = 0;
    for (; next_case(&f, &v); n++)
        check_case(member(&f, v, "template"), member(&f, v, "text"), context, n_context);
    cr_expect_gt(n, 100);
    jinja_run_free(f.run);
    free(context);
    free(f.line);
    fclose(f.file);
}

/* ---- where bytes came from ---- */

/* A template, and its output with input bytes between brackets; the variable s is "ab", q is "a\"\n", l is
 * ["x", "y"], d is {"k": "v"}. */
static const struct {
    const char *source, *marked;
} origins[] = {
    {"<{{ s }}>", "<[ab]>"},
    {"{{ '<' ~ s ~ '>' }}", "<[ab]>"},
    {"{{ '<' + s }}", "<[ab]"},
    {"{{ s | upper }}{{ s.title() }}", "[ABAb]"},
    {"{{ ('<' ~ s ~ '>') | upper }}", "<[AB]>"},
    {"{{ ('<' ~ s ~ '>')[0:2] }}", "<[a]"},
    {"{{ ('<' ~ s ~ '>')[::-1] }}", ">[ba]<"},
    {"{{ ('<' ~ s ~ '>') | replace('a', 'z') }}", "<z[b]>"},
    {"{{ '<x>' | replace('x', s) }}", "<[ab]>"},
    {"{{ ' <' ~ s ~ '> ' | trim }}", " <[ab]>"},
    {"{{ l | join(', ') }}", "[x], [y]"},
    {"{{ s | join('|') }}", "[a]|[b]"},
    {"{{ '<%s>' % s }}{{ '<{}>'.format(s) }}{{ '<%s>' | format(s) }}", "<[ab]><[ab]><[ab]>"},
    {"{{ s | tojson }}", "\"[ab]\""},
    {"{{ q | tojson }}", "\"[a\\\"\\n]\""},
    {"{{ d | tojson }}", "{\"[k]\": \"[v]\"}"},
    {"{{ d }}", "{'[k]': '[v]'}"},
    {"{{ l | string }}", "['[x]', '[y]']"},
    {"{{ s * 2 }}{{ '-' * 2 }}", "[abab]--"},
    {"{% set t %}<{{ s }}>{% endset %}{{ t }}", "<[ab]>"},
    {"{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(s) }}", "<[ab]>"},
    {"{% filter upper %}<i>{{ s }}{% endfilter %}", "<I>[AB]"},
    {"{% for c in s %}{{ c }}.{% endfor %}", "[a].[b]."},
    {"{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", "[k]=[v]"},
    {"{{ ('<' ~ s ~ '>').split('a')[1] }}", "[b]>"},
    {"{{ s if s == 'ab' else 'x' }}{{ 'ab' if s == 'ab' }}", "[ab]ab"},
    {"{{ s | length }}", "2"},
    {"{{ s | default('x') }}{{ nothing | default(s) }}", "[abab]"},
    {"{{ {'a': s}.a }}{{ (s, 'x')[0] }}", "[abab]"},
    {"{% set ns = namespace(v='') %}{% for i in l %}{% set ns.v = ns.v ~ i ~ ';' %}{% endfor %}{{ ns.v }}",
     "[x];[y];"},
    {"{{ ('<' ~ s ~ '>').partition('b')[0] }}", "<[a]"},
    {"{{ s.center(6, '*') }}", "**[ab]**"},
    {"{{ ('a\n' ~ s) | indent(2) }}", "a\n  [ab]"},
    {"{{ '<' ~ s | e ~ '>' }}", "<[ab]>"},
};

Test(jinja, remembers_where_bytes_came_from)
{
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        struct rendering *x =
            render(origins[i].source, "{\"s\": \"ab\", \"q\": \"a\\\"\\n\", \"l\": [\"x\", \"y\"],"
                                      " \"d\": {\"k\": \"v\"}}");
        char marked[256];
        size_t n = 0;
        cr_assert_eq(x->r, 0, "%s: %s", origins[i].source, x->why.text);
        check_ranges(&x->text);
        for (size_t k = 0; k <= x->text.n && n < sizeof marked - 4; k++) {
            bool before = k > 0 && is_input(&x->text, k - 1), here = k < x->text.n && is_input(&x->text, k);
            if (before && !here)
                marked[n++] = ']';
            if (here && !before)
                marked[n++] = '[';
            if (k < x->text.n)
                marked[n++] = x->text.text[k];
        }
        marked[n] = '\0';
        cr_expect_str_eq(marked, origins[i].marked, "%s gives %s", origins[i].source, marked);
        done(x);
    }
}

/* ---- failures and limits ---- */

static const struct {
    const char *source;
    int r;
    const char *sentence;
} failures[] = {
    {"a\n{{ 1 + }}", EX_DATAERR, "line 2 column 8:"},
    {"{{ nothing.x }}", JINJA_E_FAILED, "line 1 column 11: 'nothing' is undefined"},
    {"\n\n  {{ raise_exception('no ' ~ s) }}", JINJA_E_RAISED, "line 3 column 21: no ab"},
    {"{{ s | no_such }}", EX_DATAERR, "line 1 column 8: No filter named 'no_such'."},
    {"{% if s is no_such %}{% endif %}", JINJA_E_FAILED, "line 1 column 9: No test named"},
    {"{% for i in range(100000) %}{% for k in range(100000) %}{% endfor %}{% endfor %}", JINJA_E_LIMIT,
     "line 1"},
    {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", JINJA_E_LIMIT, "line 1"},
    {"{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}", JINJA_E_LIMIT, "line 1"},
    {"{{ 'x' * 1000000000000 }}", JINJA_E_LIMIT, "line 1"},
    {"{{ range(100001) }}", JINJA_E_FAILED, "MAX_RANGE"},
    {"{{ '%999999999d' % 1 }}", JINJA_E_LIMIT, "width"},
};

Test(jinja, fails_with_line_and_column)
{
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        struct rendering *x = render(failures[i].source, "{\"s\": \"ab\"}");
        cr_expect_eq(x->r, failures[i].r, "%s gives %d: %s", failures[i].source, x->r, x->why.text);
        cr_expect_not_null(strstr(x->why.text, failures[i].sentence), "%s gives '%s'", failures[i].source,
                           x->why.text);
        done(x);
    }
}

Test(jinja, keeps_to_the_limits_of_a_run)
{
    static const struct {
        struct jinja_limits limits;
        const char *source;
    } rows[] = {
        {{.memory = 1 << 20, .output = 100, .steps = 100000}, "{% for i in range(101) %}x{% endfor %}"},
        {{.memory = 1 << 20, .output = 1 << 20, .steps = 1000}, "{% for i in range(2000) %}{% endfor %}"},
        {{.memory = 1 << 16, .output = 1 << 20, .steps = 100000}, "{{ 'x' * 100000 }}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rendering *x = render_n(rows[i].source, strlen(rows[i].source), "{}", 2, &rows[i].limits);
        cr_expect_eq(x->r, JINJA_E_LIMIT, "%s gives %d: %s", rows[i].source, x->r, x->why.text);
        done(x);
    }
}

Test(jinja, refuses_deep_trees)
{
    struct why why;
    struct jinja *t;
    char *deep = calloc(1, 100001);
    cr_assert_not_null(deep);
    memset(deep, '(', 100000);
    memcpy(deep, "{{", 2);
    cr_expect_eq(jinja_parse(&t, deep, 100000, &why), EX_DATAERR);
    for (int i = 0; i < 9000; i++)
        memcpy(deep + 11 * i, "{% if 1 %} ", 11);
    cr_expect_eq(jinja_parse(&t, deep, 99000, &why), EX_DATAERR);
    free(deep);
}
