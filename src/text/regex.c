/* Regular expressions of tokenizer.json: see regex.h. */
#include "config.h"
#include "src/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8

#include <errno.h>
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/buf.h"

struct regex {
    pcre2_code *code;
};

struct regex_state {
    pcre2_match_data *data;
    pcre2_match_context *context;
};

/* Members of a class: the property White_Space; Alphabetic, marks, Nd, Pc. (PCRE2's own \s also has U+180E.)
 */
#define SPACE_SET                                                                                            \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{" \
    "3000}"
#define WORD_SET                                                                                     \
    "\\p{L}\\p{Nl}\\p{M}\\p{Nd}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}" \
    "\\x{1f170}-\\x{1f189}"

/* Outside a class Oniguruma has a table of its own for Latin-1, where digits above the line and fractions
 * belong to words. */
#define WORD_ALONE WORD_SET "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"

static const struct {
    char letter;
    const char *alone, *in_class; /* NULL: refused there */
} rewrites[] = {
    {'s', "[" SPACE_SET "]", SPACE_SET}, {'S', "[^" SPACE_SET "]", NULL}, {'w', "[" WORD_ALONE "]", WORD_SET},
    {'W', "[^" WORD_ALONE "]", NULL},    {'d', "\\p{Nd}", "\\p{Nd}"},     {'D', "\\P{Nd}", "\\P{Nd}"},
};

/* What stands for a place in the text. Lines end at \n alone; behind the last one there is no further line.
 */
#define WORD_LEFT "(?<=[" WORD_ALONE "])"
#define WORD_RIGHT "(?=[" WORD_ALONE "])"
#define NO_WORD_LEFT "(?<![" WORD_ALONE "])"
#define NO_WORD_RIGHT "(?![" WORD_ALONE "])"

static const struct {
    const char *anchor, *to;
} anchors[] = {
    {"^", "(?:\\A|(?<=\\n)(?!\\z))"},
    {"$", "(?:(?=\\n)|\\z)"},
    {"\\A", "\\A"},
    {"\\z", "\\z"},
    {"\\Z", "\\Z"},
    {"\\b", "(?:" WORD_LEFT NO_WORD_RIGHT "|" NO_WORD_LEFT WORD_RIGHT ")"},
    {"\\B", "(?:" WORD_LEFT WORD_RIGHT "|" NO_WORD_LEFT NO_WORD_RIGHT ")"},
};

struct translation {
    const char *pattern;
    size_t n, at;
    bool in_class;
    struct buf out;
    struct why *why;
};

static int refuse(struct translation *t, const char *what)
{
    return why_set(t->why, EX_DATAERR, "pattern '%.200s': %s at byte %zu is not supported", t->pattern, what,
                   t->at);
}

static int push(struct translation *t, const char *s, size_t n)
{
    int r = buf_push(&t->out, s, n);
    return r == BUF_E_FULL ? refuse(t, "a pattern this long") : r;
}

/* An anchor at t->at, outside a class. It cannot be repeated. */
static int translate_anchor(struct translation *t, bool *ret_done)
{
    for (size_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++) {
        size_t n = strlen(anchors[i].anchor);
        if (t->n - t->at < n || memcmp(t->pattern + t->at, anchors[i].anchor, n) != 0)
            continue;
        if (t->n - t->at > n && strchr("*+?{", t->pattern[t->at + n]))
            return refuse(t, "a repeated anchor");
        t->at += n;
        *ret_done = true;
        return push(t, anchors[i].to, strlen(anchors[i].to));
    }
    return 0;
}

/* An escape: t->at is at the backslash. */
static int translate_escape(struct translation *t)
{
    if (t->n - t->at < 2)
        return refuse(t, "a backslash at the end");
    char c = t->pattern[t->at + 1];
    for (size_t i = 0; i < sizeof rewrites / sizeof rewrites[0]; i++) {
        if (rewrites[i].letter != c)
            continue;
        const char *to = t->in_class ? rewrites[i].in_class : rewrites[i].alone;
        if (!to)
            return refuse(t, "a negated set inside a class");
        t->at += 2;
        return push(t, to, strlen(to));
    }
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    /* The letters that mean the same in both: tab, newlines, a property, \x{...}. */
    if (letter && !strchr("tnrfvpPx", c))
        return refuse(t, "this escape");
    if (c == 'x' && (t->n - t->at < 3 || t->pattern[t->at + 2] != '{'))
        return refuse(t, "\\x without braces");
    if (c == 'v') { /* a single character in Oniguruma, a set in PCRE2 */
        t->at += 2;
        return push(t, "\\x{b}", 5);
    }
    /* With its braces, which are no repetition: \p{L}, \x{2014}. */
    const char *close =
        c == 'p' || c == 'P' || c == 'x' ? memchr(t->pattern + t->at, '}', t->n - t->at) : NULL;
    bool braces = t->n - t->at > 2 && t->pattern[t->at + 2] == '{';
    size_t n = braces && close ? (size_t)(close + 1 - t->pattern) - t->at : 2;
    int r = push(t, t->pattern + t->at, n);
    t->at += n;
    return r;
}

/* "(?": only groups, look-around and the case option mean the same. */
static int check_group(struct translation *t)
{
    static const char *const known[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?i)"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (t->n - t->at >= strlen(known[i]) && strncmp(t->pattern + t->at, known[i], strlen(known[i])) == 0)
            return 0;
    return refuse(t, "this kind of group");
}

