/* Limits of the template engine: each one is provoked, and just below it nothing fails. */
#include "config.h"
#include "src/text/jinja.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "tests/unit/jinja_util.h"

static const struct jinja_limits plenty = {JINJA_DEFAULT_MEMORY, JINJA_DEFAULT_OUTPUT, JINJA_DEFAULT_STEPS};

/* Whether it renders; a failure must be this code with this sentence. */
static bool renders(const char *template, const struct jinja_limits *limits, int want_code, const char *want)
{
    int code;
    struct why why;
    char *text = jinja_util_render(template, strlen(template), "{}", limits, false, &code, &why);
    bool ok = text != NULL;
    cr_expect(ok || (code == want_code && strstr(why.text, want)), "%.80s: code %d: %s", template, code,
              why.text);
    free(text);
    return ok;
}

static char *repeat(const char *before, const char *what, size_t n, const char *middle, const char *after)
{
    struct buf b = BUF_NULL;
    int r = buf_push(&b, before, strlen(before));
    for (size_t i = 0; i < n; i++)
        r |= buf_push(&b, what, strlen(what));
    r |= buf_push(&b, middle, strlen(middle));
    for (size_t i = 0; i < n; i++)
        r |= buf_push(&b, after, strlen(after));
    r |= buf_push(&b, "", 1);
    cr_assert_eq(r, 0);
    return (char *)b.data;
}

