/* Calls of tools that are written in JSON, and Mistral's with a name before it.
 *
 *   {"name": "f", "arguments": {...}}     "parameters" is the same; other members may stand around them
 *   [{...}, {...}]                        several
 *   f[ARGS]{...}, f[CALL_ID]x[ARGS]{...}  Mistral; f{...} where these marks were left out
 *
 * Up to the brace that opens the arguments all is undecided, so that what is no call after all is text. */
#include "config.h"

#include <string.h>

#include "src/text/chat_out_parts.h"

static enum chat_grammar grammar(const struct chat_out *c)
{
    return c->options.format->calls->grammar;
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_name(char byte)
{
    return is_letter(byte) || (byte >= '0' && byte <= '9') || memchr(".-:/", byte, 4);
}

bool chat_call_append(char *text, size_t *n, char byte)
{
    if (*n == CHAT_OUT_MAX_NAME)
        return false;
    text[(*n)++] = byte;
    text[*n] = '\0';
    return true;
}

static bool add_to_word(struct chat_out *c, char byte)
{
    return chat_call_append(c->call.word, &c->call.n_word, byte) || chat_out_refuse(c);
}

static bool add_to_name(struct chat_out *c, char byte)
{
    return chat_call_append(c->call.name, &c->call.n_name, byte) || chat_out_refuse(c);
}

static void forget_word(struct chat_call *call)
{
    call->n_word = 0;
    call->word[0] = '\0';
}

void chat_call_start(struct chat_out *c, bool unmarked)
{
    c->stage = CHAT_OUT_CALL_BEGIN;
    c->call.listed = false;
    c->call.unmarked = unmarked;
    c->call.n_name = 0;
    forget_word(&c->call);
}

void chat_call_end(struct chat_out *c)
{
    chat_out_settle(c, CHAT_OUT_MARKUP, 0);
    if (c->call.listed)
        c->stage = CHAT_OUT_CALL_NEXT;
    else
        chat_out_expect(c, CHAT_OUT_CALLS | CHAT_OUT_CLOSE_CALL);
}

static bool begin_object(struct chat_out *c, char byte)
{
    c->stage = CHAT_OUT_CALL_OBJECT;
    c->call.n_name = 0;
    forget_word(&c->call);
    jsonscan_start(&c->call.json);
    return chat_call_object(c, byte);
}

static bool begin_name(struct chat_out *c)
{
    c->stage = CHAT_OUT_CALL_NAME;
    c->call.n_name = 0;
    return false;
}

bool chat_call_begin(struct chat_out *c, char byte)
{
    if (chat_mark_is_space(byte))
        return true;
    if (byte == '{')
        return begin_object(c, byte);
    if (byte == '[') {
        c->call.listed = true;
        c->stage = CHAT_OUT_CALL_ELEMENT;
        return true;
    }
    bool may_have_name = grammar(c) != CHAT_GRAMMAR_TAGGED && !c->call.unmarked;
    return may_have_name && is_letter(byte) ? begin_name(c) : chat_out_refuse(c);
}

bool chat_call_element(struct chat_out *c, char byte)
{
    if (chat_mark_is_space(byte))
        return true;
    if (byte == '{')
        return begin_object(c, byte);
    return grammar(c) == CHAT_GRAMMAR_LLAMA && is_letter(byte) ? begin_name(c) : chat_out_refuse(c);
}

bool chat_call_next(struct chat_out *c, char byte)
{
    if (byte == ',') {
        c->stage = CHAT_OUT_CALL_ELEMENT;
        return true;
    }
    if (byte == ']')
        c->call.listed = false;
    else if (!chat_mark_is_space(byte))
        return chat_out_refuse(c);
    chat_call_end(c);
    return true;
}

/* The name is known; the byte, which is the last one, opens the arguments. */
static void begin_arguments(struct chat_out *c)
{
    c->call.depth = c->call.json.depth - 1;
    chat_out_announce(c, 1);
    c->stage = CHAT_OUT_CALL_ARGUMENTS;
    c->n_back = 0;
}

/* The first byte of the value of the member `word` of the call. */
static bool begin_member(struct chat_out *c, char byte)
{
    const char *key = c->call.word;
    if (!strcmp(key, "name")) {
        c->call.n_name = 0;
        return byte == '"' || chat_out_refuse(c);
    }
    if (strcmp(key, "arguments") && strcmp(key, "parameters"))
        return true;
    if (byte != '{' || c->call.n_name == 0)
        return chat_out_refuse(c);
    begin_arguments(c);
    return true;
}

bool chat_call_object(struct chat_out *c, char byte)
{
    const bool is_member = c->call.json.depth == 1;
    switch (jsonscan_push(&c->call.json, byte)) {
    case JSONSCAN_BAD:
    case JSONSCAN_END:
        return chat_out_refuse(c);
    case JSONSCAN_KEY:
        return !is_member || add_to_word(c, byte);
    case JSONSCAN_VALUE:
        return !is_member || begin_member(c, byte);
    case JSONSCAN_STRING:
        if (!is_member || strcmp(c->call.word, "name") != 0)
            return true;
        return byte == '\\' ? chat_out_refuse(c) : add_to_name(c, byte);
    default:
        if (is_member && byte == ',')
            forget_word(&c->call);
        return true;
    }
}

bool chat_call_arguments(struct chat_out *c, char byte)
{
    enum jsonscan_role role = jsonscan_push(&c->call.json, byte);
    if (role == JSONSCAN_BAD)
        return chat_out_refuse(c);
    c->n_back = 0;
    if (role == JSONSCAN_END) {
        chat_out_settle(c, CHAT_OUT_ARGUMENTS, 0);
        chat_call_end(c);
    } else if (c->call.json.depth == c->call.depth) {
        chat_out_settle(c, CHAT_OUT_ARGUMENTS, 0);
        c->stage = CHAT_OUT_CALL_TAIL;
    }
    return true;
}

bool chat_call_tail(struct chat_out *c, char byte)
{
    switch (jsonscan_push(&c->call.json, byte)) {
    case JSONSCAN_BAD:
        return chat_out_refuse(c);
    case JSONSCAN_END:
        chat_call_end(c);
        return true;
    default:
        return true;
    }
}

/* The object behind a name that is not in quotes. */
static bool open_named(struct chat_out *c, char byte)
{
    if (byte != '{')
        return chat_out_refuse(c);
    jsonscan_start(&c->call.json);
    jsonscan_push(&c->call.json, byte);
    begin_arguments(c);
    return true;
}

static bool begin_inner(struct chat_out *c, char byte)
{
    c->stage = CHAT_OUT_CALL_INNER;
    forget_word(&c->call);
    return add_to_word(c, byte);
}

bool chat_call_name(struct chat_out *c, char byte)
{
    if (is_name(byte))
        return add_to_name(c, byte);
    if (grammar(c) == CHAT_GRAMMAR_MISTRAL)
        return byte == '[' ? begin_inner(c, byte) : open_named(c, byte);
    if (byte != '(')
        return chat_out_refuse(c);
    chat_python_start(c);
    return true;
}

bool chat_call_inner(struct chat_out *c, char byte)
{
    if (!add_to_word(c, byte))
        return false;
    if (byte != ']')
        return true;
    const char *const *inner = c->options.format->calls->inner;
    if (inner[0] && !strcmp(c->call.word, inner[0]))
        c->stage = CHAT_OUT_CALL_OPEN;
    else if (inner[1] && !strcmp(c->call.word, inner[1]))
        c->stage = CHAT_OUT_CALL_ID;
    else
        return chat_out_refuse(c);
    return true;
}

bool chat_call_id(struct chat_out *c, char byte)
{
    if (byte == '[')
        return begin_inner(c, byte);
    return is_name(byte) || chat_out_refuse(c);
}

bool chat_call_open(struct chat_out *c, char byte)
{
    return chat_mark_is_space(byte) || open_named(c, byte);
}