static int translate_outside(struct translation *t, char c, char next)
{
    if (c == '}' && (next == '+' || next == '?'))
        return refuse(t, "a suffix to a counted repetition");
    if (c == '(' && next == '*')
        return refuse(t, "a verb");
    if (c == '(' && next == '?') {
        int r = check_group(t);
        if (r)
            return r;
    }
    if (c == '[') {
        t->in_class = true;
        int r = push(t, "[", 1);
        t->at++;
        if (r == 0 && next == '^') {
            t->at++;
            r = push(t, "^", 1);
        }
        if (r == 0 && t->at < t->n && t->pattern[t->at] == ']')
            r = refuse(t, "']' as the first of a class");
        return r;
    }
    t->at++;
    return push(t, &c, 1);
}

static int translate_inside(struct translation *t, char c, char next)
{
    if (c == '[' || (c == '&' && next == '&'))
        return refuse(t, "a class inside a class");
    if (c == ']')
        t->in_class = false;
    t->at++;
    return push(t, &c, 1);
}

static int translate(struct translation *t)
{
    while (t->at < t->n) {
        char c = t->pattern[t->at], next = t->at + 1 < t->n ? t->pattern[t->at + 1] : '\0';
        bool done = false;
        int r = t->in_class ? 0 : translate_anchor(t, &done);
        if (r == 0 && !done)
            r = c == '\\'     ? translate_escape(t)
                : t->in_class ? translate_inside(t, c, next)
                              : translate_outside(t, c, next);
        if (r)
            return r;
    }
    return 0;
}

static int compile(struct regex *re, const struct translation *t)
{
    int code;
    PCRE2_SIZE at;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return -ENOMEM;
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    re->code = pcre2_compile(t->out.data, t->out.n, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code,
                             &at, context);
    pcre2_compile_context_free(context);
    if (!re->code) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(code, message, sizeof message);
        return why_set(t->why, EX_DATAERR, "pattern '%.200s': %s", t->pattern, (const char *)message);
    }
    uint32_t empty;
    if (pcre2_pattern_info(re->code, PCRE2_INFO_MATCHEMPTY, &empty) == 0 && empty)
        return why_set(t->why, EX_DATAERR, "pattern '%.200s' matches the empty text", t->pattern);
    /* Without JIT (not every system allows it) matching is slower and the same. */
    pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);
    return 0;
}

int regex_new(struct regex **ret_regex, const char *pattern, size_t n, struct why *why)
{
    if (n > REGEX_MAX_PATTERN)
        return why_set(why, EX_DATAERR, "a pattern has %zu bytes, at most %d are allowed", n,
                       REGEX_MAX_PATTERN);
    struct regex *re = calloc(1, sizeof *re);
    if (!re)
        return -ENOMEM;
    struct translation t = {.pattern = pattern, .n = n, .why = why};
    buf_init(&t.out, 64 * (size_t)REGEX_MAX_PATTERN);
    int r = translate(&t);
    if (r == 0)
        r = compile(re, &t);
    buf_deinit(&t.out);
    if (r) {
        regex_free(re);
        return r;
    }
    *ret_regex = re;
    return 0;
}

struct regex *regex_free(struct regex *re)
{
    if (re) {
        pcre2_code_free(re->code);
        free(re);
    }
    return NULL;
}

struct regex_state *regex_state_new(const struct regex *re)
{
    struct regex_state *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    state->data = pcre2_match_data_create_from_pattern(re->code, NULL);
    state->context = pcre2_match_context_create(NULL);
    if (!state->data || !state->context)
        return regex_state_free(state);
    pcre2_set_match_limit(state->context, REGEX_MAX_STEPS);
    pcre2_set_heap_limit(state->context, REGEX_MAX_HEAP_KIB);
    return state;
}

struct regex_state *regex_state_free(struct regex_state *state)
{
    if (state) {
        pcre2_match_data_free(state->data);
        pcre2_match_context_free(state->context);
        free(state);
    }
    return NULL;
}

int regex_find(const struct regex *re, struct regex_state *state, const uint8_t *text, size_t n, size_t from,
               size_t *ret_start, size_t *ret_end)
{
    uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    int r = pcre2_match(re->code, text, n, from, options, state->data, state->context);
    if (r == PCRE2_ERROR_JIT_STACKLIMIT)
        r = pcre2_match(re->code, text, n, from, options | PCRE2_NO_JIT, state->data, state->context);
    if (r == PCRE2_ERROR_NOMATCH)
        return REGEX_NONE;
    if (r == PCRE2_ERROR_NOMEMORY)
        return -ENOMEM;
    if (r < 0)
        return REGEX_E_LIMIT;
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(state->data);
    *ret_start = range[0];
    *ret_end = range[1];
    return 0;
}

int regex_replace(const struct regex *re, struct regex_state *state, const uint8_t *text, size_t n,
                  const char *content, size_t n_content, struct buf *out)
{
    for (size_t at = 0, from = 0, to = 0;; at = to) {
        int r = regex_find(re, state, text, n, at, &from, &to);
        if (r == REGEX_NONE)
            return buf_push(out, text + at, n - at);
        if (r == 0)
            r = buf_push(out, text + at, from - at);
        if (r == 0)
            r = buf_push(out, content, n_content);
        if (r)
            return r;
    }
}
