/* Strings that know where each byte came from: see jinja_string.h. */
#include "config.h"
#include "src/text/jinja_string.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/text/jinja_char.h"
#include "src/text/jinja_run.h"

static const struct jinja_string empty = {.text = ""};

enum { FIRST_CAPACITY = 64 };

/* ---- building ---- */

struct jinja_builder jinja_string_build(struct jinja_run *run)
{
    return (struct jinja_builder){.run = run};
}

/* Room for n more bytes; the old block stays in the arena, so that doubling wastes as much again. */
static bool reserve(struct jinja_builder *b, size_t n)
{
    if (b->max && n > b->max - b->n) {
        jinja_run_stop(b->run, JINJA_E_LIMIT, "more output than the allowed %zu bytes", b->max);
        return false;
    }
    if (!jinja_run_move(b->run, n))
        return false;
    if (n <= b->capacity - b->n)
        return true;
    size_t capacity = b->capacity ? 2 * b->capacity : FIRST_CAPACITY;
    if (n > capacity - b->n)
        capacity = b->n + n;
    char *text = jinja_run_alloc(b->run, capacity, 1);
    uint8_t *marks = text && b->marks ? jinja_run_alloc(b->run, capacity, 1) : NULL;
    if (!text || (b->marks && !marks))
        return false;
    if (b->n)
        memcpy(text, b->text, b->n);
    if (marks)
        memcpy(marks, b->marks, b->n);
    b->text = text;
    b->marks = marks;
    b->capacity = capacity;
    return true;
}

/* Origins begin to differ: a mark for each byte from here on. */
static bool mix(struct jinja_builder *b)
{
    if (b->marks)
        return true;
    b->marks = jinja_run_alloc(b->run, b->capacity, 1);
    if (!b->marks)
        return false;
    memset(b->marks, b->origin, b->n);
    b->origin = JINJA_MIXED;
    return true;
}

static void append(struct jinja_builder *b, const char *text, size_t n, const uint8_t *marks,
                   enum jinja_origin origin)
{
    if (n == 0 || !reserve(b, n))
        return;
    if (b->n == 0)
        b->origin = (uint8_t)origin;
    if ((marks || b->origin != origin) && !mix(b))
        return;
    memcpy(b->text + b->n, text, n);
    if (marks)
        memcpy(b->marks + b->n, marks, n);
    else if (b->marks)
        memset(b->marks + b->n, origin, n);
    b->n += n;
    b->n_char += jinja_string_count(text, n);
}

void jinja_string_add(struct jinja_builder *b, const char *text, size_t n, enum jinja_origin origin)
{
    append(b, text, n, NULL, origin);
}

void jinja_string_add_code(struct jinja_builder *b, uint32_t code, enum jinja_origin origin)
{
    uint8_t bytes[UTF8_MAX];
    append(b, (char *)bytes, utf8_encode(code, bytes), NULL, origin);
}

void jinja_string_add_format(struct jinja_builder *b, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        append(b, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1, NULL, JINJA_TRUSTED);
}

void jinja_string_add_part(struct jinja_builder *b, const struct jinja_string *s, size_t first, size_t n)
{
    append(b, s->text + first, n, s->marks ? s->marks + first : NULL, s->origin);
}

void jinja_string_add_all(struct jinja_builder *b, const struct jinja_string *s)
{
    jinja_string_add_part(b, s, 0, s->n);
}

void jinja_string_add_escaped(struct jinja_builder *b, const struct jinja_string *s)
{
    if (s->is_safe) {
        jinja_string_add_all(b, s);
        return;
    }
    size_t from = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *escape = s->text[i] == '&'    ? "&amp;"
                             : s->text[i] == '<'  ? "&lt;"
                             : s->text[i] == '>'  ? "&gt;"
                             : s->text[i] == '"'  ? "&#34;"
                             : s->text[i] == '\'' ? "&#39;"
                                                  : NULL;
        if (!escape)
            continue;
        jinja_string_add_part(b, s, from, i - from);
        jinja_string_add(b, escape, strlen(escape), jinja_string_origin(s, i));
        from = i + 1;
    }
    jinja_string_add_part(b, s, from, s->n - from);
}

