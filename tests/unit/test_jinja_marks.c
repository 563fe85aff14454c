/* Which bytes of a rendered text came from outside. The values of every case are input; « and » stand around
 * what must be marked. */
#include "config.h"
#include "src/text/jinja.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/text/jinja_json.h"
#include "tests/unit/jinja_util.h"
#include "tests/unit/text_util.h"

static const char values[] =
    "{\"s\": \"Ab c\", \"t\": \"<|im_end|>\", \"l\": [\"x\", \"y\"], \"d\": {\"k\": \"v\"}, \"n\": 12,"
    " \"sharp\": \"straße\", \"lines\": \"p\\nq\", \"quoted\": \"a\\\"\\n\\u0001b\", \"form\": \"<{}>\"}";

static void check(const struct jinja_case *cases, size_t n)
{
    for (const struct jinja_case *c = cases; c < cases + n; c++) {
        int code;
        struct why why;
        char *text = jinja_util_render(c->template, strlen(c->template), c->values ? c->values : values, NULL,
                                       true, &code, &why);
        cr_expect(text && strcmp(text, c->want) == 0, "%s\n got  %s\n want %s", c->template,
                  text ? text : why.text, c->want);
        free(text);
    }
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof(cases)[0])

Test(jinja_marks, joining)
{
    static const struct jinja_case cases[] = {
        {"<a>{{ s }}<b>", NULL, "<a>«Ab c»<b>"},
        {"{{ s }}{{ t }}", NULL, "«Ab c<|im_end|>»"},
        {"{{ '<' + s + '>' }}{{ '<' ~ s ~ n ~ '>' }}{{ s * 2 }}", NULL, "<«Ab c»><«Ab c»12>«Ab cAb c»"},
        {"{{ '<|' ~ 'im_end' ~ '|>' }}", NULL, "<|im_end|>"},
        {"{{ l|join(', ') }} {{ '-'.join(l) }} {{ l|join(s) }}", NULL, "«x», «y» «x»-«y» «xAb cy»"},
        {"{{ [s, 'T']|join }}{{ s if n else 'T' }}{{ missing|default(s) }}{{ missing|default('T') }}", NULL,
         "«Ab c»T«Ab cAb c»T"},
        {"{% set a = 'T' ~ s %}{{ a }}{% set b %}T{{ s }}{% endset %}{{ b }}", NULL, "T«Ab c»T«Ab c»"},
        {"{% set ns = namespace(a='') %}{% for i in l %}{% set ns.a = ns.a ~ i ~ ';' %}{% endfor %}{{ ns.a "
         "}}",
         NULL, "«x»;«y»;"},
        {"{% macro m(a) %}[{{ a }}{{ caller() if caller }}]{% endmacro %}{{ m(s)|upper }}{% call m('T') %}{{ "
         "s }}{% endcall %}",
         NULL, "[«AB C»][T«Ab c»]"},
        {"{% filter upper %}t{{ s }}{% endfilter %}", NULL, "T«AB C»"},
        {"{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}{{ d|first }}{{ d|dictsort|first|first }}",
         NULL, "«k»=«vkk»"},
        {"{{ cycler(s, 'T').next() }}{{ loop }}{% set j = joiner(s) %}{{ j() }}{{ j() }}", NULL,
         "«Ab cAb c»"},
    };
    CHECK(cases);
}

Test(jinja_marks, cutting)
{
    static const struct jinja_case cases[] = {
        {"{{ ('<' ~ s)[:3] }} {{ ('<' ~ s)[::-1] }} {{ s[1] }} {{ s[-1:] }} {{ ('<' ~ s)|first }}{{ s|last "
         "}}",
         NULL, "<«Ab» «c bA»< «b» «c» <«c»"},
        {"{{ ('T ' ~ s).split() }} {{ ('T,' ~ s).partition(',') }}", NULL,
         "['T', '«Ab»', '«c»'] ('T', ',', '«Ab c»')"},
        {"{{ (' T ' ~ s ~ ' ').strip() }}{{ ('T' ~ s)|list }}", NULL,
         "T «Ab c»['T', '«A»', '«b»', '« »', '«c»']"},
        {"{{ ('T' ~ s)|trim('T') }}{{ ('T' ~ s).removeprefix('T') }}{{ (lines ~ '\\nT').splitlines() }}",
         NULL, "«Ab cAb c»['«p»', '«q»', 'T']"},
        {"{{ t.split('|')[1] }}{{ t.split('|')|join('|') }}{{ ('T' ~ t)|reverse }}", NULL,
         "«im_end<»|«im_end»|«>>|dne_mi|<»T"},
        {"{{ ('T' ~ s)|truncate(4, true, '...', 0) }} {{ (s ~ 'T')|batch(2)|list }}", NULL,
         "T... [['«A»', '«b»'], ['« »', '«c»'], ['T']]"},
    };
    CHECK(cases);
}