Test(jinja_limits, size)
{
    char *text = malloc(JINJA_MAX_TEMPLATE + 1);
    struct why why = {""};
    struct jinja *t = NULL;
    memset(text, 'a', JINJA_MAX_TEMPLATE + 1);
    cr_assert_eq(jinja_parse(&t, text, JINJA_MAX_TEMPLATE, &why), 0);
    jinja_free(t);
    cr_assert_eq(jinja_parse(&t, text, JINJA_MAX_TEMPLATE + 1, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "a template of 1048577 bytes, more than 1048576");
    free(text);
}

static bool nests(size_t n, const char *before, const char *what, const char *middle, const char *after,
                  const char *end)
{
    char *text = repeat(before, what, n, middle, after);
    char *whole = repeat(text, end, 1, "", "");
    bool ok = renders(whole, NULL, EX_DATAERR, "nested");
    free(text);
    free(whole);
    return ok;
}

Test(jinja_limits, depth_of_templates)
{
    cr_assert(nests(60, "{{ ", "(", "1", ")", " }}"));
    cr_assert_not(nests(2000, "{{ ", "(", "1", ")", " }}"));
    cr_assert(nests(60, "{{ ", "[", "1", "]", " }}"));
    cr_assert_not(nests(2000, "{{ ", "[", "1", "]", " }}"));
    cr_assert(nests(60, "", "{% if 1 %}", "x", "{% endif %}", ""));
    cr_assert_not(nests(2000, "", "{% if 1 %}", "x", "{% endif %}", ""));
    cr_assert_not(nests(2000, "{{ ", "not ", "1", "", " }}"));
    cr_assert_not(nests(2000, "{{ ", "-", "1", "", " }}"));
    cr_assert_not(nests(2000, "{{ ", "1 if 1 else ", "1", "", " }}"));
    cr_assert_not(nests(100000, "{{ ", "{1:", "1", "}", " }}"));
    cr_assert_not(nests(30000, "", "{% for a in [1] %}", "", "{% endfor %}", ""));
}

Test(jinja_limits, chains_are_no_depth)
{
    char *sum = repeat("{{ 1", " + 1", 200, " }}", "");
    cr_assert(renders(sum, NULL, 0, ""));
    free(sum);
}

Test(jinja_limits, depth_of_evaluation)
{
    static const char recursion[] = "{% macro f(i) %}{% if i %}{{ f(i - 1) }}{% endif %}{% endmacro %}";
    char text[300];
    snprintf(text, sizeof text, "%s{{ f(30) }}", recursion);
    cr_assert(renders(text, NULL, 0, ""));
    snprintf(text, sizeof text, "%s{{ f(100000) }}", recursion);
    cr_assert_not(renders(text, NULL, JINJA_E_LIMIT, "nested deeper than 1600 evaluations"));
    cr_assert_not(
        renders("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", NULL, JINJA_E_LIMIT, "nested deeper"));
    static const char nested[] =
        "{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% endfor %}";
    snprintf(text, sizeof text, "%s{{ ns.l }}", nested);
    cr_assert_not(renders(text, NULL, JINJA_E_LIMIT, "nested deeper"));
    snprintf(text, sizeof text, "%s{{ ns.l|tojson }}", nested);
    cr_assert_not(renders(text, NULL, JINJA_E_LIMIT, "nested deeper"));
    static const char twice[] = "{% set ns = namespace(a=[], b=[]) %}{% for i in range(5000) %}"
                                "{% set ns.a = [ns.a] %}{% set ns.b = [ns.b] %}{% endfor %}";
    snprintf(text, sizeof text, "%s{{ ns.a == ns.b }}", twice);
    cr_assert_not(renders(text, NULL, JINJA_E_LIMIT, "nested deeper"));
    snprintf(text, sizeof text, "%s{{ ns.a < ns.b }}", twice);
    cr_assert_not(renders(text, NULL, JINJA_E_LIMIT, "nested deeper"));
}

Test(jinja_limits, steps)
{
    struct jinja_limits limits = plenty;
    limits.steps = 1000;
    cr_assert(renders("{% for i in range(50) %}{{ i }}{% endfor %}", &limits, 0, ""));
    static const char *const long_ones[] = {
        "{% for i in range(1000) %}{{ i }}{% endfor %}",
        "{{ range(100000)|list|length }}",
        "{{ ('a' * 1000)|list|length }}",
        "{{ ('ab' * 100000)|length }}",
        "{{ ('ab' * 600)|replace('a', 'c') }}",
        "{{ '%1000s' % 'a' }}{{ ('a' * 80000)|upper }}",
        "{% set ns = namespace(a='x') %}{% for i in range(40) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}",
        "{{ 1000000 in range(100000)|list }}",
        "{{ range(90000)|sum }}",
        "{{ range(2000)|sort|first }}",
    };
    for (size_t i = 0; i < sizeof long_ones / sizeof long_ones[0]; i++)
        cr_expect_not(renders(long_ones[i], &limits, JINJA_E_LIMIT, "more than the allowed 1000 steps"), "%s",
                      long_ones[i]);
}

/* Whatever goes through a long string takes steps, be it one operation. */
Test(jinja_limits, steps_of_long_strings)
{
    struct jinja_limits limits = plenty;
    limits.steps = 30000;
    static const char begin[] = "{% set s = ('-' * 63 ~ '\u00e9') * 1000 %}{% set d = {'a': 1} %}";
    static const char *const long_ones[] = {
        "s in d",         "s.splitlines()", "s.partition('ab')", "s.rpartition('ab')", "s.strip('-\u00e9')",
        "s.isupper()",    "s is lower",     "s.isprintable()",   "s|wordcount",        "s.split()",
        "s.rsplit('ab')", "s|upper",        "s.swapcase()",      "s[60000]",           "s.removeprefix('-')",
        "s.find('ab')",   "s < s ~ 'a'",    "'ab' in s",         "s.istitle()",        "s|title",
    };
    for (size_t i = 0; i < sizeof long_ones / sizeof long_ones[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s{{ 1 if %s }}", begin, "s");
        cr_expect(renders(text, &limits, 0, ""));
        snprintf(text, sizeof text, "%s{%% for i in range(60) %%}{%% set x = %s %%}{%% endfor %%}", begin,
                 long_ones[i]);
        cr_expect_not(renders(text, &limits, JINJA_E_LIMIT, "more than the allowed 30000 steps"), "%s",
                      long_ones[i]);
    }
}

Test(jinja_limits, output)
{
    struct jinja_limits limits = plenty;
    limits.output = 1000;
    cr_assert(renders("{{ 'a' * 1000 }}", &limits, 0, ""));
    cr_assert_not(
        renders("{{ 'a' * 1001 }}", &limits, JINJA_E_LIMIT, "more output than the allowed 1000 bytes"));
    cr_assert_not(renders("{% for i in range(1001) %}b{% endfor %}", &limits, JINJA_E_LIMIT, "more output"));
    cr_assert(renders("{% set a %}{{ 'a' * 1001 }}{% endset %}", &limits, 0, ""),
              "what is not rendered does not count");
}

Test(jinja_limits, memory)
{
    struct jinja_limits limits = plenty;
    limits.memory = 100000;
    cr_assert(renders("{{ ('a' * 1000)|length }}", &limits, 0, ""));
    static const char *const large[] = {
        "{{ ('a' * 200000)|length }}",
        "{{ range(10000)|list|length }}",
        "{{ [0] * 100000 }}",
        "{{ 'a'.center(1000000) }}",
        "{{ 'a'|indent(1000000, true) }}",
        "{% set ns = namespace(a='x') %}{% for i in range(40) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}",
    };
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        cr_expect_not(renders(large[i], &limits, JINJA_E_LIMIT, ""), "%s", large[i]);
}

Test(jinja_limits, numbers)
{
    cr_assert(renders("{{ range(100000)|length }}", NULL, 0, ""));
    cr_assert_not(renders("{{ range(100001) }}", NULL, JINJA_E_FAILED,
                          "Range too big. The sandbox blocks ranges larger than"));
    cr_assert_not(renders("{{ range(0, 9223372036854775807, 1) }}", NULL, JINJA_E_FAILED, "Range too big"));
    cr_assert_not(renders("{{ '%999999999999d' % 1 }}", NULL, JINJA_E_LIMIT, "width"));
    cr_assert_not(renders("{{ '{:.99999f}'.format(1.0) }}", NULL, JINJA_E_LIMIT, "precision"));
    cr_assert_not(renders("{{ 'a' * 9223372036854775807 }}", NULL, JINJA_E_LIMIT, ""));
    cr_assert_not(renders("{{ [1] * 4611686018427387904 }}", NULL, JINJA_E_LIMIT, ""));
}

/* The second rendering of a run takes from the same budget; one that has failed gives nothing any more. */
Test(jinja_limits, add_up_over_renderings)
{
    struct jinja *t = NULL;
    struct jinja_run *run = NULL;
    struct jinja_text text;
    struct why why;
    static const char template[] = "{% for i in range(100) %}{{ i }}{% endfor %}";
    struct jinja_limits limits = plenty;
    limits.steps = 3000;
    cr_assert_eq(jinja_parse(&t, template, sizeof template - 1, NULL), 0);
    cr_assert_eq(jinja_run_new(&run, &limits), 0);
    int n = 0, r;
    while ((r = jinja_render(run, t, &text, &why)) == 0)
        cr_assert_lt(n++, 10);
    cr_assert(n > 0 && r == JINJA_E_LIMIT);
    cr_assert_eq(jinja_render(run, t, &text, &why), JINJA_E_LIMIT);
    jinja_run_free(run);
    jinja_free(t);
}

/* The hash of a text, as in jinja_value.c: the test finds keys that all go to one slot. */
static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u ^ strlen(text);
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 0x100000001b3u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

Test(jinja_limits, keys_that_meet)
{
    enum { N_KEY = 2000, MASK = (1 << 13) - 1 };
    struct jinja_limits limits = plenty;
    limits.steps = 100000;
    for (int meet = 0; meet < 2; meet++) {
        struct jinja_run *run = NULL;
        struct jinja_text text;
        struct jinja *t = NULL;
        struct why why = {""};
        cr_assert_eq(jinja_run_new(&run, &limits), 0);
        struct jinja_value dict = jinja_value_dict(run);
        for (unsigned i = 0, n = 0; n < N_KEY; i++) {
            char key[16];
            snprintf(key, sizeof key, "%u", i);
            if (meet && (hash(key) & MASK) > 1)
                continue;
            jinja_value_set_text(run, dict, key, jinja_value_none());
            n++;
        }
        cr_assert_eq(jinja_parse(&t, "", 0, &why), 0);
        cr_expect_eq(jinja_render(run, t, &text, &why), meet ? JINJA_E_LIMIT : 0, "%d: %s", meet, why.text);
        jinja_run_free(run);
        jinja_free(t);
    }
}
