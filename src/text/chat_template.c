/* Chat templates of models: see chat_template.h. */
#include "config.h"
#include "src/text/chat_template.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "src/base/cleanup.h"
#include "src/base/json.h"
#include "src/base/mapfile.h"
#include "src/base/mem.h"
#include "src/text/jinja_run.h"
#include "src/text/jinja_string.h"

/* Special tokens with a name of their own. */
static const char *const token_names[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};
enum { N_TOKEN = sizeof token_names / sizeof *token_names };

struct source {
    char *text; /* [n], owned */
    size_t n;
    struct jinja *parsed;
};

struct chat_template {
    struct source plain, tools; /* tools: NULL where there is none of its own */
    char *tokens[N_TOKEN];      /* their spelling, owned; NULL: the model has none */
};

struct chat_template *chat_template_free(struct chat_template *t)
{
    if (t) {
        jinja_free(t->plain.parsed);
        jinja_free(t->tools.parsed);
        free(t->plain.text);
        free(t->tools.text);
        for (size_t i = 0; i < N_TOKEN; i++)
            free(t->tokens[i]);
        free(t);
    }
    return NULL;
}

/* ---- opening ---- */

static int read_source(struct source *s, const char *text, size_t n, struct why *why)
{
    s->text = mem_array(n + 1, 1);
    if (!s->text)
        return -ENOMEM;
    memcpy(s->text, text, n);
    s->n = n;
    return jinja_parse(&s->parsed, s->text, n, why);
}

/* A list of {"name": ..., "template": ...}. */
static int read_named(struct chat_template *t, const struct json *list, struct why *why)
{
    for (const struct json *m = json_first(list); m; m = json_next(m)) {
        const char *name = json_string(json_get(m, "name"), ""),
                   *text = json_string(json_get(m, "template"), NULL);
        struct source *s = strcmp(name, "default") == 0    ? &t->plain
                           : strcmp(name, "tool_use") == 0 ? &t->tools
                                                           : NULL;
        if (!s || s->parsed)
            continue;
        if (!text)
            return why_set(why, EX_DATAERR, "'chat_template' has no text named '%s'", name);
        int r = read_source(s, text, strlen(text), why);
        if (r)
            return r > 0 ? why_prefix(why, r, "'chat_template' named '%s'", name) : r;
    }
    return t->plain.parsed ? 0 : why_set(why, EX_DATAERR, "'chat_template' has no text named 'default'");
}

/* The names of special tokens, and the template unless it is there already. */
static int read_config(struct chat_template *t, const struct json *config, struct why *why)
{
    for (size_t i = 0; i < N_TOKEN; i++) {
        const struct json *entry = json_get(config, token_names[i]);
        const char *name = json_string(json_is_object(entry) ? json_get(entry, "content") : entry, NULL);
        t->tokens[i] = name ? strdup(name) : NULL;
        if (name && !t->tokens[i])
            return -ENOMEM;
    }
    const struct json *entry = json_get(config, "chat_template");
    if (t->plain.parsed || !entry)
        return 0;
    if (json_is_array(entry))
        return read_named(t, entry, why);
    const char *text = json_string(entry, NULL);
    if (!text)
        return why_set(why, EX_DATAERR, "'chat_template' is %s, must be a text or a list of them",
                       json_kind(entry));
    int r = read_source(&t->plain, text, strlen(text), why);
    return r > 0 ? why_prefix(why, r, "'chat_template'") : r;
}

/* chat_template.jinja, if there is one. */
static int read_file(struct chat_template *t, const char *path, struct why *why)
{
    struct mapfile map = MAPFILE_NULL;
    int r = mapfile_open(&map, path, why);
    if (r)
        return r == EX_NOINPUT ? 0 : r;
    r = read_source(&t->plain, (const char *)map.data, map.n, why);
    mapfile_close(&map);
    return r > 0 ? why_prefix(why, r, "%s", path) : r;
}

static int read_folder(struct chat_template *t, const char *dir, struct why *why)
{
    CLEANUP_FREE char *file = NULL, *beside = NULL;
    struct json *config = NULL;
    if (asprintf(&file, "%s/chat_template.jinja", dir) < 0) {
        file = NULL;
        return -ENOMEM;
    }
    if (asprintf(&beside, "%s/tokenizer_config.json", dir) < 0) {
        beside = NULL;
        return -ENOMEM;
    }
    int r = read_file(t, file, why);
    if (r)
        return r;
    r = json_read_file(&config, beside, CHAT_TEMPLATE_MAX_CONFIG, why);
    if (r == 0) {
        r = read_config(t, config, why);
        r = r > 0 ? why_prefix(why, r, "%s", beside) : r;
    } else if (r == EX_NOINPUT) {
        r = 0;
    }
    json_free(config);
    return r || t->plain.parsed ? r : why_set(why, EX_NOINPUT, "%s: there is no chat template", dir);
}

int chat_template_open(struct chat_template **ret_template, const char *dir, struct why *why)
{
    struct chat_template *t = calloc(1, sizeof *t);
    int r = t ? read_folder(t, dir, why) : -ENOMEM;
    if (r) {
        chat_template_free(t);
        return r;
    }
    *ret_template = t;
    return 0;
}

static const struct source *source_for(const struct chat_template *t, bool has_tools)
{
    return has_tools && t->tools.parsed ? &t->tools : &t->plain;
}

