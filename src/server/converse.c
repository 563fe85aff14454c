/* Conversations out of requests: see converse.h. */
#include "config.h"
#include "src/server/converse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/text/jinja_json.h"

enum { CONVERSE_VALUE_BYTES = 64 /* what a value takes besides its text, for the user's account */ };

static struct jinja_value text_of(struct conversation *c, const struct msg_value *v, enum jinja_origin origin)
{
    size_t n;
    const char *text = msg_bytes(v, &n);
    c->n_byte += n;
    return jinja_value_text(c->run, text, n, origin);
}

static struct jinja_value tree_of(struct conversation *c, const struct msg_value *v);

static struct jinja_value key_of(struct conversation *c, const struct msg_value *map, size_t i)
{
    size_t n;
    const char *key = msg_key_at(map, i, &n);
    c->n_byte += n;
    return jinja_value_text(c->run, key, n, JINJA_INPUT);
}

static struct jinja_value list_of(struct conversation *c, const struct msg_value *array)
{
    struct jinja_value list = jinja_value_list(c->run);
    for (size_t i = 0; i < msg_count(array); i++)
        jinja_value_push(c->run, list, tree_of(c, msg_at(array, i)));
    return list;
}

static struct jinja_value dict_of(struct conversation *c, const struct msg_value *map)
{
    struct jinja_value dict = jinja_value_dict(c->run);
    for (size_t i = 0; i < msg_count(map); i++)
        jinja_value_set(c->run, dict, key_of(c, map, i), tree_of(c, msg_at(map, i)));
    return dict;
}

/* At most as deep as wire_check lets a frame be. */
static struct jinja_value tree_of(struct conversation *c, const struct msg_value *v)
{
    c->n_byte += CONVERSE_VALUE_BYTES;
    switch (msg_kind(v)) {
    case MSG_BOOL:
        return jinja_value_bool(msg_bool(v, false));
    case MSG_INT:
        return jinja_value_int(msg_int(v, 0));
    case MSG_FLOAT32:
    case MSG_FLOAT64:
        return jinja_value_float(msg_float(v, 0));
    case MSG_STR:
        return text_of(c, v, JINJA_INPUT);
    case MSG_ARRAY:
        return list_of(c, v);
    case MSG_MAP:
        return dict_of(c, v);
    default: /* nil; others were refused with the request */
        return jinja_value_none();
    }
}

/* A member, or missing. */
static struct jinja_value member(struct conversation *c, struct jinja_value dict, const char *key)
{
    return dict.kind == JINJA_DICT ? jinja_value_get_text(c->run, dict.dict, key) : jinja_value_missing();
}

static size_t count(struct jinja_value list)
{
    return list.kind == JINJA_LIST ? list.list->n : 0;
}

/* A member that is one of our words is not the client's. */
static void trust(struct conversation *c, struct jinja_value dict, const char *key)
{
    struct jinja_value v = member(c, dict, key);
    if (jinja_value_is_string(v))
        jinja_value_set_text(c->run, dict, key,
                             jinja_value_text(c->run, v.string->text, v.string->n, JINJA_TRUSTED));
}

static void trust_each(struct conversation *c, struct jinja_value list, const char *key)
{
    for (size_t i = 0; i < count(list); i++)
        trust(c, list.list->items[i], key);
}

/* Arguments come as a map, or as the text of one, which is how they were sent to the client; templates expect
 * the map. */
static int read_arguments(struct conversation *c, struct jinja_value called, struct why *why)
{
    struct jinja_value v = member(c, called, "arguments");
    if (!jinja_value_is_string(v))
        return 0;
    int r = jinja_json_read(c->run, v.string->text, v.string->n, JINJA_INPUT, &v, why);
    if (r == 0 && v.kind != JINJA_DICT)
        r = why_set(why, EX_DATAERR, "it is no object");
    if (r == 0)
        jinja_value_set_text(c->run, called, "arguments", v);
    return r;
}

static int read_calls(struct conversation *c, struct jinja_value calls, size_t i_message, struct why *why)
{
    int r = 0;
    trust_each(c, calls, "type");
    for (size_t i = 0; r == 0 && i < count(calls); i++) {
        r = read_arguments(c, member(c, calls.list->items[i], "function"), why);
        if (r > 0)
            r = why_prefix(why, r, "messages[%zu].tool_calls[%zu].function.arguments", i_message, i);
    }
    return r;
}

static int read_messages(struct conversation *c, const struct msg_value *messages, struct why *why)
{
    int r = 0;
    c->messages = list_of(c, messages);
    for (size_t i = 0; r == 0 && i < count(c->messages); i++) {
        struct jinja_value message = c->messages.list->items[i];
        trust(c, message, "role");
        trust_each(c, member(c, message, "content"), "type");
        r = read_calls(c, member(c, message, "tool_calls"), i, why);
    }
    return r;
}

/* An empty list says no more than none does; neither do tools that may not be called. */
static void read_tools(struct conversation *c, const struct request *q)
{
    const struct msg_value *tools = request_value(q, proto_same(q->verb, PROTO_CHAT_TOOLS));
    if (msg_count(tools) == 0 || request_is(q, proto_same(q->verb, PROTO_CHAT_TOOL_CHOICE), "none"))
        return;
    c->tools = list_of(c, tools);
    trust_each(c, c->tools, "type");
}

static void read_variables(struct conversation *c, const struct request *q)
{
    const struct msg_value *effort = request_value(q, proto_same(q->verb, PROTO_CHAT_REASONING_EFFORT));
    c->kwargs = dict_of(c, request_value(q, proto_same(q->verb, PROTO_CHAT_CHAT_TEMPLATE_KWARGS)));
    if (effort)
        jinja_value_set_text(c->run, c->kwargs, "reasoning_effort", text_of(c, effort, JINJA_TRUSTED));
}

int converse_read(struct conversation **ret_conversation, const struct request *q, struct why *why)
{
    struct conversation *c = conversation_new();
    if (!c)
        return -ENOMEM;
    int r = read_messages(c, request_value(q, proto_same(q->verb, PROTO_CHAT_MESSAGES)), why);
    if (r != 0) {
        conversation_free(c);
        return r;
    }
    read_tools(c, q);
    read_variables(c, q);
    c->continue_final_message =
        request_bool(q, proto_same(q->verb, PROTO_CHAT_CONTINUE_FINAL_MESSAGE), false);
    c->add_generation_prompt =
        request_bool(q, proto_same(q->verb, PROTO_CHAT_ADD_GENERATION_PROMPT), !c->continue_final_message);
    *ret_conversation = c;
    return 0;
}
