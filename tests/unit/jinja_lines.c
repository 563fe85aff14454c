/* Renders templates line by line, for contrib/compare-templates; no test by itself.
 *
 * In: {"template": "...", "context": {...}, "now": [year, month, day, hour, minute, second, weekday,
 * yearday]}, now may be missing. Out: {"text": "...", "inputs": [[first, bytes], ...]} or {"error": "...",
 * "raised": true}. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/jsonread.h"
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

/* The members of a line: where the text of each value is. */
struct line {
    struct buf template;
    const char *context;
    size_t n_context;
    struct tm now;
    bool has_now;
};

static int *const_field(struct tm *tm, int i)
{
    int *fields[] = {&tm->tm_year, &tm->tm_mon, &tm->tm_mday, &tm->tm_hour,
                     &tm->tm_min,  &tm->tm_sec, &tm->tm_wday, &tm->tm_yday};
    return i < 8 ? fields[i] : &tm->tm_isdst;
}

static bool read_line(struct line *l, const char *text, size_t n, struct why *why)
{
    struct jsonread r;
    jsonread_init(&r, text, n, why);
    bool ok = jsonread_next(&r) == JSONREAD_OBJECT;
    while (ok && jsonread_next(&r) == JSONREAD_KEY) {
        bool is_template = jsonread_is(&r, "template"), is_context = jsonread_is(&r, "context");
        bool is_now = jsonread_is(&r, "now");
        jsonread_next(&r);
        size_t from = r.item_at;
        if (is_template && r.kind == JSONREAD_STRING)
            ok = buf_push(&l->template, r.string, r.n_string) == 0;
        if (is_now) {
            l->has_now = true;
            for (int i = 0; jsonread_next(&r) == JSONREAD_INT; i++)
                *const_field(&l->now, i) = (int)r.integer;
            continue;
        }
        ok = ok && jsonread_skip(&r);
        if (is_context) {
            l->context = text + from;
            l->n_context = r.item_at + 1 - from;
        }
    }
    ok = ok && r.kind == JSONREAD_OBJECT_END;
    jsonread_deinit(&r);
    return ok;
}

static int render(struct line *l, struct why *why, bool inputs)
{
    struct jinja *t = NULL;
    struct jinja_run *run = NULL;
    struct jinja_value context;
    struct jinja_text text;
    int r = jinja_parse(&t, (char *)l->template.data, l->template.n, why);
    if (r == 0)
        r = jinja_run_new(&run, NULL);
    if (r == 0 && l->has_now)
        jinja_run_set_now(run, &l->now);
    if (r == 0)
        r = jinja_json_read(run, l->context, l->n_context, JINJA_INPUT, &context, why);
    for (size_t i = 0; r == 0 && i < context.dict->n; i++)
        jinja_run_set(
            run, strndup(context.dict->entries[i].key.string->text, context.dict->entries[i].key.string->n),
            context.dict->entries[i].value);
    if (r == 0)
        r = jinja_render(run, t, &text, why);
    if (r == 0) {
        put_string("text", text.text, text.n);
        printf(", \"inputs\": [");
        for (size_t i = 0; inputs && i < text.n_input; i++)
            printf("%s[%zu, %zu]", i ? ", " : "", text.inputs[i].first, text.inputs[i].n);
        printf("]}\n");
    }
    jinja_run_free(run);
    jinja_free(t);
    return r;
}

int main(void)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n;
    while ((n = getline(&text, &capacity, stdin)) > 0) {
        struct line l = {.context = "{}", .n_context = 2};
        struct why why = {""};
        int r = read_line(&l, text, (size_t)n, &why) ? render(&l, &why, true) : 1;
        if (r) {
            put_string("error", why.text, strlen(why.text));
            printf(", \"code\": %d}\n", r);
        }
        fflush(stdout);
        buf_deinit(&l.template);
    }
    free(text);
    return 0;
}
