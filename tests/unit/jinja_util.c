/* Rendering templates in tests: see jinja_util.h. */
#include "config.h"
#include "tests/unit/jinja_util.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "src/text/jinja_json.h"

static void push(struct buf *b, const void *data, size_t n)
{
    cr_assert_eq(buf_push(b, data, n), 0);
}

static char *copy(const struct jinja_text *text, bool show_inputs)
{
    struct buf b = BUF_NULL;
    size_t at = 0;
    for (size_t i = 0; i < text->n_input && show_inputs; i++) {
        const struct jinja_range *input = &text->inputs[i];
        cr_assert(input->n > 0 && input->first >= at && input->first + input->n <= text->n);
        push(&b, text->text + at, input->first - at);
        push(&b, "«", strlen("«"));
        push(&b, text->text + input->first, input->n);
        push(&b, "»", strlen("»"));
        at = input->first + input->n;
    }
    push(&b, text->text + at, text->n - at);
    push(&b, "", 1);
    return (char *)b.data;
}

char *jinja_util_render(const char *template, size_t n, const char *values, const struct jinja_limits *limits,
                        bool show_inputs, int *ret_code, struct why *why)
{
    static const struct tm now = {.tm_year = 125,
                                  .tm_mon = 2,
                                  .tm_mday = 9,
                                  .tm_hour = 17,
                                  .tm_min = 4,
                                  .tm_sec = 5,
                                  .tm_wday = 0,
                                  .tm_yday = 67};
    struct jinja *t = NULL;
    struct jinja_run *run = NULL;
    struct jinja_text text;
    struct jinja_value v;
    char *result = NULL;
    *why = (struct why){""};
    *ret_code = jinja_parse(&t, template, n, why);
    if (*ret_code == 0) {
        cr_assert_eq(jinja_run_new(&run, limits), 0);
        jinja_run_set_now(run, &now);
        cr_assert_eq(jinja_json_read(run, values, strlen(values), JINJA_INPUT, &v, why), 0, "%s", why->text);
        jinja_run_set_members(run, v);
        *ret_code = jinja_render(run, t, &text, why);
    }
    if (*ret_code == 0)
        result = copy(&text, show_inputs);
    cr_assert_eq(*ret_code == 0, why->text[0] == '\0');
    jinja_run_free(run);
    jinja_free(t);
    return result;
}

void jinja_util_check(const struct jinja_case *cases, size_t n, const char *values)
{
    for (const struct jinja_case *c = cases; c < cases + n; c++) {
        int code;
        struct why why;
        char *text = jinja_util_render(c->template, strlen(c->template), c->values ? c->values : values, NULL,
                                       false, &code, &why);
        if (c->want[0] == '!')
            cr_expect(!text && strstr(why.text, c->want + 1), "%s\n got  %s\n want %s", c->template,
                      text ? text : why.text, c->want);
        else
            cr_expect(text && strcmp(text, c->want) == 0, "%s\n got  %s\n want %s", c->template,
                      text ? text : why.text, c->want);
        free(text);
    }
}
