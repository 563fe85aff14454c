/* Changing the case of strings as Python does: see jinja_string.h. */
#include "config.h"
#include "src/text/jinja_string.h"

#include <string.h>

#include "src/base/utf8.h"
#include "src/text/jinja_char.h"
#include "src/text/jinja_run.h"

typedef size_t change_fn(uint32_t c, uint32_t out[JINJA_CHAR_MAX_CASE]);

enum { SIGMA = 0x3a3, SMALL_SIGMA = 0x3c3, LAST_SIGMA = 0x3c2 };

static uint32_t code_at(const struct jinja_string *s, size_t at)
{
    return utf8_decode((const uint8_t *)s->text + at);
}

/* Whether the sigma at this place ends a word: a cased character before it, none after it, those that do not
 * count left out (Final_Sigma of the Unicode standard, table 3-17). */
static bool ends_word(struct jinja_run *run, const struct jinja_string *s, size_t at)
{
    bool cased = false;
    for (size_t i = at; i > 0 && !cased && jinja_run_step(run, 1);) {
        i = (size_t)((const char *)utf8_previous((const uint8_t *)s->text + i) - s->text);
        if (jinja_char_is_case_ignorable(code_at(s, i)))
            continue;
        cased = jinja_char_is_cased(code_at(s, i));
        if (!cased)
            return false;
    }
    if (!cased)
        return false;
    for (size_t i = at + 2; i < s->n && jinja_run_step(run, 1); i += utf8_length((uint8_t)s->text[i]))
        if (!jinja_char_is_case_ignorable(code_at(s, i)))
            return !jinja_char_is_cased(code_at(s, i));
    return true;
}

static void add_changed(struct jinja_builder *b, const struct jinja_string *s, size_t at, change_fn *change)
{
    uint32_t c = code_at(s, at), out[JINJA_CHAR_MAX_CASE];
    size_t n = change(c, out);
    if (c == SIGMA && change == jinja_char_lower)
        out[0] = ends_word(b->run, s, at) ? LAST_SIGMA : SMALL_SIGMA;
    for (size_t i = 0; i < n; i++)
        jinja_string_add_code(b, out[i], jinja_string_origin(s, at));
}

static struct jinja_value change_all(struct jinja_run *run, const struct jinja_string *s, change_fn *change)
{
    struct jinja_builder b = jinja_string_build(run);
    jinja_run_read(run, s->n);
    for (size_t i = 0; i < s->n && !jinja_run_has_failed(run); i += utf8_length((uint8_t)s->text[i]))
        add_changed(&b, s, i, change);
    return jinja_string_done_safe(&b, s->is_safe);
}

struct jinja_value jinja_string_lower(struct jinja_run *run, const struct jinja_string *s)
{
    return change_all(run, s, jinja_char_lower);
}

struct jinja_value jinja_string_upper(struct jinja_run *run, const struct jinja_string *s)
{
    return change_all(run, s, jinja_char_upper);
}

struct jinja_value jinja_string_swapcase(struct jinja_run *run, const struct jinja_string *s)
{
    struct jinja_builder b = jinja_string_build(run);
    jinja_run_read(run, s->n);
    for (size_t i = 0; i < s->n && !jinja_run_has_failed(run); i += utf8_length((uint8_t)s->text[i])) {
        uint32_t c = code_at(s, i);
        if (jinja_char_is_upper(c))
            add_changed(&b, s, i, jinja_char_lower);
        else if (jinja_char_is_lower(c))
            add_changed(&b, s, i, jinja_char_upper);
        else
            jinja_string_add_code(&b, c, jinja_string_origin(s, i));
    }
    return jinja_string_done_safe(&b, s->is_safe);
}

struct jinja_value jinja_string_capitalize(struct jinja_run *run, const struct jinja_string *s)
{
    struct jinja_builder b = jinja_string_build(run);
    jinja_run_read(run, s->n);
    for (size_t i = 0; i < s->n && !jinja_run_has_failed(run); i += utf8_length((uint8_t)s->text[i]))
        add_changed(&b, s, i, i == 0 ? jinja_char_title : jinja_char_lower);
    return jinja_string_done_safe(&b, s->is_safe);
}

struct jinja_value jinja_string_title(struct jinja_run *run, const struct jinja_string *s)
{
    struct jinja_builder b = jinja_string_build(run);
    jinja_run_read(run, s->n);
    bool inside = false;
    for (size_t i = 0; i < s->n && !jinja_run_has_failed(run); i += utf8_length((uint8_t)s->text[i])) {
        add_changed(&b, s, i, inside ? jinja_char_lower : jinja_char_title);
        inside = jinja_char_is_cased(code_at(s, i));
    }
    return jinja_string_done_safe(&b, s->is_safe);
}

static bool separates(uint32_t c)
{
    return jinja_char_is_space(c) || (c && c < 0x80 && strchr("-({[<", (int)c));
}

struct jinja_value jinja_string_headline(struct jinja_run *run, const struct jinja_string *s)
{
    struct jinja_builder b = jinja_string_build(run);
    jinja_run_read(run, s->n);
    size_t at = 0;
    while (at < s->n && !jinja_run_has_failed(run)) {
        uint32_t c = code_at(s, at);
        size_t end = at + utf8_length((uint8_t)s->text[at]);
        if (separates(c)) {
            jinja_string_add_part(&b, s, at, end - at);
            at = end;
            continue;
        }
        add_changed(&b, s, at, jinja_char_upper);
        at = end;
        while (end < s->n && !separates(code_at(s, end)))
            end += utf8_length((uint8_t)s->text[end]);
        /* The rest of a word is a text of its own, for sigmas too. */
        struct jinja_value rest = jinja_string_part(run, s, at, end - at);
        jinja_string_add_all(&b, jinja_string_lower(run, rest.string).string);
        at = end;
    }
    return jinja_string_done(&b);
}
