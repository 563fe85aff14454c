/* The template engine against what Jinja2 renders: tests/data/jinja. */
#include "config.h"
#include "src/text/jinja.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/text/jinja_json.h"
#include "tests/support.h"
#include "tests/unit/jinja_util.h"

static const struct jinja_string *member(struct jinja_run *run, struct jinja_value dict, const char *key)
{
    struct jinja_value v = jinja_value_get_text(run, dict.dict, key);
    return v.kind == JINJA_STRING ? v.string : NULL;
}

/* The text without the « and » around inputs, in place; outside of them must be no Greek letter. */
static void take_marks(const struct jinja_string *template, char *text)
{
    bool has_greek = memchr(template->text, 0xce, template->n) || memchr(template->text, 0xcf, template->n);
    bool is_input = false;
    char *to = text;
    for (const char *c = text; *c;) {
        if (strncmp(c, "«", strlen("«")) == 0 || strncmp(c, "»", strlen("»")) == 0) {
            is_input = !is_input;
            c += strlen("«");
            continue;
        }
        bool is_greek = (unsigned char)*c == 0xce || (unsigned char)*c == 0xcf;
        cr_expect(!is_greek || is_input || has_greek, "%.*s: unmarked input from %s on", (int)template->n,
                  template->text, c);
        *to++ = *c++;
    }
    *to = '\0';
}

static void check(const struct jinja_string *template, const struct jinja_string *want, const char *values)
{
    int code;
    struct why why;
    char *text = jinja_util_render(template->text, template->n, values, NULL, true, &code, &why);
    if (text)
        take_marks(template, text);
    if (!want)
        cr_expect(!text && strncmp(why.text, "line ", 5) == 0, "%.*s\n got %s", (int)template->n,
                  template->text, text ? text : why.text);
    else
        cr_expect(text && strlen(text) == want->n && memcmp(text, want->text, want->n) == 0,
                  "%.*s\n got  %s\n want %.*s", (int)template->n, template->text, text ? text : why.text,
                  (int)want->n, want->text);
    free(text);
}

Test(jinja, renders_as_the_reference)
{
    enum { LEAST = 100 };
    char path[SUPPORT_PATH], *values = NULL, *line = NULL;
    size_t capacity = 0, n_case = 0;
    ssize_t n;
    struct jinja_run *run = NULL;
    support_source(path, "tests/data/jinja/cases.jsonl");
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(jinja_run_new(&run, NULL), 0);
    while ((n = getline(&line, &capacity, file)) > 0) {
        struct jinja_value v;
        struct why why;
        cr_assert_eq(jinja_json_read(run, line, (size_t)n, JINJA_INPUT, &v, &why), 0, "%s", why.text);
        if (values) {
            check(member(run, v, "template"), member(run, v, "text"), values);
            n_case++;
            continue;
        }
        /* {"context": {...}} */
        const char *begin = strchr(line + 1, '{');
        values = strndup(begin, (size_t)(strrchr(line, '}') - begin));
    }
    cr_assert_gt(n_case, LEAST);
    jinja_run_free(run);
    free(values);
    free(line);
    fclose(file);
}
