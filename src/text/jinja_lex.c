/* A template as tokens: see jinja_lex.h. */
#include "config.h"
#include "src/text/jinja_lex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/utf8.h"
#include "src/text/jinja_char.h"
#include "src/text/jinja_literal.h"

void jinja_lex_init(struct jinja_lex *l, const char *text, size_t n, struct arena *arena)
{
    *l = (struct jinja_lex){.text = text, .n = n, .arena = arena, .line_starts = true};
}

static struct jinja_token fail(struct jinja_lex *l, int code, size_t at, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!l->error) {
        l->error = code;
        l->error_at = at;
        why_set(&l->why, code, "%s", text);
    }
    l->at = l->n;
    return (struct jinja_token){.kind = JINJA_T_END, .at = (uint32_t)at};
}

static char peek(const struct jinja_lex *l, size_t at)
{
    return at < l->n ? l->text[at] : '\0';
}

static bool is_at(const struct jinja_lex *l, size_t at, const char *what)
{
    size_t n = strlen(what);
    return n <= l->n - at && memcmp(l->text + at, what, n) == 0;
}

static uint32_t code_at(const struct jinja_lex *l, size_t at)
{
    return utf8_decode((const uint8_t *)l->text + at);
}

static size_t skip_space(const struct jinja_lex *l, size_t at)
{
    while (at < l->n && jinja_char_is_space(code_at(l, at)))
        at += utf8_length((uint8_t)l->text[at]);
    return at;
}

/* ---- ends of tags ---- */

/* What follows a tag's end is the tag's: white space after "-", one line break where blocks are trimmed. */
static size_t end_tag(struct jinja_lex *l, size_t at, const char *close, bool trims, bool may_plus)
{
    char sign = peek(l, at);
    size_t from = at + (sign == '-' || (sign == '+' && may_plus));
    if (from > l->n || !is_at(l, from, close))
        return 0;
    size_t end = from + strlen(close);
    if (sign == '-')
        end = skip_space(l, end);
    else if (trims && sign != '+' && peek(l, end) == '\n')
        end++;
    return end;
}

static void pass(struct jinja_lex *l, size_t end)
{
    l->at = end;
    l->line_starts = end > 0 && l->text[end - 1] == '\n';
}

/* ---- text ---- */

/* The end of the text before a tag, without the white space that the tag takes. */
static size_t strip_before(const struct jinja_lex *l, size_t from, size_t to, char sign, bool lstrips)
{
    size_t end = to;
    while (end > from) {
        const char *c = (const char *)utf8_previous((const uint8_t *)l->text + end);
        if (!jinja_char_is_space(utf8_decode((const uint8_t *)c)))
            break;
        if (sign != '-' && *c == '\n')
            break;
        end = (size_t)(c - l->text);
    }
    if (sign == '-')
        return end;
    if (sign == '+' || !lstrips)
        return to;
    bool at_line_start = end > from ? l->text[end - 1] == '\n' : l->line_starts;
    return at_line_start ? end : to;
}

static struct jinja_token data(size_t from, size_t to, const struct jinja_lex *l)
{
    return (struct jinja_token){JINJA_T_DATA, (uint32_t)from, l->text + from, to - from, 0, 0};
}

/* {% raw %} at `at`: where its content begins, or 0. */
static size_t begin_raw(struct jinja_lex *l, size_t at)
{
    size_t i = at + 2;
    i += peek(l, i) == '-' || peek(l, i) == '+';
    i = skip_space(l, i);
    if (!is_at(l, i, "raw"))
        return 0;
    i = skip_space(l, i + 3);
    return end_tag(l, i, "%}", false, false);
}

/* {% endraw %} at `at`: where it ends, or 0. */
static size_t end_raw(struct jinja_lex *l, size_t at, char *ret_sign)
{
    size_t i = at + 2;
    *ret_sign = peek(l, i);
    i += *ret_sign == '-' || *ret_sign == '+';
    i = skip_space(l, i);
    if (!is_at(l, i, "endraw"))
        return 0;
    return end_tag(l, skip_space(l, i + 6), "%}", true, true);
}

static struct jinja_token read_raw(struct jinja_lex *l, size_t begin, size_t from)
{
    pass(l, from);
    for (size_t i = from; i + 1 < l->n; i++) {
        char sign;
        size_t end = is_at(l, i, "{%") ? end_raw(l, i, &sign) : 0;
        if (!end)
            continue;
        size_t to = strip_before(l, from, i, sign, true);
        pass(l, end);
        return data(from, to, l);
    }
    return fail(l, EX_DATAERR, begin, "Missing end of raw directive");
}

static bool skip_comment(struct jinja_lex *l, size_t begin)
{
    size_t i = begin + 2;
    i += peek(l, i) == '-' || peek(l, i) == '+';
    for (; i < l->n; i++) {
        size_t end = end_tag(l, i, "#}", true, true);
        if (end) {
            pass(l, end);
            return true;
        }
    }
    fail(l, EX_DATAERR, begin, "Missing end of comment tag");
    return false;
}

static bool is_tag(const struct jinja_lex *l, size_t at)
{
    return l->text[at] == '{' && at + 1 < l->n && strchr("{%#", l->text[at + 1]) && l->text[at + 1];
}

