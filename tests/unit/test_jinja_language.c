/* The template language: statements, expressions, scopes, white space, errors. What is wanted is what Jinja
 * 3.1 gives with the settings of chat templates. */
#include "config.h"
#include "src/text/jinja.h"

#include <criterion/criterion.h>

#include "tests/unit/jinja_util.h"

static const char values[] = "{\"s\": \"Hello\", \"n\": 3, \"x\": 2.5, \"yes\": true, \"nothing\": null, "
                             "\"l\": [3, 1, 2], \"empty\": [],"
                             " \"d\": {\"b\": 1, \"a\": [true, null], \"items\": 5},"
                             " \"users\": [{\"name\": \"Ann\", \"age\": 3}, {\"name\": \"bob\", \"age\": 2}, "
                             "{\"name\": \"Cy\", \"age\": 3}]}";

static void check(const struct jinja_case *cases, size_t n)
{
    jinja_util_check(cases, n, values);
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof(cases)[0])

Test(jinja_language, white_space)
{
    static const struct jinja_case cases[] = {
        {"a\n{% if yes %}\nb\n{% endif %}\nc", NULL, "a\nb\nc"},
        {"  {% if yes %}  b{% endif %}  \nc", NULL, "  b  \nc"},
        {"a {{ n }}\nb", NULL, "a 3\nb"},
        {"a \n\t {{- n -}} \n b", NULL, "a3b"},
        {"a  {%- if yes -%}  b  {%- endif -%}  c", NULL, "abc"},
        {"a\n  {%+ if yes +%}\nb{% endif %}", NULL, "a\n  \nb"},
        {"a {# comment #} b", NULL, "a  b"},
        {"a\n  {# comment #}\nb", NULL, "a\nb"},
        {"a\n  {#- comment -#}\n b", NULL, "ab"},
        {"{% raw %}{{ x }} {% y %}{% endraw %}", NULL, "{{ x }} {% y %}"},
        {"a\r\nb\rc\n", NULL, "a\nb\nc"},
        {"a\n\n", NULL, "a\n"},
        {"", NULL, ""},
        {"}} %} #} { {", NULL, "}} %} #} { {"},
        {"{{ '{{' }}{{ \"%}\" }}", NULL, "{{%}"},
    };
    CHECK(cases);
}

Test(jinja_language, conditions)
{
    static const struct jinja_case cases[] = {
        {"{% if n == 3 %}a{% elif n %}b{% else %}c{% endif %}", NULL, "a"},
        {"{% if n == 4 %}a{% elif n %}b{% else %}c{% endif %}", NULL, "b"},
        {"{% if n == 4 %}a{% elif not n %}b{% else %}c{% endif %}", NULL, "c"},
        {"{% if empty or '' or 0 or 0.0 or nothing or {} or missing %}a{% endif %}b", NULL, "b"},
        {"{{ 'a' if yes }}{{ 'b' if not yes }}{{ 'c' if not yes else 'd' }}", NULL, "ad"},
        {"{{ 0 or 'x' }} {{ 1 and 2 }} {{ '' and 1 }}.", NULL, "x 2 ."},
        {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 in l }} {{ 5 not in l }} {{ 'el' in s }} {{ 'b' in d }}", NULL,
         "True False True True True True"},
        {"{{ 1 == 1.0 }} {{ true == 1 }} {{ '1' == 1 }} {{ [1, 2] == [1, 2] }} {{ (1,) < (1, 0) }}", NULL,
         "True True False True True"},
        {"{{ 'a' < 1 }}", NULL, "!line 1 column 8: '<' not supported between instances of 'str' and 'int'"},
        {"{% if %}{% endif %}", NULL, "!line 1 column 7"},
        {"{% if yes %}", NULL, "!endif"},
    };
    CHECK(cases);
}