Test(jinja_marks, changing)
{
    static const struct jinja_case cases[] = {
        {"{{ ('t' ~ s)|upper }} {{ ('T' ~ s).lower() }} {{ ('t' ~ s).swapcase() }} {{ ('t' ~ s)|capitalize "
         "}} {{ ('t ' ~ s)|title }}",
         NULL, "T«AB C» t«ab c» T«aB C» T«ab c» T «Ab C»"},
        {"{{ ('ß' ~ sharp).upper() }}", NULL, "SS«STRASSE»"},
        {"{{ s.replace('b', 'T') }} {{ 'T-T'.replace('-', s) }} {{ (s ~ 'b')|replace('b', '') }} {{ "
         "s.replace('', '-') }}",
         NULL, "«A»T« c» T«Ab c»T «A c» -«A»-«b»-« »-«c»-"},
        {"{{ '<|im_<|x|>end|>'.replace('<|x|>', '') }} {{ v.replace('<|x|>', '') }}",
         "{\"v\": \"<|im_<|x|>end|>\"}", "<|im_end|> «<|im_end|>»"},
        {"{{ lines|indent(2, true) }} {{ s.center(8, '*') }} {{ 'T'.ljust(3, l[0]) }} {{ 'a'.rjust(2) }}",
         NULL, "  «p\n»  «q» **«Ab c»** T«xx»  a"},
        {"{{ t|e }} {{ (t|e)[:4] }} {{ ('<' ~ t[0])|e }}", NULL, "«&lt;|im_end|&gt;» «&lt;» &lt;«&lt;»"},
        {"{{ s|urlencode }} {{ ' '|urlencode }}", NULL, "«Ab%20c» %20"},
        {"{{ '1\\t2'.expandtabs(2) }} {{ v.expandtabs(2) }} {{ v.zfill(5) }}", "{\"v\": \"a\\tb\"}",
         "1 2 «a b» 00«a\tb»"},
    };
    CHECK(cases);
}

Test(jinja_marks, formatting)
{
    static const struct jinja_case cases[] = {
        {"{{ '<%s>' % s }} {{ '<%s|%s>' % (s, 'T') }} {{ '%(k)s' % d }} {{ '%5s|%-5s|%.1s' % (l[0], l[1], s) "
         "}}",
         NULL, "<«Ab c»> <«Ab c»|T> «v»     «x»|«y»    |«A»"},
        {"{{ '<{}>'.format(s) }} {{ form.format('T') }} {{ '{a!r:>8}'.format(a=s) }} {{ '{0[k]}'.format(d) "
         "}}",
         NULL, "<«Ab c»> «<»T«>»   '«Ab c»' «v»"},
        {"{{ '<%s>'|format(s) }} {{ s|string }} {{ [s, 'T'] }} {{ d }}", NULL,
         "<«Ab c»> «Ab c» ['«Ab c»', 'T'] {'«k»': '«v»'}"},
        {"{{ quoted|tojson }} {{ d|tojson }} {{ {'T': s}|tojson(indent=1) }}", NULL,
         "\"«a\\\"\\n\\u0001b»\" {\"«k»\": \"«v»\"} {\n \"T\": \"«Ab c»\"\n}"},
        {"{{ 'é'|tojson(ensure_ascii=true) }} {{ v|tojson(ensure_ascii=true) }} {{ [v] }}",
         "{\"v\": \"é\\u200b\"}", "\"\\u00e9\" \"«\\u00e9\\u200b»\" ['«é\\u200b»']"},
        {"{{ d|tojson(indent=s) }}", "{\"s\": \"<|\", \"d\": [1]}", "[\n«<|»1\n]"},
        {"{{ [1, 2]|tojson(separators=(s, ':')) }}", "{\"s\": \"<|\"}", "[1«<|»2]"},
        {"{{ '%c%c' % (n, 65) }} {{ '{:c}'.format(n) }}", "{\"n\": 60}", "«<A» «<»"},
        {"{{ strftime_now(s) }} {{ strftime_now('%Y') }}", "{\"s\": \"<|%Y|>\"}", "«<|2025|>» 2025"},
        {"{{ l|map('upper')|list }} {{ l|sort|first }} {{ l|max }} {{ [s, 'T']|select|list }} {{ "
         "l|unique|list }}",
         NULL, "['«X»', '«Y»'] «x» «y» ['«Ab c»', 'T'] ['«x»', '«y»']"},
        {"{{ users|groupby('g')|map('first')|list }} {{ users|map(attribute='g')|join }} {{ "
         "users|sum(attribute='n') }}",
         "{\"users\": [{\"g\": \"a\", \"n\": 1}, {\"g\": \"a\", \"n\": 2}]}", "['«a»'] «aa» 3"},
    };
    CHECK(cases);
}

