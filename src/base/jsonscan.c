/* JSON as it comes: see jsonscan.h. */
#include "config.h"
#include "src/base/jsonscan.h"

#include <stdbool.h>

enum {
    AT_VALUE,
    AT_FIRST_ITEM, /* after '[': a value or the end */
    AT_FIRST_KEY,  /* after '{': a name or the end */
    AT_KEY,
    AT_COLON,
    AT_NEXT, /* after a value */
    IN_STRING,
    IN_ESCAPE,
    IN_HEX,
    IN_LITERAL,
    IN_MINUS,
    IN_ZERO,
    IN_INTEGER,
    IN_POINT, /* the point, and no digit behind it yet */
    IN_FRACTION,
    IN_E,
    IN_SIGN,
    IN_EXPONENT,
};

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

void jsonscan_start(struct jsonscan *s)
{
    *s = (struct jsonscan){.state = AT_VALUE};
}

static enum jsonscan_role go(struct jsonscan *s, int state, enum jsonscan_role role)
{
    s->state = (uint8_t)state;
    return role;
}

/* A value is complete with this byte. */
static enum jsonscan_role complete(struct jsonscan *s)
{
    return go(s, AT_NEXT, s->depth == 0 ? JSONSCAN_END : JSONSCAN_OTHER);
}

static bool in_object(const struct jsonscan *s)
{
    return s->depth > 0 && s->objects >> (s->depth - 1) & 1;
}

static enum jsonscan_role open(struct jsonscan *s, bool object)
{
    if (s->depth == JSONSCAN_MAX_DEPTH)
        return JSONSCAN_BAD;
    uint64_t bit = UINT64_C(1) << s->depth++;
    s->objects = object ? s->objects | bit : s->objects & ~bit;
    return go(s, object ? AT_FIRST_KEY : AT_FIRST_ITEM, JSONSCAN_VALUE);
}

static enum jsonscan_role close(struct jsonscan *s, char byte)
{
    if (s->depth == 0 || byte != (in_object(s) ? '}' : ']'))
        return JSONSCAN_BAD;
    s->depth--;
    return complete(s);
}

static enum jsonscan_role literal(struct jsonscan *s, const char *rest)
{
    s->spell = rest;
    return go(s, IN_LITERAL, JSONSCAN_VALUE);
}

static enum jsonscan_role begin_value(struct jsonscan *s, char byte)
{
    switch (byte) {
    case '{':
        return open(s, true);
    case '[':
        return open(s, false);
    case '"':
        s->in_key = false;
        return go(s, IN_STRING, JSONSCAN_VALUE);
    case 't':
        return literal(s, "rue");
    case 'f':
        return literal(s, "alse");
    case 'n':
        return literal(s, "ull");
    case '-':
        return go(s, IN_MINUS, JSONSCAN_VALUE);
    case '0':
        return go(s, IN_ZERO, JSONSCAN_VALUE);
    default:
        return is_digit(byte) ? go(s, IN_INTEGER, JSONSCAN_VALUE) : JSONSCAN_BAD;
    }
}

static enum jsonscan_role begin_key(struct jsonscan *s, char byte)
{
    if (byte != '"')
        return JSONSCAN_BAD;
    s->in_key = true;
    return go(s, IN_STRING, JSONSCAN_OTHER);
}

static enum jsonscan_role next(struct jsonscan *s, char byte)
{
    if (byte != ',')
        return close(s, byte);
    return s->depth == 0 ? JSONSCAN_BAD : go(s, in_object(s) ? AT_KEY : AT_VALUE, JSONSCAN_OTHER);
}

/* Between values. */
static enum jsonscan_role push_between(struct jsonscan *s, char byte)
{
    if (is_space(byte))
        return JSONSCAN_OTHER;
    switch (s->state) {
    case AT_FIRST_ITEM:
        return byte == ']' ? close(s, byte) : begin_value(s, byte);
    case AT_FIRST_KEY:
        return byte == '}' ? close(s, byte) : begin_key(s, byte);
    case AT_KEY:
        return begin_key(s, byte);
    case AT_COLON:
        return byte == ':' ? go(s, AT_VALUE, JSONSCAN_OTHER) : JSONSCAN_BAD;
    case AT_NEXT:
        return next(s, byte);
    default:
        return begin_value(s, byte);
    }
}

static enum jsonscan_role end_string(struct jsonscan *s)
{
    return s->in_key ? go(s, AT_COLON, JSONSCAN_KEY_END) : complete(s);
}

static enum jsonscan_role begin_escaped(struct jsonscan *s, char byte, enum jsonscan_role inside)
{
    switch (byte) {
    case 'u':
        s->n_hex = 4;
        return go(s, IN_HEX, inside);
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return go(s, IN_STRING, inside);
    default:
        return JSONSCAN_BAD;
    }
}

static enum jsonscan_role push_string(struct jsonscan *s, char byte)
{
    enum jsonscan_role inside = s->in_key ? JSONSCAN_KEY : JSONSCAN_STRING;
    if (s->state == IN_ESCAPE)
        return begin_escaped(s, byte, inside);
    if (s->state == IN_HEX) {
        if (!is_hex(byte))
            return JSONSCAN_BAD;
        return --s->n_hex ? inside : go(s, IN_STRING, inside);
    }
    if (byte == '"')
        return end_string(s);
    if ((unsigned char)byte < ' ')
        return JSONSCAN_BAD;
    return byte == '\\' ? go(s, IN_ESCAPE, inside) : inside;
}

static enum jsonscan_role push_literal(struct jsonscan *s, char byte)
{
    if (byte != *s->spell)
        return JSONSCAN_BAD;
    return *++s->spell ? JSONSCAN_OTHER : complete(s);
}

/* The state in which a byte leaves a number; -1: it is no part of it. */
static int number_after(int state, char byte)
{
    bool e = byte == 'e' || byte == 'E';
    switch (state) {
    case IN_MINUS:
        return byte == '0' ? IN_ZERO : is_digit(byte) ? IN_INTEGER : -1;
    case IN_ZERO:
    case IN_INTEGER:
        if (state == IN_INTEGER && is_digit(byte))
            return IN_INTEGER;
        return byte == '.' ? IN_POINT : e ? IN_E : -1;
    case IN_POINT:
    case IN_FRACTION:
        return is_digit(byte) ? IN_FRACTION : state == IN_FRACTION && e ? IN_E : -1;
    case IN_E:
        return byte == '+' || byte == '-' ? IN_SIGN : is_digit(byte) ? IN_EXPONENT : -1;
    default:
        return is_digit(byte) ? IN_EXPONENT : -1;
    }
}

static enum jsonscan_role push_number(struct jsonscan *s, char byte)
{
    int state = number_after(s->state, byte);
    if (state >= 0)
        return go(s, state, JSONSCAN_OTHER);
    if (s->state != IN_ZERO && s->state != IN_INTEGER && s->state != IN_FRACTION && s->state != IN_EXPONENT)
        return JSONSCAN_BAD;
    s->state = AT_NEXT;
    return push_between(s, byte);
}

enum jsonscan_role jsonscan_push(struct jsonscan *s, char byte)
{
    if (s->state < IN_STRING)
        return push_between(s, byte);
    if (s->state < IN_LITERAL)
        return push_string(s, byte);
    return s->state == IN_LITERAL ? push_literal(s, byte) : push_number(s, byte);
}
