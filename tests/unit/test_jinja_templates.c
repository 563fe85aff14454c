/* Published chat templates: every rendering of the test data, byte for byte, and that all of them parse. */
#include "config.h"
#include "src/text/jinja.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/text/jinja_json.h"
#include "tests/support.h"
#include "tests/unit/text_util.h"

static struct jinja *parse_text(const char *path, const char *text, size_t n)
{
    struct jinja *t = NULL;
    struct why why = {""};
    cr_assert_eq(jinja_parse(&t, text, n, &why), 0, "%s: %s", path, why.text);
    return t;
}

static struct jinja *parse(const char *path)
{
    size_t n;
    char *text = support_read(path, &n);
    struct jinja *t = parse_text(path, text, n);
    free(text);
    return t;
}

/* A template that is a member of a JSON file. */
static struct jinja *parse_member(struct jinja_run *run, const char *path, const char *key)
{
    size_t n;
    char *json = support_read(path, &n);
    struct jinja_value file;
    struct why why;
    cr_assert_eq(jinja_json_read(run, json, n, JINJA_TRUSTED, &file, &why), 0, "%s: %s", path, why.text);
    struct jinja_value v = jinja_value_get_text(run, file.dict, key);
    cr_assert(jinja_value_is_string(v), "%s has no %s", path, key);
    free(json);
    return parse_text(path, v.string->text, v.string->n);
}

/* A case's values become variables; what is in context are names of special tokens and dates. */
static int render(struct jinja_run *run, const struct jinja_value c, struct jinja_text *ret_text,
                  struct why *why)
{
    static const char *const names[] = {"messages", "tools", "documents", "add_generation_prompt"};
    char path[SUPPORT_PATH];
    struct jinja_value template = jinja_value_get_text(run, c.dict, "template");
    support_data(path, "data/%.*s", (int)template.string->n, template.string->text);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct jinja_value v = jinja_value_get_text(run, c.dict, names[i]);
        if (v.kind != JINJA_MISSING)
            jinja_run_set(run, names[i], v);
    }
    jinja_run_set_members(run, jinja_value_get_text(run, c.dict, "context"));
    char *key = strchr(path, '#');
    if (key)
        *key++ = '\0';
    struct jinja *t = key ? parse_member(run, path, key) : parse(path);
    int r = jinja_render(run, t, ret_text, why);
    jinja_free(t);
    return r;
}

static void check(struct jinja_run *run, size_t i, struct jinja_value c)
{
    struct jinja_text text;
    struct why why = {""};
    struct jinja_value expected = jinja_value_get_text(run, c.dict, "expected"),
                       want = jinja_value_get_text(run, expected.dict, "text"),
                       error = jinja_value_get_text(run, expected.dict, "error");
    int r = render(run, c, &text, &why);
    if (want.kind == JINJA_MISSING) {
        cr_assert(jinja_value_is_string(error));
        cr_expect(
            r == JINJA_E_RAISED && memmem(why.text, strlen(why.text), error.string->text, error.string->n),
            "case %zu must fail with '%.*s': %s", i, (int)error.string->n, error.string->text, why.text);
        return;
    }
    cr_expect(r == 0 && text.n == want.string->n && memcmp(text.text, want.string->text, text.n) == 0,
              "case %zu: %s\n got  %.*s\n want %.*s", i, why.text, r ? 0 : (int)text.n, r ? "" : text.text,
              (int)want.string->n, want.string->text);
}

Test(jinja_templates, renderings)
{
    enum { N_CASE = 88 };
    char path[SUPPORT_PATH];
    size_t n;
    support_data(path, "data/chat_templates/expected.json");
    char *json = support_read(path, &n);
    size_t n_case = N_CASE;
    for (size_t i = 0; i < n_case; i++) {
        struct jinja_run *run = NULL;
        struct jinja_value all;
        struct why why;
        cr_assert_eq(jinja_run_new(&run, NULL), 0);
        cr_assert_eq(jinja_json_read(run, json, n, JINJA_INPUT, &all, &why), 0, "%s", why.text);
        const struct jinja_list *cases = jinja_value_get_text(run, all.dict, "cases").list;
        n_case = cases->n;
        check(run, i, cases->items[i]);
        jinja_run_free(run);
    }
    cr_assert_eq(n_case, N_CASE);
    free(json);
}

Test(jinja_templates, all_parse)
{
    char folder[SUPPORT_PATH], path[SUPPORT_PATH + 260];
    support_data(folder, "data/chat_templates");
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir, "%s", folder);
    unsigned n = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        const char *end = strrchr(e->d_name, '.');
        if (!end || strcmp(end, ".jinja") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        jinja_free(parse(path));
        n++;
    }
    closedir(dir);
    cr_assert_geq(n, 21);
}
