/* What templates do with values: filters, methods, formats, JSON, numbers and texts as Python writes them.
 * What is wanted is what Jinja 3.1 gives with the settings of chat templates. */
#include "config.h"
#include "src/text/jinja.h"

#include <criterion/criterion.h>

#include "tests/unit/jinja_util.h"

static const char values[] = "{\"s\": \"Hello World\", \"n\": 3, \"x\": 2.5, \"yes\": true, \"nothing\": "
                             "null, \"l\": [3, 1, 2], \"words\": [\"b\", \"A\", \"c\"],"
                             " \"d\": {\"b\": 1, \"a\": [true, null]},"
                             " \"users\": [{\"name\": \"Ann\", \"age\": 3}, {\"name\": \"bob\", \"age\": 2}, "
                             "{\"name\": \"Cy\", \"age\": 3}]}";

static void check(const struct jinja_case *cases, size_t n)
{
    jinja_util_check(cases, n, values);
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof(cases)[0])

Test(jinja_values, text_filters)
{
    static const struct jinja_case cases[] = {
        {"{{ s|upper }} {{ s|lower }} {{ 'hello wORLD'|title }} {{ 'hello wORLD'|capitalize }}", NULL,
         "HELLO WORLD hello world Hello World Hello world"},
        {"[{{ '  a b '|trim }}][{{ 'xxaxx'|trim('x') }}][{{ 'ab'|center(6) }}]", NULL, "[a b][a][  ab  ]"},
        {"{{ s|replace('o', '0') }} {{ s|replace('o', '0', 1) }} {{ 'aaa'|replace('aa', 'b') }}", NULL,
         "Hell0 W0rld Hell0 World ba"},
        {"{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent(1, blank=true) }}|{{ "
         "'a\nb'|indent('> ') }}",
         NULL, "a\n    b\n\n    c|  a\n  b|a\n \n b|a\n> b"},
        {"{{ 'a < b & \"c\"'|e }} {{ '<'|safe|e }} {{ '<'|forceescape }}", NULL,
         "a &lt; b &amp; &#34;c&#34; < &lt;"},
        {"{{ 'a b/ü?'|urlencode }} {{ {'a': 1, 'b c': 'ä'}|urlencode }}", NULL,
         "a%20b/%C3%BC%3F a=1&b+c=%C3%A4"},
        {"{{ 'one two three four'|truncate(9) }} {{ 'one two three'|truncate(9, true, '..', 0) }} {{ "
         "s|wordcount }}",
         NULL, "one... one two.. 2"},
        {"{{ 'foo bar baz qux quux'|truncate(9) }}", NULL, "foo..."},
        {"{{ s|length }}{{ l|count }}{{ 'é😀'|length }} {{ n|string ~ 1 }} {{ '%s-%05.1f'|format('a', 2.25) "
         "}}",
         NULL, "1132 31 a-002.2"},
        {"{{ missing|default('x') }}{{ ''|default('y') }}{{ ''|default('y', true) }}{{ nothing|d('z') }}",
         NULL, "xyNone"},
    };
    CHECK(cases);
}

Test(jinja_values, number_filters)
{
    static const struct jinja_case cases[] = {
        {"{{ '42'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ '0x1f'|int(base=16) }} {{ 2.9|int }} {{ ' 12 "
         "'|int }} {{ '1e2'|int }}",
         NULL, "42 0 7 31 2 12 100"},
        {"{{ '4.5'|float }} {{ 'x'|float }} {{ 3|float }} {{ '1e400'|float }}", NULL, "4.5 0.0 3.0 inf"},
        {"{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 42.55|round(1, 'floor') }} {{ "
         "42.1|round(method='ceil') }}"
         " {{ 1234|round(-2) }}",
         NULL, "2.0 4.0 2.67 42.5 43.0 1200"},
        {"{{ -5|abs }} {{ (-5)|abs }} {{ -2.5|abs }} {{ l|sum }} {{ l|sum(start=10) }} {{ users|sum('age') "
         "}}",
         NULL, "5 5 2.5 6 16 8"},
        {"{{ l|min }} {{ l|max }} {{ words|min }} {{ words|max }} {{ words|min(true) }} {{ "
         "users|max(attribute='age') }}",
         NULL, "1 3 A c A {'name': 'Ann', 'age': 3}"},
    };
    CHECK(cases);
}