Test(jinja_language, loops)
{
    static const struct jinja_case cases[] = {
        {"{% for i in l %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}", NULL, "3, 1, 2"},
        {"{% for i in empty %}x{% else %}none{% endfor %}", NULL, "none"},
        {"{% for i in missing %}x{% else %}none{% endfor %}", NULL, "none"},
        {"{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ "
         "loop.first }}"
         "{{ loop.length }} {% endfor %}",
         NULL, "1032True3 2121False3 3210False3 "},
        {"{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}", NULL,
         "<3>1 3<1>2 1<2> "},
        {"{% for i in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i > 2) }} {% endfor %}", NULL,
         "aTrue bTrue aFalse "},
        {"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", NULL, "b=1;a=[True, None];items=5;"},
        {"{% for a, (b, c) in [[1, [2, 3]], (4, (5, 6))] %}{{ a }}{{ b }}{{ c }} {% endfor %}", NULL,
         "123 456 "},
        {"{% for a, b in [[1, 2, 3]] %}{% endfor %}", NULL, "!too many values to unpack (expected 2)"},
        {"{% for u in users if u.age == 3 %}{{ loop.index }}{{ u.name }} {% endfor %}", NULL, "1Ann 2Cy "},
        {"{% for i in range(10) %}{% if i == 2 %}{% continue %}{% elif i == 5 %}{% break %}{% endif %}{{ i }}"
         "{% endfor %}.",
         NULL, "0134."},
        {"{% for i in l %}{% for j in range(i) %}{{ loop.index }}{% endfor %};{% endfor %}", NULL,
         "123;1;12;"},
        {"{% for c in 'aé' %}[{{ c }}]{% endfor %}", NULL, "[a][é]"},
        {"{% for k in d %}{{ k }}{% endfor %}", NULL, "baitems"},
        {"{% for i in n %}{% endfor %}", NULL, "!'int' object is not iterable"},
        {"{% for t in v recursive %}{{ t.n }}{{ loop.depth }}({{ loop(t.v) if t.v }}){% endfor %}",
         "{\"v\": [{\"n\": 1, \"v\": [{\"n\": 2}, {\"n\": 3}]}, {\"n\": 4}]}", "11(22()32())41()"},
        {"{% break %}", NULL, "!line 1 column 4: 'break' outside loop"},
        {"{% for i in l %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}", NULL,
         "!'continue' outside loop"},
        {"{% for i in l %}{% for j in l recursive %}{% else %}{% break %}{% endfor %}{% endfor %}", NULL,
         "!'break' outside loop"},
        {"{% for i in l %}{% for j in empty %}{% else %}{% break %}{% endfor %}x{% endfor %}.", NULL, "."},
    };
    CHECK(cases);
}

Test(jinja_language, scopes)
{
    static const struct jinja_case cases[] = {
        {"{% set a = 1 %}{% for i in l %}{% set a = i %}{% endfor %}{{ a }}", NULL, "1"},
        {"{% set a = 1 %}{% if yes %}{% set a = 2 %}{% endif %}{{ a }}", NULL, "2"},
        {"{% set ns = namespace(a=1, b='x') %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a "
         "}}{{ ns.b }}",
         NULL, "7x"},
        {"{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}", NULL, "12False"},
        {"{% set d.a = 1 %}", NULL, "!cannot assign attribute on non-namespace object"},
        {"{% set a, b = 1, 2 %}{{ b }}{{ a }}", NULL, "21"},
        {"{% set a %} x{{ n }} {% endset %}[{{ a }}]{{ a is string }}", NULL, "[ x3 ]True"},
        {"{% set a | upper | trim %} x{{ n }} {% endset %}[{{ a }}]", NULL, "[X3]"},
        {"{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}", NULL, "13"},
        {"{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}", NULL, "211"},
        {"{% for loop in l %}{% endfor %}", NULL,
         "!Can't assign to special loop variable in for-loop target"},
        {"{% for i in l %}{% endfor %}{{ i is defined }}{{ loop is defined }}", NULL, "FalseFalse"},
        {"{% filter upper %}a{{ s }}{% endfilter %}", NULL, "AHELLO"},
        {"{% generation %}{{ s }}{% endgeneration %}", NULL, "Hello"},
        {"{% set none = 1 %}", NULL, "!line 1 column 8"},
    };
    CHECK(cases);
}