const char *chat_template_source(const struct chat_template *t, bool has_tools, size_t *ret_n)
{
    const struct source *s = source_for(t, has_tools);
    *ret_n = s->n;
    return s->text;
}

/* ---- rendering ---- */

/* Stands behind the text of the final message while it is rendered, so that its end can be found whatever the
 * template does around it; the space tells whether white space survives there. */
static const char mark[] = "LORCH_CONTINUES_THIS_MESSAGE ";
enum { N_MARK = sizeof mark - 1, N_MARK_WORD = N_MARK - 1 };

static struct jinja_value marked(struct jinja_run *run, const struct jinja_string *s)
{
    struct jinja_builder b = jinja_string_build(run);
    jinja_string_add_all(&b, s);
    jinja_string_add(&b, mark, N_MARK, JINJA_TRUSTED);
    return jinja_string_done(&b);
}

/* Puts the mark behind the last text of the last message. False: there is no text. */
static bool mark_final(struct jinja_run *run, struct jinja_value messages)
{
    if (messages.kind != JINJA_LIST || messages.list->n == 0)
        return false;
    struct jinja_value dict = messages.list->items[messages.list->n - 1], v = jinja_value_none();
    const char *key = "content";
    if (dict.kind == JINJA_DICT)
        v = jinja_value_get_text(run, dict.dict, key);
    for (size_t i = v.kind == JINJA_LIST ? v.list->n : 0; i-- > 0 && v.kind == JINJA_LIST;) {
        struct jinja_value part = v.list->items[i];
        struct jinja_value text = jinja_value_missing();
        if (part.kind == JINJA_DICT)
            text = jinja_value_get_text(run, part.dict, "text");
        if (!jinja_value_is_string(text))
            continue;
        dict = part;
        key = "text";
        v = text;
    }
    if (!jinja_value_is_string(v))
        return false;
    jinja_value_set_text(run, dict, key, marked(run, v.string));
    return true;
}

/* Where the last mark in the text is; n: there is none. */
static size_t find_mark(const char *text, size_t n)
{
    for (size_t at = n < N_MARK_WORD ? 0 : n - N_MARK_WORD + 1; at-- > 0;)
        if (memcmp(text + at, mark, N_MARK_WORD) == 0)
            return at;
    return n;
}

/* Cuts the text where the mark is, and the white space before it where the template took that behind it. */
static int cut_at_mark(struct jinja_run *run, struct jinja_text *text, struct why *why)
{
    size_t at = find_mark(text->text, text->n);
    if (at == text->n)
        return why_set(why, JINJA_E_FAILED,
                       "the template leaves out the final message, which continue_final_message continues");
    if (at + N_MARK_WORD == text->n || text->text[at + N_MARK_WORD] != ' ') {
        struct jinja_string whole = {
            .text = text->text, .n = at, .n_char = jinja_string_count(text->text, at)};
        struct jinja_value v = jinja_string_strip(run, &whole, NULL, JINJA_RIGHT);
        at = jinja_value_is_string(v) ? v.string->n : at;
    }
    text->n = at;
    return 0;
}

/* The marked bytes that are left. */
static void cut_inputs(struct jinja_run *run, struct jinja_text *text)
{
    size_t n = text->n_input;
    while (n && text->inputs[n - 1].first >= text->n)
        n--;
    text->n_input = n;
    if (n == 0 || text->inputs[n - 1].first + text->inputs[n - 1].n <= text->n)
        return;
    struct jinja_range *inputs = jinja_run_alloc(run, n, sizeof *inputs);
    if (!inputs)
        return;
    memcpy(inputs, text->inputs, n * sizeof *inputs);
    inputs[n - 1].n = text->n - inputs[n - 1].first;
    text->inputs = inputs;
}

static void set_variables(const struct chat_template *t, struct jinja_run *run,
                          const struct chat_template_input *input)
{
    struct jinja_value variables = {.kind = JINJA_DICT, .dict = run->variables};
    for (size_t i = 0; i < N_TOKEN; i++)
        if (t->tokens[i])
            jinja_run_set(run, token_names[i], jinja_string_literal(run, t->tokens[i]));
    for (size_t i = 0; input->kwargs.kind == JINJA_DICT && i < input->kwargs.dict->n; i++)
        jinja_value_set(run, variables, input->kwargs.dict->entries[i].key,
                        input->kwargs.dict->entries[i].value);
    jinja_run_set(run, "messages", input->messages);
    jinja_run_set(run, "tools", input->tools);
    jinja_run_set(run, "documents", jinja_value_none());
    jinja_run_set(run, "add_generation_prompt", jinja_value_bool(input->add_generation_prompt));
}

int chat_template_render(const struct chat_template *t, struct jinja_run *run,
                         const struct chat_template_input *input, struct jinja_text *ret_text,
                         struct why *why)
{
    time_t seconds = time(NULL);
    struct tm now;
    if (localtime_r(&seconds, &now))
        jinja_run_set_now(run, &now);
    if (input->continue_final_message && !mark_final(run, input->messages))
        return why_set(why, JINJA_E_FAILED, "the final message has no text to continue");
    set_variables(t, run, input);
    int r = jinja_render(run, source_for(t, input->tools.kind == JINJA_LIST)->parsed, ret_text, why);
    if (r == 0 && input->continue_final_message) {
        r = cut_at_mark(run, ret_text, why);
        cut_inputs(run, ret_text);
    }
    return r;
}