/* Random expressions on texts: the template has only letters of ASCII, the values only ones of Greek, and
 * nothing turns one into the other. So Greek is input, wherever it comes out, and nothing else of letters is.
 */
static void add_expression(uint64_t *state, char *out, size_t size, int depth)
{
    static const char *const forms[] = {
        "(%s ~ 'ab')",
        "('ab' ~ %s)",
        "%s|upper",
        "%s[1:]",
        "%s[::-1]",
        "%s|replace('a', g)",
        "%s.replace(g, 'c')",
        "%s|title",
        "('x%%sy' %% (%s,))",
        "(%s.split('b')|join('z'))",
        "'{:>9}'.format(%s)",
        "%s.center(12, 'w')",
        "(%s|trim('aα'))",
        "%s.swapcase()",
        "(%s|list|sort|join)",
        "'q'.join(%s|list)",
        "(%s|tojson|string)",
        "%s|indent(2, true)",
        "(%s * 2)",
        "(%s|batch(2)|map('join')|join('k'))",
        "(%s|e|string)",
        "%s.partition('a')[2]",
        "(%s ~ h)",
        "(%s|reverse|string)",
        "%s.expandtabs(3)",
    };
    static const char *const leaves[] = {"g", "h", "'abc'", "'A b'", "(g ~ 'c' ~ h)"};
    enum { N_FORM = sizeof forms / sizeof forms[0], N_LEAF = sizeof leaves / sizeof leaves[0] };
    char inner[2000];
    if (depth == 0) {
        snprintf(out, size, "%s", leaves[text_util_random(state, N_LEAF)]);
        return;
    }
    add_expression(state, inner, sizeof inner, depth - 1);
    char wrapped[2010];
    snprintf(wrapped, sizeof wrapped, "(%s)", inner);
    /* The forms are this function's own. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(out, size, forms[text_util_random(state, N_FORM)], wrapped);
#pragma GCC diagnostic pop
}

static void check_letters(const char *template, const char *text)
{
    bool is_input = false;
    for (const char *c = text; *c;) {
        unsigned char byte = (unsigned char)*c;
        if (byte == 0xc2) {
            is_input = (unsigned char)c[1] == 0xab;
            c += 2;
            continue;
        }
        bool is_greek = byte == 0xce || byte == 0xcf, is_latin = (byte | 32) >= 'a' && (byte | 32) <= 'z';
        cr_assert(!is_greek || is_input, "%s\n%s", template, text);
        cr_assert(!is_latin || !is_input, "%s\n%s", template, text);
        c += is_greek ? 2 : 1;
    }
}

Test(jinja_marks, random_expressions)
{
    uint64_t state = 11;
    unsigned n_rendered = 0, n_mixed = 0;
    for (int i = 0; i < 5000; i++) {
        char expression[2200], template[2400];
        int code;
        struct why why;
        add_expression(&state, expression, sizeof expression, 1 + (int)text_util_random(&state, 5));
        snprintf(template, sizeof template, "<{{ %s }}>", expression);
        char *text = jinja_util_render(template, strlen(template), "{\"g\": \"αβ γ\", \"h\": \"Δ ε\"}", NULL,
                                       true, &code, &why);
        cr_assert(text, "%s: %s", template, why.text);
        check_letters(template, text);
        n_rendered++;
        n_mixed += strstr(text, "«") && strpbrk(text, "abcABC");
        free(text);
    }
    cr_assert_gt(n_mixed, n_rendered / 4);
}

Test(jinja_marks, what_the_host_trusts)
{
    struct jinja *t = NULL;
    struct jinja_run *run = NULL;
    struct jinja_text text;
    static const char template[] = "{{ a }}{{ b }}{{ a ~ b }}";
    cr_assert_eq(jinja_parse(&t, template, sizeof template - 1, NULL), 0);
    cr_assert_eq(jinja_run_new(&run, NULL), 0);
    jinja_run_set(run, "a", jinja_value_text(run, "<s>", 3, JINJA_TRUSTED));
    jinja_run_set(run, "b", jinja_value_text(run, "<s>", 3, JINJA_INPUT));
    cr_assert_eq(jinja_render(run, t, &text, NULL), 0);
    cr_assert(text.n == 12 && memcmp(text.text, "<s><s><s><s>", 12) == 0);
    cr_assert_eq(text.n_input, 2);
    cr_assert(text.inputs[0].first == 3 && text.inputs[0].n == 3);
    cr_assert(text.inputs[1].first == 9 && text.inputs[1].n == 3);
    jinja_run_free(run);
    jinja_free(t);
}
