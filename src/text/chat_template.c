/* Chat templates: see chat_template.h. */
#include "config.h"
#include "src/text/chat_template.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "src/text/chat_source.h"
#include "src/text/jinja_run.h"
#include "src/text/jinja_string.h"

struct chat_template {
    struct chat_source source;
    struct jinja *main, *tools; /* tools: NULL where main serves both */
};

static int parse(struct jinja **ret, const char *text, const char *path, struct why *why)
{
    int r = text ? jinja_parse(ret, text, strlen(text), why) : 0;
    return r > 0 ? why_prefix(why, r, "%s", path) : r;
}

/* Takes over what the source owns, also on failure. */
static int open_source(struct chat_template **ret_template, struct chat_source *source, const char *path,
                       struct why *why)
{
    struct chat_template *t = calloc(1, sizeof *t);
    if (!t) {
        chat_source_deinit(source);
        return -ENOMEM;
    }
    t->source = *source;
    int r = 0;
    if (!source->text)
        r = why_set(why, EX_NOINPUT,
                    "%s: there is no chat template: neither chat_template.jinja nor one in "
                    "tokenizer_config.json or in the metadata of a GGUF file",
                    path);
    r = r ? r : parse(&t->main, source->text, source->path, why);
    r = r ? r : parse(&t->tools, source->tools_text, source->tools_path, why);
    if (r)
        chat_template_free(t);
    else
        *ret_template = t;
    return r;
}

int chat_template_open(struct chat_template **ret_template, const char *path, struct why *why)
{
    struct chat_source source;
    int r = chat_source_read(&source, path, why);
    return r ? r : open_source(ret_template, &source, path, why);
}

int chat_template_open_file(struct chat_template **ret_template, const char *path, struct why *why)
{
    struct chat_source source;
    int r = chat_source_read_file(&source, path, why);
    return r ? r : open_source(ret_template, &source, path, why);
}

struct chat_template *chat_template_free(struct chat_template *t)
{
    if (t) {
        jinja_free(t->main);
        jinja_free(t->tools);
        chat_source_deinit(&t->source);
        free(t);
    }
    return NULL;
}

const char *chat_template_source(const struct chat_template *t, bool has_tools)
{
    return has_tools && t->tools ? t->source.tools_text : t->source.text;
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
    if (jinja_value_n_item(messages) == 0)
        return false;
    const char *key = "content";
    struct jinja_value dict = messages.list->items[messages.list->n - 1];
    struct jinja_value v = jinja_value_member(run, dict, key), parts = v;
    for (size_t i = jinja_value_n_item(parts); i-- > 0 && !jinja_value_is_string(v);) {
        key = "text";
        dict = parts.list->items[i];
        v = jinja_value_member(run, dict, key);
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

/* Models were published with three names for what a message's author thought. A message that has one of them
 * gets it as `thinking` and `reasoning_content` too, as apply_chat_template of transformers 5 does. */
static struct jinja_value name_thoughts(struct jinja_run *run, struct jinja_value message)
{
    static const char *const names[] = {"reasoning_content", "thinking", "reasoning"};
    for (size_t i = 0; message.kind == JINJA_DICT && i < sizeof names / sizeof *names; i++) {
        struct jinja_value v = jinja_value_get_text(run, message.dict, names[i]);
        if (jinja_value_is_missing(v) || v.kind == JINJA_NONE)
            continue;
        struct jinja_value named = jinja_value_dict(run);
        jinja_value_set_text(run, named, "thinking", v);
        for (size_t k = 0; k < message.dict->n; k++)
            jinja_value_set(run, named, message.dict->entries[k].key, message.dict->entries[k].value);
        jinja_value_set_text(run, named, "reasoning_content", v);
        return named;
    }
    return message;
}

static void name_all_thoughts(struct jinja_run *run, struct jinja_value messages)
{
    for (size_t i = 0; i < jinja_value_n_item(messages); i++)
        messages.list->items[i] = name_thoughts(run, messages.list->items[i]);
}

static void set_variables(const struct chat_template *t, struct jinja_run *run,
                          const struct chat_template_input *input)
{
    for (int i = 0; i < CHAT_N_SPECIAL; i++)
        if (t->source.special[i])
            jinja_run_set(run, chat_special_names[i], jinja_string_literal(run, t->source.special[i]));
    jinja_run_set(run, "documents", jinja_value_none());
    jinja_run_set_members(run, input->kwargs);
    jinja_run_set(run, "messages", input->messages);
    jinja_run_set(run, "tools", input->tools);
    jinja_run_set(run, "add_generation_prompt", jinja_value_bool(input->add_generation_prompt));
}

static void set_now(struct jinja_run *run, const struct tm *now)
{
    time_t seconds = time(NULL);
    struct tm local;
    if (!now)
        now = localtime_r(&seconds, &local);
    if (now)
        jinja_run_set_now(run, now);
}

int chat_template_render(const struct chat_template *t, struct jinja_run *run,
                         const struct chat_template_input *input, struct jinja_text *ret_text,
                         struct why *why)
{
    bool has_tools = input->tools.kind == JINJA_LIST;
    set_now(run, input->now);
    name_all_thoughts(run, input->messages);
    if (input->continue_final_message && !mark_final(run, input->messages))
        return why_set(why, JINJA_E_FAILED, "the final message has no text to continue");
    set_variables(t, run, input);
    int r = jinja_render(run, has_tools && t->tools ? t->tools : t->main, ret_text, why);
    if (r == 0 && input->continue_final_message) {
        r = cut_at_mark(run, ret_text, why);
        cut_inputs(run, ret_text);
        if (r == 0 && jinja_run_has_failed(run))
            r = why_set(why, run->code, "%s", run->message);
    }
    return r;
}