void jinja_string_add_repeated(struct jinja_builder *b, const struct jinja_string *s, size_t times)
{
    if (s->n == 0)
        return;
    for (size_t i = 0; i < times && jinja_run_step(b->run, 1); i++)
        jinja_string_add_all(b, s);
}

struct jinja_value jinja_string_value(const struct jinja_string *s)
{
    return (struct jinja_value){.kind = JINJA_STRING, .string = s};
}

struct jinja_value jinja_string_done_safe(struct jinja_builder *b, bool is_safe)
{
    struct jinja_string *s = b->n || is_safe ? jinja_run_alloc(b->run, 1, sizeof *s) : NULL;
    if (!s)
        return jinja_string_value(&empty);
    *s = (struct jinja_string){b->n ? b->text : "", b->marks, b->n, b->n_char, b->origin, is_safe};
    return jinja_string_value(s);
}

struct jinja_value jinja_string_done(struct jinja_builder *b)
{
    return jinja_string_done_safe(b, false);
}

/* ---- making ---- */

static struct jinja_value make(struct jinja_run *run, struct jinja_string from)
{
    struct jinja_string *s = from.n || from.is_safe ? jinja_run_alloc(run, 1, sizeof *s) : NULL;
    if (!s)
        return jinja_string_value(&empty);
    *s = from;
    return jinja_string_value(s);
}

struct jinja_value jinja_value_text(struct jinja_run *run, const char *text, size_t n,
                                    enum jinja_origin origin)
{
    size_t valid = utf8_check(text, n);
    if (valid != n)
        return jinja_run_fail(run, "a string is no UTF-8 at its byte %zu", valid);
    jinja_run_move(run, n);
    char *copy = n ? jinja_run_alloc(run, n, 1) : NULL;
    if (!copy)
        return jinja_string_value(&empty);
    memcpy(copy, text, n);
    return make(run,
                (struct jinja_string){
                    .text = copy, .n = n, .n_char = jinja_string_count(copy, n), .origin = (uint8_t)origin});
}

struct jinja_value jinja_string_literal(struct jinja_run *run, const char *text)
{
    size_t n = strlen(text);
    return make(run, (struct jinja_string){.text = text, .n = n, .n_char = jinja_string_count(text, n)});
}

struct jinja_value jinja_string_part(struct jinja_run *run, const struct jinja_string *s, size_t first,
                                     size_t n)
{
    if (n == s->n)
        return jinja_string_value(s);
    jinja_run_move(run, n);
    struct jinja_string part = {.text = s->text + first,
                                .marks = s->marks ? s->marks + first : NULL,
                                .n = n,
                                .n_char = s->n == s->n_char ? n : jinja_string_count(s->text + first, n),
                                .origin = s->origin,
                                .is_safe = s->is_safe};
    return make(run, part);
}

struct jinja_value jinja_string_safe(struct jinja_run *run, const struct jinja_string *s, bool is_safe)
{
    struct jinja_string copy = *s;
    copy.is_safe = is_safe;
    return s->is_safe == is_safe ? jinja_string_value(s) : make(run, copy);
}

/* ---- looking ---- */

bool jinja_string_is(const struct jinja_string *s, const char *text)
{
    return s->n == strlen(text) && memcmp(s->text, text, s->n) == 0;
}

enum jinja_origin jinja_string_origin(const struct jinja_string *s, size_t at)
{
    return s->marks ? s->marks[at] : s->origin;
}

size_t jinja_string_count(const char *text, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (text[i] & 0xc0) != 0x80;
    return count;
}

size_t jinja_string_offset(const struct jinja_string *s, size_t i_char)
{
    if (i_char >= s->n_char)
        return s->n;
    if (s->n == s->n_char)
        return i_char;
    size_t at = 0;
    for (; i_char > 0; i_char--)
        at += utf8_length((uint8_t)s->text[at]);
    return at;
}