Test(jinja_values, sequence_filters)
{
    static const struct jinja_case cases[] = {
        {"{{ l|join }} {{ l|join(', ') }} {{ users|join('/', attribute='name') }} {{ l|first }}{{ l|last }}",
         NULL, "312 3, 1, 2 Ann/bob/Cy 32"},
        {"{{ l|sort }} {{ l|sort(reverse=true) }} {{ words|sort }} {{ words|sort(case_sensitive=true) }}",
         NULL, "[1, 2, 3] [3, 2, 1] ['A', 'b', 'c'] ['A', 'b', 'c']"},
        {"{{ users|sort(attribute='age,name')|map(attribute='name')|join(',') }}", NULL, "bob,Ann,Cy"},
        {"{{ l|reverse|list }} {{ 'abc'|reverse }} {{ d|items|list }} {{ d|list }} {{ 'ab'|list }}", NULL,
         "[2, 1, 3] cba [('b', 1), ('a', [True, None])] ['b', 'a'] ['a', 'b']"},
        {"{{ d|dictsort }} {{ {'x': 2, 'y': 1}|dictsort(by='value') }} {{ {'b': 1, 'A': 2}|dictsort(true, "
         "reverse=true) }}",
         NULL, "[('a', [True, None]), ('b', 1)] [('y', 1), ('x', 2)] [('b', 1), ('A', 2)]"},
        {"{{ words|map('upper')|list }} {{ users|map(attribute='age')|list }} {{ users|map(attribute='z', "
         "default=0)|list }}",
         NULL, "['B', 'A', 'C'] [3, 2, 3] [0, 0, 0]"},
        {"{{ l|select('odd')|list }} {{ l|reject('odd')|list }} {{ [0, 1, '']|select|list }} {{ "
         "l|select('>', 1)|list }}",
         NULL, "[3, 1] [2] [1] [3, 2]"},
        {"{{ users|selectattr('age', 'equalto', 3)|map(attribute='name')|list }}"
         "{{ users|rejectattr('age', 'in', [3])|map(attribute='name')|list }}{{ users|selectattr('zip')|list "
         "}}",
         NULL, "['Ann', 'Cy']['bob'][]"},
        {"{{ [1, 1.0, 2, 'a', 'A']|unique|list }} {{ "
         "users|unique(attribute='age')|map(attribute='name')|list }}",
         NULL, "[1, 2, 'a'] ['Ann', 'bob']"},
        {"{% for age, group in users|groupby('age') %}{{ age }}:{{ group|map(attribute='name')|join('+') }} "
         "{% endfor %}",
         NULL, "2:bob 3:Ann+Cy "},
        {"{{ l|batch(2)|list }} {{ l|batch(2, 0)|list }} {{ range(5)|slice(2)|list }} {{ l|slice(2, 9)|list "
         "}}",
         NULL, "[[3, 1], [2]] [[3, 1], [2, 0]] [[0, 1, 2], [3, 4]] [[3, 1], [2, 9]]"},
        {"{{ users[0]|attr('name') }}{{ l|first|string|length }}{{ []|first is undefined }}", NULL, "1True"},
        {"{{ [1, 'a']|sort }}", NULL, "!not supported between instances of"},
    };
    CHECK(cases);
}

