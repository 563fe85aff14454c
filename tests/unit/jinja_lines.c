/* Renders templates line by line, for contrib/compare-templates; no test by itself.
 *
 * In: {"template": "...", "context": {...}, "now": [year - 1900, month from 0, day, hour, minute, second,
 * weekday, yearday]}. Out: {"text": "...", "inputs": [[first, bytes], ...]} or {"error": "...", "code": N}.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/text/jinja.h"
#include "src/text/jinja_json.h"

static void put_string(const char *key, const char *text, size_t n)
{
    printf("{\"%s\": \"", key);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static struct tm read_now(const struct jinja_list *now)
{
    struct tm tm = {0};
    int *fields[] = {&tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                     &tm.tm_min,  &tm.tm_sec, &tm.tm_wday, &tm.tm_yday};
    for (size_t i = 0; i < now->n && i < sizeof fields / sizeof fields[0]; i++)
        *fields[i] = (int)now->items[i].integer;
    return tm;
}

/* The line is ours to be right: only its JSON is checked. */
static int render(struct jinja_run *run, struct jinja **t, const char *line, size_t n, struct why *why)
{
    struct jinja_value input, template, context, now;
    struct jinja_text text;
    int r = jinja_json_read(run, line, n, JINJA_INPUT, &input, why);
    if (r)
        return r;
    template = jinja_value_get_text(run, input.dict, "template");
    context = jinja_value_get_text(run, input.dict, "context");
    now = jinja_value_get_text(run, input.dict, "now");
    if (now.kind == JINJA_LIST) {
        struct tm tm = read_now(now.list);
        jinja_run_set_now(run, &tm);
    }
    jinja_run_set_members(run, context);
    r = jinja_parse(t, template.string->text, template.string->n, why);
    if (r == 0)
        r = jinja_render(run, *t, &text, why);
    if (r)
        return r;
    put_string("text", text.text, text.n);
    printf(", \"inputs\": [");
    for (size_t i = 0; i < text.n_input; i++)
        printf("%s[%zu, %zu]", i ? ", " : "", text.inputs[i].first, text.inputs[i].n);
    printf("]}\n");
    return 0;
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    while ((n = getline(&line, &capacity, stdin)) > 0) {
        struct why why = {"out of memory"};
        struct jinja_run *run = NULL;
        struct jinja *t = NULL;
        int r = jinja_run_new(&run, NULL);
        if (r == 0)
            r = render(run, &t, line, (size_t)n, &why);
        if (r) {
            put_string("error", why.text, strlen(why.text));
            printf(", \"code\": %d}\n", r);
        }
        fflush(stdout);
        jinja_free(t);
        jinja_run_free(run);
    }
    free(line);
    return 0;
}