Test(jinja_language, macros)
{
    static const struct jinja_case cases[] = {
        {"{% macro m(a, b='x') %}<{{ a }}{{ b }}>{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(b=3, a=4) }}{{ "
         "m() }}",
         NULL, "<1x><12><43><x>"},
        {"{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", NULL, "11"},
        {"{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, k=3) }}", NULL, "(1, 2){'k': 3}"},
        {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", NULL, "!a macro takes not more than 1 argument(s)"},
        {"{% macro m(a) %}{% endmacro %}{{ m(k=2) }}", NULL, "!a macro takes no keyword argument 'k'"},
        {"{% macro f(i) %}{{ i }}{% if i %}{{ f(i - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", NULL, "3210"},
        {"{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}{{ s }}{% endcall %}", NULL, "[Hello]"},
        {"{% macro m() %}{{ caller(1) }}{{ caller(2) }}{% endmacro %}{% call(i) m() %}<{{ i }}>{% endcall %}",
         NULL, "<1><2>"},
        {"{% set a = 1 %}{% macro m() %}{{ a }}{% endmacro %}{% set a = 2 %}{{ m() }}", NULL, "2"},
        {"{% macro m() %}{% set a = 1 %}{% endmacro %}{{ m() }}{{ a is defined }}", NULL, "False"},
        {"{% macro m() %} x {% endmacro %}{{ m() | trim }}{{ m() ~ '.' }}{{ m.name }}", NULL, "x x .m"},
        {"{% macro m(a, b=1, c) %}{% endmacro %}", NULL, "!non-default argument follows default argument"},
        {"{{ s() }}", NULL, "!'str' object is not callable"},
        {"{{ missing() }}", NULL, "!'missing' is undefined"},
    };
    CHECK(cases);
}

Test(jinja_language, expressions)
{
    static const struct jinja_case cases[] = {
        {"{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 7 // 2 }} {{ -7 // 2 }}",
         NULL, "3 9 64 4 3 -4"},
        {"{{ 7 / 2 }} {{ 6 / 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7.5 % -2 }} {{ 2 ** -1 }}", NULL,
         "3.5 3.0 1 2 -0.5 0.5"},
        {"{{ 1 / 0 }}", NULL, "!division by zero"},
        {"{{ 'a' + 'b' }} {{ 'ab' * 2 }} {{ [1] + [2] }} {{ [0] * 2 }} {{ (1,) + (2,) }}", NULL,
         "ab abab [1, 2] [0, 0] (1, 2)"},
        {"{{ 'a' + 1 }}", NULL, "!can only concatenate str (not \"int\") to str"},
        {"{{ 'a' ~ 1 ~ 2.0 ~ none ~ true ~ [1] }}", NULL, "a12.0NoneTrue[1]"},
        {"{{ l[0] }}{{ l[-1] }}{{ l[7] }}{{ d['b'] }}{{ d.b }}{{ d['no'] }}{{ users[1].name }}{{ s[1] }}",
         NULL, "3211bobe"},
        {"{{ l[1:] }} {{ l[:-1] }} {{ l[::-1] }} {{ l[::2] }} {{ l[5:] }} {{ s[1:3] }} {{ s[::-1] }} {{ "
         "s[-3:] }}",
         NULL, "[1, 2] [3, 1] [2, 1, 3] [3, 2] [] el olleH llo"},
        {"{{ 'aé😀b'[1:3] }}{{ 'aé😀b'[::-2] }}", NULL, "é😀bé"},
        {"{{ l[::0] }}", NULL, "!slice step cannot be zero"},
        {"{{ d['items'] }} {{ d.items()|list }}", NULL, "5 [('b', 1), ('a', [True, None]), ('items', 5)]"},
        {"{{ missing }}{{ missing is defined }}", NULL, "False"},
        {"{{ missing.x }}", NULL, "!line 1 column 11: 'missing' is undefined"},
        {"{{ d.no.x }}", NULL, "!'dict object' has no attribute 'no'"},
        {"{{ missing + 1 }}", NULL, "!'missing' is undefined"},
        {"{{ {'a': 1, 2: [none, 'x']} }} {{ () }} {{ (1,) }} {{ 1, 2 }}", NULL,
         "{'a': 1, 2: [None, 'x']} () (1,) (1, 2)"},
        {"{{ {[1]: 2} }}", NULL, "!unhashable type: 'list'"},
        {"{{ 'a' 'b' }}", NULL, "ab"},
        {"{{ 'a\\n\\t\\x41\\u00e9\\'' }}", NULL, "a\n\tAé'"},
        {"{{ true }}{{ True }}{{ none }}{{ None }}{{ 1_000 }}{{ 0x1f }}{{ 0b11 }}{{ 1e3 }}", NULL,
         "TrueTrueNoneNone10003131000.0"},
        {"{{ not yes }} {{ not not 1 }} {{ -n }} {{ +n }} {{ - -n }}", NULL, "False True -3 3 3"},
        {"{{ range(3)|list }}{{ range(1, 6, 2)|list }}{{ range(3, 0, -1)|list }}{{ range(0)|list }}", NULL,
         "[0, 1, 2][1, 3, 5][3, 2, 1][]"},
        {"{{ dict(a=1, b=2) }}{{ dict({'x': 1}, y=2) }}", NULL, "{'a': 1, 'b': 2}{'x': 1, 'y': 2}"},
        {"{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}", NULL,
         "abba"},
        {"{% set j = joiner('|') %}{{ j() }}a{{ j() }}b", NULL, "a|b"},
        {"{{ strftime_now('%d %B %Y, %H:%M:%S %a %j %%') }}", NULL, "09 March 2025, 17:04:05 Sun 068 %"},
        {"{{ s.upper }}{{ x", NULL, "!line 1 column"},
        {"{{ 9223372036854775807 + 1 }}", NULL, "!64 bits"},
    };
    CHECK(cases);
}

Test(jinja_language, tests)
{
    static const struct jinja_case cases[] = {
        {"{{ n is defined }}{{ q is defined }}{{ q is undefined }}{{ nothing is none }}{{ n is not none }}",
         NULL, "TrueFalseTrueTrueTrue"},
        {"{{ s is string }}{{ n is string }}{{ d is mapping }}{{ l is mapping }}{{ l is sequence }}{{ s is "
         "sequence }}"
         "{{ d is sequence }}{{ n is sequence }}",
         NULL, "TrueFalseTrueFalseTrueTrueTrueFalse"},
        {"{{ l is iterable }}{{ s is iterable }}{{ n is iterable }}{{ q is iterable }}", NULL,
         "TrueTrueFalseTrue"},
        {"{{ n is number }}{{ x is number }}{{ yes is number }}{{ n is integer }}{{ yes is integer }}{{ x is "
         "float }}"
         "{{ n is float }}{{ yes is boolean }}{{ n is boolean }}",
         NULL, "TrueTrueTrueTrueFalseTrueFalseTrueFalse"},
        {"{{ yes is true }}{{ 1 is true }}{{ false is false }}{{ 0 is false }}", NULL, "TrueFalseTrueFalse"},
        {"{{ n is odd }}{{ n is even }}{{ n is divisibleby 3 }}{{ n is divisibleby(2) }}", NULL,
         "TrueFalseTrueFalse"},
        {"{{ n is eq 3 }}{{ n is ne(3) }}{{ n is gt 2 }}{{ n is ge 3 }}{{ n is lt 3 }}{{ n is le 3 }}{{ n is "
         "in l }}",
         NULL, "TrueFalseTrueTrueFalseTrueTrue"},
        {"{{ 'a' is lower }}{{ 'A' is upper }}{{ s is lower }}{{ nothing is sameas none }}{{ range is "
         "callable }}",
         NULL, "TrueTrueFalseTrueTrue"},
        {"{{ 'upper' is filter }}{{ 'nope' is filter }}{{ 'odd' is test }}", NULL, "TrueFalseTrue"},
        {"{{ not s is string }}{{ s is string and n is string }}", NULL, "FalseFalse"},
        {"{{ s is nope }}", NULL, "!line 1 column 6: No test named 'nope'"},
        {"{{ s is eq }}", NULL, "!line 1 column"},
    };
    CHECK(cases);
}

Test(jinja_language, refused)
{
    static const struct jinja_case cases[] = {
        {"{% include 'x' %}", NULL, "!line 1 column 4: unknown tag 'include'"},
        {"a\nb {% foo %}", NULL, "!line 2 column 6: unknown tag 'foo'"},
        {"{{ s|nope }}", NULL, "!line 1 column 6: No filter named 'nope'"},
        {"{{ s.nope() }}", NULL, "!'str object' has no attribute 'nope'"},
        {"{{ l.append(1) }}", NULL,
         "!line 1 column 12: access to a method that changes its object is unsafe"},
        {"{{ d.update(a=1) }}", NULL, "!line 1 column 12: access to a method"},
        {"{{ d.pop('a') }}", NULL, "!line 1 column 9: access to a method"},
        {"{{ s.__class__ }}", NULL, ""},
        {"{{ s.__class__.x }}", NULL, "!'str object' has no attribute '__class__'"},
        {"é\n  {{ raise_exception('No ' ~ s) }}", NULL, "!line 2 column 21: No Hello"},
        {"{{ raise_exception() }}", NULL, "!message"},
        {"{{ 'abc }}", NULL, "!line 1 column 4"},
        {"{{ a b }}", NULL, "!line 1 column 6: expected end of print statement, got 'b'"},
        {"{{ (1 }}", NULL, "!line 1 column 7"},
        {"{# open", NULL, "!line 1 column 1"},
        {"{% endif %}", NULL, "!line 1 column 4: unknown tag 'endif'"},
        {"{% for i in l %}{% endif %}", NULL, "!unknown tag 'endif'"},
        {"{{ $ }}", NULL, "!line 1 column 4"},
    };
    CHECK(cases);
}

Test(jinja_language, template_bytes)
{
    int code;
    struct why why;
    static const char latin[] = "a\xe9";
    cr_assert_null(jinja_util_render(latin, sizeof latin - 1, "{}", NULL, false, &code, &why));
    cr_assert_str_eq(why.text, "the template is no UTF-8 at its byte 1");
    static const char nul[] = "a\0{{ 1 }}";
    struct jinja *t = NULL;
    struct jinja_run *run = NULL;
    struct jinja_text text;
    cr_assert_eq(jinja_parse(&t, nul, sizeof nul - 1, &why), 0);
    cr_assert_eq(jinja_run_new(&run, NULL), 0);
    cr_assert_eq(jinja_render(run, t, &text, &why), 0);
    cr_assert(text.n == 3 && memcmp(text.text, "a\0001", 3) == 0);
    jinja_run_free(run);
    jinja_free(t);
}
