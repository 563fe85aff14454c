/* Conversations out of requests: see converse.h. */
#include "config.h"
#include "src/server/converse.h"

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

/* A member that is one of our words is not the client's. */
static void trust(struct conversation *c, struct jinja_value dict, const char *key)
{
    struct jinja_value v = jinja_value_member(c->run, dict, key);
    if (jinja_value_is_string(v))
        jinja_value_set_text(c->run, dict, key,
                             jinja_value_text(c->run, v.string->text, v.string->n, JINJA_TRUSTED));
}

static void trust_each(struct conversation *c, struct jinja_value list, const char *key)
{
    for (size_t i = 0; i < jinja_value_n_item(list); i++)
        trust(c, list.list->items[i], key);
}

static void read_messages(struct conversation *c, const struct msg_value *messages)
{
    c->messages = list_of(c, messages);
    for (size_t i = 0; i < jinja_value_n_item(c->messages); i++) {
        struct jinja_value message = c->messages.list->items[i];
        trust(c, message, "role");
        trust_each(c, jinja_value_member(c->run, message, "content"), "type");
        trust_each(c, jinja_value_member(c->run, message, "tool_calls"), "type");
    }
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

struct conversation *converse_read(const struct request *q)
{
    struct conversation *c = conversation_new();
    if (!c)
        return NULL;
    read_messages(c, request_value(q, proto_same(q->verb, PROTO_CHAT_MESSAGES)));
    read_tools(c, q);
    read_variables(c, q);
    c->continue_final_message =
        request_bool(q, proto_same(q->verb, PROTO_CHAT_CONTINUE_FINAL_MESSAGE), false);
    c->add_generation_prompt =
        request_bool(q, proto_same(q->verb, PROTO_CHAT_ADD_GENERATION_PROMPT), !c->continue_final_message);
    return c;
}