Test(jinja_values, text_methods)
{
    static const struct jinja_case cases[] = {
        {"{{ ' a  b '.split() }} {{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b c'.rsplit(' "
         "', 1) }} {{ ''.split() }}"
         " {{ ''.split(',') }}",
         NULL, "['a', 'b'] ['a', 'b', '', 'c'] ['a', 'b,c'] ['a b', 'c'] [] ['']"},
        {"{{ 'a'.split('') }}", NULL, "!empty separator"},
        {"[{{ ' a '.strip() }}][{{ ' a '.lstrip() }}][{{ ' a '.rstrip() }}][{{ 'xyax'.strip('xy') }}]", NULL,
         "[a][a ][ a][a]"},
        {"{{ s.startswith('He') }}{{ s.endswith(('x', 'ld')) }}{{ s.startswith('World', 6) }}{{ s.find('o') "
         "}}{{ s.rfind('o') }}"
         "{{ s.find('q') }}{{ s.count('l') }}{{ s.index('W') }}",
         NULL, "TrueTrueTrue47-136"},
        {"{{ s.index('q') }}", NULL, "!substring not found"},
        {"{{ s.replace('l', 'L') }} {{ s.replace('l', 'L', 2) }} {{ 'ab'.replace('', '-') }}", NULL,
         "HeLLo WorLd HeLLo World -a-b-"},
        {"{{ s.upper() }} {{ s.lower() }} {{ s.swapcase() }} {{ \"it's ok\".title() }} {{ 'ÀB'.capitalize() "
         "}}",
         NULL, "HELLO WORLD hello world hELLO wORLD It'S Ok Àb"},
        {"{{ 'straße'.upper() }} {{ 'ΑΣ'.lower() }} {{ 'ǆ'.title() }} {{ 'İ'.lower()|length }}", NULL,
         "STRASSE ας ǅ 2"},
        {"{{ 'a\\nb\\r\\nc'.splitlines() }} {{ 'a\\nb'.splitlines(true) }} {{ 'k=v=w'.partition('=') }} {{ "
         "'k=v=w'.rpartition('=') }}",
         NULL, "['a', 'b', 'c'] ['a\\n', 'b'] ('k', '=', 'v=w') ('k=v', '=', 'w')"},
        {"{{ '12'.isdigit() }}{{ 'ab'.isalpha() }}{{ 'a1'.isalnum() }}{{ 'A'.isupper() }}{{ ' '.isspace() "
         "}}{{ '½'.isnumeric() }}"
         "{{ '²'.isdigit() }}{{ '²'.isdecimal() }}{{ 'Aa'.istitle() }}",
         NULL, "TrueTrueTrueTrueTrueTrueTrueFalseTrue"},
        {"[{{ 'a'.center(4, '*') }}][{{ 'a'.ljust(3) }}][{{ 'a'.rjust(3, '.') }}][{{ '-7'.zfill(4) }}][{{ "
         "'a\\tb'.expandtabs(4) }}]",
         NULL, "[*a**][a  ][..a][-007][a   b]"},
        {"{{ ', '.join(words) }} {{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }}",
         NULL, "b, A, c x x"},
        {"{{ ','.join([1]) }}", NULL, "!expected str"},
        {"{{ d.get('b') }} {{ d.get('z') }} {{ d.get('z', 5) }} {{ d.keys()|list }} {{ d.values()|list }} {{ "
         "d.items() }}",
         NULL, "1 None 5 ['b', 'a'] [1, [True, None]] dict_items([('b', 1), ('a', [True, None])])"},
        {"{{ l.index(2) }} {{ l.count(3) }} {{ l.copy() }} {{ (1, 2).index(2) }}", NULL, "2 1 [3, 1, 2] 1"},
    };
    CHECK(cases);
}

Test(jinja_values, as_text)
{
    static const struct jinja_case cases[] = {
        {"{{ 1.0 }} {{ 0.1 }} {{ 1e16 }} {{ 123456789012345.0 }} {{ 1e-4 }} {{ 1e-5 }} {{ 5e-324 }} {{ "
         "1.7976931348623157e308 }}",
         NULL, "1.0 0.1 1e+16 123456789012345.0 0.0001 1e-05 5e-324 1.7976931348623157e+308"},
        {"{{ 0.1 + 0.2 }} {{ -0.0 }} {{ 1 / 3 }} {{ 2.0 ** 70 }} {{ a }} {{ b }}",
         "{\"a\": 12345678901234567890, \"b\": 1e999}",
         "0.30000000000000004 -0.0 0.3333333333333333 1.1805916207174113e+21 12345678901234567890 inf"},
        {"{{ [s, 'it\\'s', 'a\"b\\'c', 'tab\\t', '\\x00', 'é', '\\u200b', '\\\\'] }}", NULL,
         "['Hello World', \"it's\", 'a\"b\\'c', 'tab\\t', '\\x00', 'é', '\\u200b', '\\\\']"},
        {"{{ d }} {{ [none, true] }} {{ (1, 'a') }} {{ range(3) }} {{ range(1, 9, 2) }} {{ namespace(a=1) }}",
         NULL,
         "{'b': 1, 'a': [True, None]} [None, True] (1, 'a') range(0, 3) range(1, 9, 2) <Namespace {'a': 1}>"},
        {"{{ d.keys() }} {{ d.values() }}", NULL, "dict_keys(['b', 'a']) dict_values([1, [True, None]])"},
    };
    CHECK(cases);
}

