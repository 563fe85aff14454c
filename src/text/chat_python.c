/* Calls of tools that are written in Python: f(a=1, b='x'), name.call(query="x").
 *
 * The arguments are rewritten as JSON as they come. What is no string is passed through, but for the three
 * literals that have other names; what comes out is checked to be JSON (chat_call.json, in an array of its
 * own for each argument), so that tuples, sums and the like end the call. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/text/chat_out_parts.h"

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_name(char byte)
{
    return is_letter(byte) || byte == '_' || (byte >= '0' && byte <= '9');
}

/* The last byte is decided, if the call is. */
static bool accept(struct chat_out *c)
{
    if (c->call.announced)
        c->n_back = 0;
    return true;
}

/* More of an argument. False, and nothing is delivered, if it does not go on like this. */
static bool put(struct chat_out *c, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum jsonscan_role role = jsonscan_push(&c->call.json, text[i]);
        if (role == JSONSCAN_BAD || role == JSONSCAN_END)
            return false;
    }
    chat_out_make(c, text, n);
    return true;
}

static bool put_or_refuse(struct chat_out *c, const char *text)
{
    return put(c, text, strlen(text)) ? accept(c) : chat_out_refuse(c);
}

void chat_python_start(struct chat_out *c)
{
    static const char call[] = ".call";
    const size_t n = sizeof call - 1;
    if (c->call.n_name > n && !memcmp(c->call.name + c->call.n_name - n, call, n))
        c->call.n_name -= n;
    c->call.announced = false;
    c->stage = CHAT_OUT_PYTHON_KEY;
}

static void announce(struct chat_out *c, const char *begin)
{
    chat_out_announce(c, 0);
    c->call.announced = true;
    chat_out_make(c, begin, strlen(begin));
}

static bool end(struct chat_out *c)
{
    if (!c->call.announced)
        announce(c, "{");
    chat_out_make(c, "}", 1);
    chat_call_end(c);
    return true;
}

bool chat_python_key(struct chat_out *c, char byte)
{
    if (byte == ')')
        return end(c);
    if (chat_mark_is_space(byte))
        return accept(c);
    if (!is_name(byte) || (byte >= '0' && byte <= '9'))
        return chat_out_refuse(c);
    c->call.n_word = 0;
    c->stage = CHAT_OUT_PYTHON_EQUALS;
    return false;
}

bool chat_python_equals(struct chat_out *c, char byte)
{
    if (is_name(byte))
        return chat_call_append(c->call.word, &c->call.n_word, byte) || chat_out_refuse(c);
    if (byte != '=')
        return chat_out_refuse(c);
    if (c->call.announced)
        chat_out_make(c, ", \"", 3);
    else
        announce(c, "{\"");
    chat_out_make(c, c->call.word, c->call.n_word);
    chat_out_make(c, "\": ", 3);
    jsonscan_start(&c->call.json);
    for (const char *before = "[0,"; *before; before++)
        jsonscan_push(&c->call.json, *before);
    c->stage = CHAT_OUT_PYTHON_VALUE;
    return accept(c);
}

/* A comma or the parenthesis behind an argument. */
static bool end_value(struct chat_out *c, char byte)
{
    if (c->call.json.depth != 1 || jsonscan_push(&c->call.json, ']') != JSONSCAN_END)
        return chat_out_refuse(c);
    if (byte == ')')
        return end(c);
    c->stage = CHAT_OUT_PYTHON_KEY;
    return accept(c);
}

bool chat_python_value(struct chat_out *c, char byte)
{
    if (byte == ')' || (byte == ',' && c->call.json.depth == 1))
        return end_value(c, byte);
    if (is_letter(byte) && byte != 'e' && byte != 'E') { /* those belong to numbers */
        c->call.n_word = 0;
        c->stage = CHAT_OUT_PYTHON_WORD;
        return false;
    }
    if (byte == '\'' || byte == '"') {
        c->call.quote = byte;
        c->stage = CHAT_OUT_PYTHON_STRING;
        byte = '"';
    }
    return put(c, &byte, 1) ? accept(c) : chat_out_refuse(c);
}

/* What a literal is called in JSON, or NULL. */
static const char *literal(const char *word)
{
    static const char *const names[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"},
                                           {"true", "true"}, {"false", "false"}, {"null", "null"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(word, names[i][0]))
            return names[i][1];
    return NULL;
}

/* All of a word is undecided until its end. */
bool chat_python_word(struct chat_out *c, char byte)
{
    if (is_name(byte))
        return chat_call_append(c->call.word, &c->call.n_word, byte) || chat_out_refuse(c);
    const char *json = literal(c->call.word);
    if (!json || !put(c, json, strlen(json)))
        return chat_out_refuse(c);
    c->n_back = 1;
    c->stage = CHAT_OUT_PYTHON_VALUE;
    return false;
}

bool chat_python_string(struct chat_out *c, char byte)
{
    if (byte == '\\') {
        c->call.n_digit = 0;
        c->stage = CHAT_OUT_PYTHON_ESCAPE;
        return accept(c);
    }
    if (byte == c->call.quote) {
        c->stage = CHAT_OUT_PYTHON_VALUE;
        return put_or_refuse(c, "\"");
    }
    if (byte == '"')
        return put_or_refuse(c, "\\\"");
    return put(c, &byte, 1) ? accept(c) : chat_out_refuse(c);
}

static bool put_code(struct chat_out *c, unsigned code)
{
    char text[8];
    snprintf(text, sizeof text, "\\u%04x", code & 0xffff);
    c->stage = CHAT_OUT_PYTHON_STRING;
    return put_or_refuse(c, text);
}

static int hex_value(char byte)
{
    const char digits[] = "0123456789abcdef";
    const char *found = byte ? strchr(digits, byte >= 'A' && byte <= 'F' ? byte + 32 : byte) : NULL;
    return found ? (int)(found - digits) : -1;
}

static bool begin_code(struct chat_out *c, unsigned n_digit)
{
    c->call.n_digit = n_digit;
    c->call.code = 0;
    return accept(c);
}

static bool push_digit(struct chat_out *c, char byte)
{
    int value = hex_value(byte);
    if (value < 0)
        return chat_out_refuse(c);
    c->call.code = c->call.code * 16 + (unsigned)value;
    return --c->call.n_digit ? accept(c) : put_code(c, c->call.code);
}

/* Behind a backslash: Python's escapes that JSON does not have become \u ones. Before anything else Python
 * keeps the backslash. */
bool chat_python_escape(struct chat_out *c, char byte)
{
    if (c->call.n_digit)
        return push_digit(c, byte);
    if (byte == 'x' || byte == 'u')
        return begin_code(c, byte == 'x' ? 2 : 4);
    if (byte == 'a' || byte == 'v')
        return put_code(c, byte == 'a' ? '\a' : '\v');
    if (byte >= '0' && byte <= '7')
        return chat_out_refuse(c); /* octal: nobody writes it */
    char kept[] = {'\\', '\\', byte, '\0'}, escape[] = {'\\', byte, '\0'}, *plain = escape + 1;
    c->stage = CHAT_OUT_PYTHON_STRING;
    return put_or_refuse(c, byte == '\'' ? plain : byte && strchr("\"\\bfnrt", byte) ? escape : kept);
}
