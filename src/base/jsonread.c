/* A streaming reader for JSON whose text must be exact: see jsonread.h. */
#include "config.h"
#include "src/base/jsonread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/utf8.h"

enum expect {
    EXPECT_VALUE,          /* a value: at the top, after ':' or after ',' in an array */
    EXPECT_VALUE_OR_CLOSE, /* right after '[' */
    EXPECT_KEY_OR_CLOSE,   /* right after '{' */
    EXPECT_MORE,           /* after a value: ',' or the end of what it is in */
    EXPECT_NOTHING,        /* after the top value */
};

void jsonread_init(struct jsonread *r, const void *text, size_t n, struct why *why)
{
    *r = (struct jsonread){.text = text, .n = n, .why = why, .expect = EXPECT_VALUE, .kind = JSONREAD_END};
    buf_init(&r->scratch, 0);
}

void jsonread_deinit(struct jsonread *r)
{
    buf_deinit(&r->scratch);
}

const char *jsonread_kind_name(enum jsonread_kind kind)
{
    static const char *const names[] = {
        [JSONREAD_ERROR] = "an error",   [JSONREAD_END] = "the end",
        [JSONREAD_OBJECT] = "an object", [JSONREAD_OBJECT_END] = "the end of an object",
        [JSONREAD_ARRAY] = "an array",   [JSONREAD_ARRAY_END] = "the end of an array",
        [JSONREAD_KEY] = "a key",        [JSONREAD_STRING] = "a string",
        [JSONREAD_INT] = "an integer",   [JSONREAD_BIG] = "an integer beyond 64 bits",
        [JSONREAD_FLOAT] = "a number",   [JSONREAD_TRUE] = "true",
        [JSONREAD_FALSE] = "false",      [JSONREAD_NULL] = "null",
    };
    return names[kind];
}

