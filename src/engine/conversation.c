/* A conversation becomes a prompt: see conversation.h. */
#include "config.h"
#include "src/engine/conversation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/engine/check.h"
#include "src/engine/notice.h"
#include "src/engine/served.h"
#include "src/text/chat_template.h"
#include "src/text/jinja_json.h"
#include "src/text/jinja_string.h"

struct conversation *conversation_new(void)
{
    static const struct jinja_limits limits = {
        .memory = CONVERSATION_MEMORY, .output = CONVERSATION_OUTPUT, .steps = CONVERSATION_STEPS};
    struct conversation *c = calloc(1, sizeof *c);
    if (!c || jinja_run_new(&c->run, &limits) != 0) {
        free(c);
        return NULL;
    }
    c->messages = jinja_value_list(c->run);
    c->tools = jinja_value_none();
    c->kwargs = jinja_value_dict(c->run);
    return c;
}

struct conversation *conversation_free(struct conversation *c)
{
    if (c) {
        jinja_run_free(c->run);
        free(c);
    }
    return NULL;
}

static int render(const struct chat_template *t, struct conversation *c, struct why *why)
{
    const struct chat_template_input input = {
        .messages = c->messages,
        .tools = c->tools,
        .kwargs = c->kwargs,
        .add_generation_prompt = c->add_generation_prompt,
        .continue_final_message = c->continue_final_message,
    };
    return chat_template_render(t, c->run, &input, &c->text, why);
}

static int refuse(struct notice *refusal, struct notice **ret_refusal)
{
    *ret_refusal = refusal;
    return refusal ? CHECK_E_REFUSED : -ENOMEM;
}

/* One message in one part: does its text come out, and nothing of what is around it? */
int conversation_try_parts(const struct chat_template *t, bool *ret_takes_parts)
{
    static const char sample[] = "sample";
    struct conversation *c = conversation_new();
    struct why why;
    if (!c)
        return -ENOMEM;
    struct jinja_value part = jinja_value_dict(c->run), parts = jinja_value_list(c->run),
                       message = jinja_value_dict(c->run);
    jinja_value_set_text(c->run, part, "type", jinja_string_literal(c->run, "text"));
    jinja_value_set_text(c->run, part, "text", jinja_string_literal(c->run, sample));
    jinja_value_push(c->run, parts, part);
    jinja_value_set_text(c->run, message, "role", jinja_string_literal(c->run, "user"));
    jinja_value_set_text(c->run, message, "content", parts);
    jinja_value_push(c->run, c->messages, message);
    int r = render(t, c, &why);
    const char *text = c->text.text;
    *ret_takes_parts = r == 0 && memmem(text, c->text.n, sample, sizeof sample - 1) &&
                       !memmem(text, c->text.n, "'type'", 6) && !memmem(text, c->text.n, "\"type\"", 6);
    conversation_free(c);
    return r < 0 ? r : 0;
}

/* The texts of a message's parts as one. */
static void join_parts(struct conversation *c, struct jinja_value message)
{
    struct jinja_value parts = jinja_value_member(c->run, message, "content");
    if (parts.kind != JINJA_LIST)
        return;
    struct jinja_builder text = jinja_string_build(c->run);
    for (size_t i = 0; i < parts.list->n; i++) {
        struct jinja_value v = jinja_value_member(c->run, parts.list->items[i], "text");
        if (jinja_value_is_string(v))
            jinja_string_add_all(&text, v.string);
    }
    jinja_value_set_text(c->run, message, "content", jinja_string_done(&text));
}

/* Arguments come as a map, or as the text of one, which is how they were sent to the client; templates expect
 * the map. */
static int read_arguments(struct conversation *c, struct jinja_value call, struct why *why)
{
    struct jinja_value called = jinja_value_member(c->run, call, "function"),
                       v = jinja_value_member(c->run, called, "arguments");
    if (!jinja_value_is_string(v))
        return 0;
    int r = jinja_json_read(c->run, v.string->text, v.string->n, JINJA_INPUT, &v, why);
    if (r == 0 && v.kind != JINJA_DICT)
        r = why_set(why, EX_DATAERR, "it is no object, but of type %s", jinja_value_type(v));
    if (r == 0)
        jinja_value_set_text(c->run, called, "arguments", v);
    return r;
}

static int read_all_arguments(struct conversation *c, struct why *why)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < jinja_value_n_item(c->messages); i++) {
        struct jinja_value calls = jinja_value_member(c->run, c->messages.list->items[i], "tool_calls");
        for (size_t k = 0; r == 0 && k < jinja_value_n_item(calls); k++) {
            r = read_arguments(c, calls.list->items[k], why);
            if (r > 0)
                why_prefix(why, r, "messages[%zu].tool_calls[%zu].function.arguments", i, k);
        }
    }
    return r;
}

static int refuse_messages(uint64_t job, const char *about, const struct why *why,
                           struct notice **ret_refusal)
{
    return refuse(notice_new_failed(job, "invalid_request", "messages", -1, -1, "%s%s", about, why->text),
                  ret_refusal);
}

int conversation_render(const struct served *served, struct conversation *c, uint64_t job,
                        struct notice **ret_refusal)
{
    struct why why = {""};
    if (!served->chat)
        return refuse(notice_new_failed(job, "not_supported", "messages", -1, -1, "%s", served->no_chat.text),
                      ret_refusal);
    int r = read_all_arguments(c, &why);
    if (r > 0)
        return refuse_messages(job, "", &why, ret_refusal);
    for (size_t i = 0; r == 0 && !served->takes_parts && i < jinja_value_n_item(c->messages); i++)
        join_parts(c, c->messages.list->items[i]);
    if (r == 0)
        r = render(served->chat, c, &why);
    return r > 0 ? refuse_messages(job, "the chat template refuses this: ", &why, ret_refusal) : r;
}