size_t jinja_string_find(const struct jinja_string *s, const struct jinja_string *what, size_t from)
{
    if (from > s->n || what->n > s->n - from)
        return SIZE_MAX;
    if (what->n == 0)
        return from;
    const char *found = memmem(s->text + from, s->n - from, what->text, what->n);
    return found ? (size_t)(found - s->text) : SIZE_MAX;
}

size_t jinja_string_find_last(const struct jinja_string *s, const struct jinja_string *what, size_t to)
{
    if (what->n > to)
        return SIZE_MAX;
    if (what->n == 0)
        return to;
    for (size_t at = to - what->n + 1; at-- > 0;)
        if (s->text[at] == what->text[0] && memcmp(s->text + at, what->text, what->n) == 0)
            return at;
    return SIZE_MAX;
}

bool jinja_string_starts(const struct jinja_string *s, size_t at, const struct jinja_string *what)
{
    return at <= s->n && what->n <= s->n - at && memcmp(s->text + at, what->text, what->n) == 0;
}

struct jinja_value jinja_string_replace(struct jinja_run *run, const struct jinja_string *s,
                                        const struct jinja_string *old, const struct jinja_string *new,
                                        int64_t count)
{
    struct jinja_builder b = jinja_string_build(run);
    size_t at = 0;
    struct jinja_value escaped = jinja_value_none();
    if (s->is_safe && !new->is_safe) {
        struct jinja_builder e = jinja_string_build(run);
        jinja_string_add_escaped(&e, new);
        escaped = jinja_string_done(&e);
        new = escaped.string;
    }
    while (count-- != 0 && jinja_run_step(run, 1)) {
        size_t found = jinja_string_find(s, old, at);
        if (found == SIZE_MAX)
            break;
        jinja_string_add_part(&b, s, at, found - at);
        jinja_string_add_all(&b, new);
        at = found + old->n;
        if (old->n > 0)
            continue;
        /* Nothing is found before every character and at the end. */
        if (at == s->n)
            break;
        size_t n = utf8_length((uint8_t)s->text[at]);
        jinja_string_add_part(&b, s, at, n);
        at += n;
    }
    jinja_string_add_part(&b, s, at, s->n - at);
    return jinja_string_done_safe(&b, s->is_safe);
}

static bool is_stripped(const char *c, size_t n, const struct jinja_string *chars)
{
    if (!chars)
        return jinja_char_is_space(utf8_decode((const uint8_t *)c));
    return memmem(chars->text, chars->n, c, n) != NULL;
}

struct jinja_value jinja_string_strip(struct jinja_run *run, const struct jinja_string *s,
                                      const struct jinja_string *chars, enum jinja_side sides)
{
    size_t from = 0, to = s->n;
    while ((sides & JINJA_LEFT) && from < to) {
        size_t n = utf8_length((uint8_t)s->text[from]);
        if (!is_stripped(s->text + from, n, chars))
            break;
        from += n;
    }
    while ((sides & JINJA_RIGHT) && from < to) {
        const char *c = (const char *)utf8_previous((const uint8_t *)s->text + to);
        if (!is_stripped(c, (size_t)(s->text + to - c), chars))
            break;
        to = (size_t)(c - s->text);
    }
    jinja_run_read(run, s->n - (to - from));
    return jinja_string_part(run, s, from, to - from);
}

size_t jinja_string_line(const struct jinja_string *s, size_t at, size_t *ret_next)
{
    while (at < s->n) {
        uint32_t c = utf8_decode((const uint8_t *)s->text + at);
        size_t n = utf8_length((uint8_t)s->text[at]);
        if ((c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029) {
            *ret_next = at + n + (c == '\r' && at + 1 < s->n && s->text[at + 1] == '\n');
            return at;
        }
        at += n;
    }
    *ret_next = s->n;
    return s->n;
}