/* Lines count from 1, columns count characters from 1. */
static int fail_at(struct jsonread *r, size_t at, const char *sentence)
{
    r->kind = JSONREAD_ERROR;
    if (r->error)
        return r->error;
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < r->n; i++) {
        if (r->text[i] == '\n') {
            line++;
            column = 1;
        } else if (((uint8_t)r->text[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    r->error = EX_DATAERR;
    return why_set(r->why, EX_DATAERR, "line %zu column %zu: %s", line, column, sentence);
}

int jsonread_fail(struct jsonread *r, const char *format, ...)
{
    char sentence[384];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return fail_at(r, r->item_at, sentence);
}

bool jsonread_is(const struct jsonread *r, const char *s)
{
    return r->n_string == strlen(s) && memcmp(r->string, s, r->n_string) == 0;
}

static enum jsonread_kind error(struct jsonread *r, size_t at, const char *sentence)
{
    fail_at(r, at, sentence);
    return JSONREAD_ERROR;
}

static enum jsonread_kind out_of_memory(struct jsonread *r)
{
    r->error = -ENOMEM;
    return r->kind = JSONREAD_ERROR;
}

static void skip_space(struct jsonread *r)
{
    while (r->at < r->n && (r->text[r->at] == ' ' || r->text[r->at] == '\n' || r->text[r->at] == '\r' ||
                            r->text[r->at] == '\t'))
        r->at++;
}

static bool at_digit(const struct jsonread *r)
{
    return r->at < r->n && r->text[r->at] >= '0' && r->text[r->at] <= '9';
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The four digits of \uXXXX at `at`, or -1. */
static int32_t hex4(const struct jsonread *r, size_t at)
{
    int32_t value = 0;
    if (r->n - at < 4)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        int digit = hex_digit(r->text[at + i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* \uXXXX, with r->at on the u: appends its character. False: not four digits. */
static bool read_unicode_escape(struct jsonread *r, int *ret_push)
{
    int32_t code = hex4(r, r->at + 1);
    if (code < 0)
        return false;
    r->at += 5;
    if (code >= 0xd800 && code < 0xdc00 && r->n - r->at >= 6 && memcmp(r->text + r->at, "\\u", 2) == 0) {
        int32_t low = hex4(r, r->at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            r->at += 6;
        }
    }
    uint8_t bytes[UTF8_MAX];
    *ret_push = buf_push(&r->scratch, bytes, utf8_encode((uint32_t)code, bytes));
    return true;
}

/* One escape, with r->at behind the backslash. False: it failed. */
static bool read_escape(struct jsonread *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int push;
    const char *known;
    if (r->at < r->n && r->text[r->at] == 'u') {
        if (!read_unicode_escape(r, &push))
            return error(r, r->at - 1, "\\u without four hexadecimal digits"), false;
    } else if (r->at < r->n && r->text[r->at] && (known = strchr(from, r->text[r->at]))) {
        push = buf_push(&r->scratch, &to[known - from], 1);
        r->at++;
    } else {
        return error(r, r->at - 1, "an unknown escape in a string"), false;
    }
    return push == 0 || (out_of_memory(r), false);
}

/* The end of the run of ordinary characters. */
static size_t plain_run(const struct jsonread *r, size_t at)
{
    while (at < r->n && r->text[at] != '"' && r->text[at] != '\\' && (uint8_t)r->text[at] >= 0x20)
        at++;
    return at;
}

/* Appends or, for a string without escapes, points at text[from, to). False: it failed. */
static bool take_run(struct jsonread *r, size_t from, size_t to, bool whole)
{
    size_t good = utf8_check(r->text + from, to - from);
    if (good != to - from)
        return error(r, from + good, "invalid UTF-8 in a string"), false;
    if (whole) {
        r->string = r->text + from;
        r->n_string = to - from;
        return true;
    }
    return buf_push(&r->scratch, r->text + from, to - from) == 0 || (out_of_memory(r), false);
}

/* A string, with r->at behind the opening quote; kind is what it is. */
static enum jsonread_kind read_string(struct jsonread *r, enum jsonread_kind kind)
{
    r->scratch.n = 0;
    for (bool first = true;; first = false) {
        size_t end = plain_run(r, r->at);
        bool closed = end < r->n && r->text[end] == '"';
        if (!take_run(r, r->at, end, first && closed))
            return JSONREAD_ERROR;
        r->at = end;
        if (closed) {
            if (!first) {
                r->string = r->scratch.n ? (const char *)r->scratch.data : "";
                r->n_string = r->scratch.n;
            }
            r->at++;
            return r->kind = kind;
        }
        if (end == r->n)
            return error(r, r->item_at, "a string without its closing quote");
        if (r->text[end] != '\\')
            return error(r, end, "a control character in a string");
        r->at++;
        if (!read_escape(r))
            return JSONREAD_ERROR;
    }
}

/* Passes the number's characters. False: they are no number; *ret_float: it has a fraction or an exponent. */
static bool pass_number(struct jsonread *r, bool *ret_float)
{
    *ret_float = false;
    if (r->text[r->at] == '-')
        r->at++;
    if (!at_digit(r))
        return false;
    if (r->text[r->at] == '0')
        r->at++;
    else
        while (at_digit(r))
            r->at++;
    if (r->at < r->n && r->text[r->at] == '.') {
        *ret_float = true;
        r->at++;
        if (!at_digit(r))
            return false;
        while (at_digit(r))
            r->at++;
    }
    if (r->at < r->n && (r->text[r->at] == 'e' || r->text[r->at] == 'E')) {
        *ret_float = true;
        r->at++;
        if (r->at < r->n && (r->text[r->at] == '+' || r->text[r->at] == '-'))
            r->at++;
        if (!at_digit(r))
            return false;
        while (at_digit(r))
            r->at++;
    }
    return !at_digit(r); /* 01 is no number */
}

/* Most numbers of a vocabulary: a few digits. False: it is longer, or has a sign. */
static bool read_short(struct jsonread *r)
{
    if (r->n_string > 15 || r->string[0] == '-')
        return false;
    r->integer = 0;
    for (size_t i = 0; i < r->n_string; i++)
        r->integer = 10 * r->integer + (r->string[i] - '0');
    r->real = (double)r->integer;
    return true;
}

static enum jsonread_kind read_number(struct jsonread *r)
{
    bool is_float;
    if (!pass_number(r, &is_float))
        return error(r, r->item_at, "a malformed number");
    r->string = r->text + r->item_at;
    r->n_string = r->at - r->item_at;
    if (!is_float && read_short(r))
        return r->kind = JSONREAD_INT;
    if (r->n_string > JSONREAD_MAX_NUMBER)
        return error(r, r->item_at, "a number of more than 512 characters");
    char spelling[JSONREAD_MAX_NUMBER + 1];
    memcpy(spelling, r->string, r->n_string);
    spelling[r->n_string] = '\0';
    r->real = strtod(spelling, NULL);
    if (is_float)
        return r->kind = JSONREAD_FLOAT;
    errno = 0;
    r->integer = strtoll(spelling, NULL, 10);
    return r->kind = errno == ERANGE ? JSONREAD_BIG : JSONREAD_INT;
}

static enum jsonread_kind read_word(struct jsonread *r, const char *word, enum jsonread_kind kind)
{
    size_t n = strlen(word);
    if (r->n - r->at < n || memcmp(r->text + r->at, word, n) != 0)
        return error(r, r->at, "not a JSON value");
    r->at += n;
    return r->kind = kind;
}

static enum jsonread_kind open_container(struct jsonread *r, bool object)
{
    if (r->depth == JSONREAD_MAX_DEPTH)
        return error(r, r->at, "nested more than 128 deep");
    r->in_object[r->depth++] = object;
    r->at++;
    r->expect = object ? EXPECT_KEY_OR_CLOSE : EXPECT_VALUE_OR_CLOSE;
    return r->kind = object ? JSONREAD_OBJECT : JSONREAD_ARRAY;
}

static void value_done(struct jsonread *r)
{
    r->expect = r->depth ? EXPECT_MORE : EXPECT_NOTHING;
}

static enum jsonread_kind close_container(struct jsonread *r)
{
    bool object = r->in_object[--r->depth];
    r->at++;
    value_done(r);
    return r->kind = object ? JSONREAD_OBJECT_END : JSONREAD_ARRAY_END;
}

static enum jsonread_kind read_value(struct jsonread *r)
{
    char c = r->text[r->at];
    if (c == '{' || c == '[')
        return open_container(r, c == '{');
    value_done(r);
    switch (c) {
    case '"':
        r->at++;
        return read_string(r, JSONREAD_STRING);
    case 't':
        return read_word(r, "true", JSONREAD_TRUE);
    case 'f':
        return read_word(r, "false", JSONREAD_FALSE);
    case 'n':
        return read_word(r, "null", JSONREAD_NULL);
    default:
        if (c == '-' || at_digit(r))
            return read_number(r);
        return error(r, r->at, "not a JSON value");
    }
}

static enum jsonread_kind read_key(struct jsonread *r)
{
    if (r->text[r->at] != '"')
        return error(r, r->at, "a key in quotes was expected");
    r->at++;
    if (read_string(r, JSONREAD_KEY) == JSONREAD_ERROR)
        return JSONREAD_ERROR;
    skip_space(r);
    if (r->at == r->n || r->text[r->at] != ':')
        return error(r, r->at, "':' was expected");
    r->at++;
    r->expect = EXPECT_VALUE;
    return JSONREAD_KEY;
}

/* After a value: passes a comma, or closes. */
static enum jsonread_kind read_more(struct jsonread *r)
{
    bool object = r->in_object[r->depth - 1];
    if (r->text[r->at] == (object ? '}' : ']'))
        return close_container(r);
    if (r->text[r->at] != ',')
        return error(r, r->at, object ? "',' or '}' was expected" : "',' or ']' was expected");
    r->at++;
    skip_space(r);
    r->item_at = r->at;
    if (r->at == r->n)
        return error(r, r->at, "the text ends too early");
    return object ? read_key(r) : read_value(r);
}

enum jsonread_kind jsonread_next(struct jsonread *r)
{
    if (r->error)
        return r->kind = JSONREAD_ERROR;
    skip_space(r);
    r->item_at = r->at;
    if (r->expect == EXPECT_NOTHING)
        return r->at == r->n ? (r->kind = JSONREAD_END) : error(r, r->at, "something follows the value");
    if (r->at == r->n)
        return error(r, r->at, "the text ends too early");
    switch ((enum expect)r->expect) {
    case EXPECT_KEY_OR_CLOSE:
        return r->text[r->at] == '}' ? close_container(r) : read_key(r);
    case EXPECT_VALUE_OR_CLOSE:
        return r->text[r->at] == ']' ? close_container(r) : read_value(r);
    case EXPECT_MORE:
        return read_more(r);
    default:
        return read_value(r);
    }
}

bool jsonread_skip(struct jsonread *r)
{
    if (r->kind == JSONREAD_KEY)
        jsonread_next(r);
    if (r->kind != JSONREAD_OBJECT && r->kind != JSONREAD_ARRAY)
        return r->kind != JSONREAD_ERROR;
    for (unsigned outside = r->depth - 1; r->depth > outside;)
        if (jsonread_next(r) == JSONREAD_ERROR)
            return false;
    return true;
}