/* Reads the tag's beginning that stands here; false for a comment, which gives no token. */
static bool begin_tag(struct jinja_lex *l, struct jinja_token *ret_token)
{
    size_t at = l->at, raw;
    char kind = l->text[at + 1];
    if (kind == '#')
        return skip_comment(l, at) ? false : (*ret_token = (struct jinja_token){.at = (uint32_t)at}, true);
    if (kind == '%' && (raw = begin_raw(l, at))) {
        *ret_token = read_raw(l, at, raw);
        return ret_token->kind != JINJA_T_DATA || ret_token->n > 0;
    }
    size_t end = at + 2;
    pass(l, end + (peek(l, end) == '-' || peek(l, end) == '+'));
    l->state = kind == '{' ? JINJA_LEX_PRINT : JINJA_LEX_BLOCK;
    *ret_token = (struct jinja_token){.kind = kind == '{' ? JINJA_T_PRINT_BEGIN : JINJA_T_BLOCK_BEGIN,
                                      .at = (uint32_t)at};
    return true;
}

static struct jinja_token next_in_text(struct jinja_lex *l)
{
    struct jinja_token token;
    while (l->at < l->n) {
        size_t from = l->at, i = from;
        while (i < l->n && !is_tag(l, i)) {
            const char *brace = memchr(l->text + i + 1, '{', l->n - i - 1);
            i = brace ? (size_t)(brace - l->text) : l->n;
        }
        if (i == l->n) {
            pass(l, l->n);
            return data(from, i, l);
        }
        size_t to = strip_before(l, from, i, peek(l, i + 2), l->text[i + 1] != '{');
        l->at = i;
        if (to > from) {
            /* The tag itself comes with the next call, which finds no text before it. */
            l->line_starts = false;
            return data(from, to, l);
        }
        if (begin_tag(l, &token))
            return token;
    }
    return (struct jinja_token){.kind = JINJA_T_END, .at = (uint32_t)l->n};
}

/* ---- expressions ---- */

static struct jinja_token read_operator(struct jinja_lex *l)
{
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    static const char one[] = "+-/*%~[](){}><=.:|,;";
    size_t at = l->at, n = 0;
    for (size_t i = 0; i < sizeof two / sizeof two[0] && n == 0; i++)
        n = is_at(l, at, two[i]) ? 2 : 0;
    char c = l->text[at];
    if (n == 0 && (c == '\0' || !strchr(one, c)))
        return fail(l, EX_DATAERR, at, "unexpected char '%.*s'", (int)utf8_length((uint8_t)c), l->text + at);
    n = n ? n : 1;
    const char *open = c ? strchr("([{", c) : NULL, *close = c ? strchr(")]}", c) : NULL;
    if (open && l->n_bracket == JINJA_LEX_BRACKETS)
        return fail(l, EX_DATAERR, at, "more than %d open brackets", JINJA_LEX_BRACKETS);
    if (open)
        l->brackets[l->n_bracket++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    if (close && l->n_bracket == 0)
        return fail(l, EX_DATAERR, at, "unexpected '%c'", c);
    if (close && l->brackets[--l->n_bracket] != c)
        return fail(l, EX_DATAERR, at, "unexpected '%c', expected '%c'", c, l->brackets[l->n_bracket]);
    l->at += n;
    return (struct jinja_token){JINJA_T_OPERATOR, (uint32_t)at, l->text + at, n, 0, 0};
}

static struct jinja_token read_name(struct jinja_lex *l)
{
    size_t at = l->at, end = at;
    while (end < l->n && jinja_char_continues_name(code_at(l, end)))
        end += utf8_length((uint8_t)l->text[end]);
    l->at = end;
    return (struct jinja_token){JINJA_T_NAME, (uint32_t)at, l->text + at, end - at, 0, 0};
}

static struct jinja_token read_literal(struct jinja_lex *l)
{
    struct jinja_token token = {.at = (uint32_t)l->at};
    const char *wrong = NULL;
    size_t n;
    if (l->text[l->at] == '\'' || l->text[l->at] == '"') {
        token.kind = JINJA_T_STRING;
        n = jinja_literal_string(l->text + l->at, l->n - l->at, l->arena, &token.text, &token.n, &wrong);
    } else {
        bool is_float;
        bool after_dot = l->at > 0 && l->text[l->at - 1] == '.';
        n = jinja_literal_number(l->text + l->at, l->n - l->at, !after_dot, &is_float, &token.integer,
                                 &token.real, &wrong);
        token.kind = is_float ? JINJA_T_FLOAT : JINJA_T_INT;
    }
    if (n == 0)
        return fail(l, wrong ? EX_DATAERR : -ENOMEM, l->at, "%s", wrong ? wrong : "out of memory");
    l->at += n;
    return token;
}

static struct jinja_token next_in_tag(struct jinja_lex *l)
{
    bool print = l->state == JINJA_LEX_PRINT;
    size_t begin = l->at;
    size_t end = l->n_bracket ? 0 : end_tag(l, begin, print ? "}}" : "%}", !print, !print);
    if (end) {
        pass(l, end);
        l->state = JINJA_LEX_TEXT;
        return (struct jinja_token){.kind = print ? JINJA_T_PRINT_END : JINJA_T_BLOCK_END,
                                    .at = (uint32_t)begin};
    }
    size_t at = skip_space(l, begin);
    if (at > begin) {
        l->at = at;
        return at < l->n ? next_in_tag(l) : (struct jinja_token){.kind = JINJA_T_END, .at = (uint32_t)at};
    }
    char c = l->text[at];
    if ((c >= '0' && c <= '9') || c == '\'' || c == '"')
        return read_literal(l);
    return jinja_char_begins_name(code_at(l, at)) ? read_name(l) : read_operator(l);
}

struct jinja_token jinja_lex_next(struct jinja_lex *l)
{
    if (l->at >= l->n)
        return (struct jinja_token){.kind = JINJA_T_END, .at = (uint32_t)l->n};
    return l->state == JINJA_LEX_TEXT ? next_in_text(l) : next_in_tag(l);
}
