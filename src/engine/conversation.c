/* A conversation becomes a prompt: see conversation.h. */
#include "config.h"
#include "src/engine/conversation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/check.h"
#include "src/engine/notice.h"
#include "src/engine/served.h"
#include "src/text/chat_template.h"
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
    struct jinja_value parts = jinja_value_get_text(c->run, message.dict, "content");
    if (parts.kind != JINJA_LIST)
        return;
    struct jinja_builder text = jinja_string_build(c->run);
    for (size_t i = 0; i < parts.list->n; i++) {
        struct jinja_value part = parts.list->items[i], v = jinja_value_none();
        if (part.kind == JINJA_DICT)
            v = jinja_value_get_text(c->run, part.dict, "text");
        if (jinja_value_is_string(v))
            jinja_string_add_all(&text, v.string);
    }
    jinja_value_set_text(c->run, message, "content", jinja_string_done(&text));
}

int conversation_render(const struct served *served, struct conversation *c, uint64_t job,
                        struct notice **ret_refusal)
{
    struct why why = {""};
    if (!served->chat)
        return refuse(notice_new_failed(job, "not_supported", "messages", -1, -1, "%s", served->no_chat.text),
                      ret_refusal);
    struct jinja_value messages = c->messages;
    for (size_t i = 0; !served->takes_parts && messages.kind == JINJA_LIST && i < messages.list->n; i++)
        if (messages.list->items[i].kind == JINJA_DICT)
            join_parts(c, messages.list->items[i]);
    int r = render(served->chat, c, &why);
    return r <= 0 ? r
                  : refuse(notice_new_failed(job, "invalid_request", "messages", -1, -1,
                                             "the chat template refuses this: %s", why.text),
                           ret_refusal);
}