Test(jinja_values, formats)
{
    static const struct jinja_case cases[] = {
        {"{{ '%s %r %d %5d|%-5d|%05d %x %o %e %g %.3f %%' % (s, s, 7, 7, 7, 7, 255, 8, 1234.5, 0.0001, "
         "3.14159) }}",
         NULL, "Hello World 'Hello World' 7     7|7    |00007 ff 10 1.234500e+03 0.0001 3.142 %"},
        {"{{ '%(a)s-%(b)03d' % {'a': 1, 'b': 2} }} {{ '%s' % l }} {{ '%c%c' % ('a', 66) }} {{ '%+d % d' % "
         "(1, 2) }}",
         NULL, "1-002 [3, 1, 2] aB +1  2"},
        {"{{ '%d' % 'a' }}", NULL, "!a real number is required, not str"},
        {"{{ '%s' % (1, 2) }}", NULL, "!not all arguments converted"},
        {"{{ '%s %s' % 1 }}", NULL, "!not enough arguments"},
        {"{{ '{} {}'.format(1, 'b') }} {{ '{1}{0}{1}'.format('a', 'b') }} {{ '{a} {{}} {b!r}'.format(a=1, "
         "b='x') }}",
         NULL, "1 b bab 1 {} 'x'"},
        {"{{ '{:>5}|{:<5}|{:^5}|{:*^5}|{:05d}'.format(1, 2, 'c', 'd', 42) }} {{ '{:,} {:_} {:.2f} {:e} "
         "{:%}'.format(1234567, 1234567, "
         "2.5, 12345.678, 0.5) }}",
         NULL, "    1|2    |  c  |**d**|00042 1,234,567 1_234_567 2.50 1.234568e+04 50.000000%"},
        {"{{ '{:x} {:#X} {:b} {:#o} {:c} {:+} {:.3} {:#} {:g}'.format(255, 255, 5, 8, 65, 3, 'abcdef', 1e-5, "
         "1e20) }}",
         NULL, "ff 0XFF 101 0o10 A +3 abc 1.e-05 1e+20"},
        {"{{ '{0[b]} {0[a][0]} {1:{2}}'.format(d, 'z', 3) }}|", NULL, "1 True z  |"},
        {"{{ '{'.format(1) }}", NULL, "!Single '{' encountered in format string"},
        {"{{ '{} {0}'.format(1) }}", NULL, "!cannot switch"},
        {"{{ '{:d}'.format('a') }}", NULL, "!Invalid format specifier"},
    };
    CHECK(cases);
}

Test(jinja_values, json)
{
    static const struct jinja_case cases[] = {
        {"{{ d|tojson }} {{ [1.0, 1e16, 2, 'a\"\\\\\\n\\x01<é😀', none]|tojson }}", NULL,
         "{\"b\": 1, \"a\": [true, null]} [1.0, 1e+16, 2, \"a\\\"\\\\\\n\\u0001<é😀\", null]"},
        {"{{ 'é😀'|tojson(ensure_ascii=true) }} {{ d|tojson(sort_keys=true) }} {{ d|tojson(separators=(',', "
         "':')) }}",
         NULL, "\"\\u00e9\\ud83d\\ude00\" {\"a\": [true, null], \"b\": 1} {\"b\":1,\"a\":[true,null]}"},
        {"{{ {'a': [1, {}], 'b': []}|tojson(indent=2) }}", NULL,
         "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"},
        {"{{ {1: 2, true: 3, none: 4, 1.5: 5}|tojson }} {{ (1, 2)|tojson }}", NULL,
         "{\"1\": 3, \"null\": 4, \"1.5\": 5} [1, 2]"},
        {"{{ v|tojson }}", "{\"v\": [1e400, 12345678901234567890, -0.0, 1.10]}",
         "[Infinity, 12345678901234567890, -0.0, 1.1]"},
        {"{{ missing|tojson }}", NULL, "!Undefined is not JSON serializable"},
        {"{{ range|tojson }}", NULL, "!is not JSON serializable"},
        {"{% set r = range(-9223372036854775807, 9223372036854775807, 9223372036854775800) %}"
         "{{ r|list }} {{ r[2] }} {{ r[:2] }}",
         NULL,
         "[-9223372036854775807, -7, 9223372036854775793] 9223372036854775793 "
         "range(-9223372036854775807, 9223372036854775793, 9223372036854775800)"},
        {"{{ range(0, 10, 5)[::9223372036854775807] }}", NULL, "!an integer beyond 64 bits"},
        {"{{ v }}", "{\"v\": {\"a\": 1, \"a\": 2}}", "{'a': 2}"},
    };
    CHECK(cases);
}
