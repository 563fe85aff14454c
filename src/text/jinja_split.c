/* Splitting strings: see jinja_split.h. */
#include "config.h"
#include "src/text/jinja_split.h"

#include "src/base/utf8.h"
#include "src/text/jinja_char.h"
#include "src/text/jinja_run.h"

static void push_part(struct jinja_run *run, struct jinja_value list, const struct jinja_string *s,
                      size_t from, size_t to)
{
    jinja_run_step(run, 1);
    jinja_value_push(run, list, jinja_string_part(run, s, from, to - from));
}

static size_t skip(const struct jinja_string *s, size_t at, bool space)
{
    while (at < s->n && jinja_char_is_space(utf8_decode((const uint8_t *)s->text + at)) == space)
        at += utf8_length((uint8_t)s->text[at]);
    return at;
}

static size_t skip_back(const struct jinja_string *s, size_t at, bool space)
{
    while (at > 0) {
        const char *c = (const char *)utf8_previous((const uint8_t *)s->text + at);
        if (jinja_char_is_space(utf8_decode((const uint8_t *)c)) != space)
            break;
        at = (size_t)(c - s->text);
    }
    return at;
}

static void split_space(struct jinja_run *run, struct jinja_value list, const struct jinja_string *s,
                        int64_t max)
{
    for (size_t at = skip(s, 0, true), end; at < s->n && !run->code; at = skip(s, end, true)) {
        end = max-- == 0 ? s->n : skip(s, at, false);
        push_part(run, list, s, at, end);
    }
}

static void split_space_back(struct jinja_run *run, struct jinja_value list, const struct jinja_string *s,
                             int64_t max)
{
    for (size_t at = skip_back(s, s->n, true), from; at > 0 && !run->code; at = skip_back(s, from, true)) {
        from = max-- == 0 ? 0 : skip_back(s, at, false);
        push_part(run, list, s, from, at);
    }
}

static void split_at(struct jinja_run *run, struct jinja_value list, const struct jinja_string *s,
                     const struct jinja_string *separator, int64_t max)
{
    size_t at = 0, found;
    while (!run->code && max-- != 0 && (found = jinja_string_find(s, separator, at)) != SIZE_MAX) {
        push_part(run, list, s, at, found);
        at = found + separator->n;
    }
    push_part(run, list, s, at, s->n);
}

static void split_at_back(struct jinja_run *run, struct jinja_value list, const struct jinja_string *s,
                          const struct jinja_string *separator, int64_t max)
{
    size_t end = s->n, found;
    while (!run->code && max-- != 0 && (found = jinja_string_find_last(s, separator, end)) != SIZE_MAX) {
        push_part(run, list, s, found + separator->n, end);
        end = found;
    }
    push_part(run, list, s, 0, end);
}

static void reverse(struct jinja_list *list)
{
    for (size_t i = 0, k = list->n; i + 1 < k; i++) {
        struct jinja_value v = list->items[i];
        list->items[i] = list->items[--k];
        list->items[k] = v;
    }
}

/* For going through a string: a search forward is quicker than looking at each byte. */
static void pay(struct jinja_run *run, const struct jinja_string *s, bool searched)
{
    if (searched)
        jinja_run_move(run, s->n);
    else
        jinja_run_read(run, s->n);
}

struct jinja_value jinja_split(struct jinja_run *run, const struct jinja_string *s,
                               const struct jinja_string *separator, int64_t max)
{
    struct jinja_value list = jinja_value_list(run);
    if (separator && separator->n == 0)
        return jinja_run_fail(run, "empty separator");
    pay(run, s, separator != NULL);
    if (separator)
        split_at(run, list, s, separator, max);
    else
        split_space(run, list, s, max);
    return list;
}

struct jinja_value jinja_split_back(struct jinja_run *run, const struct jinja_string *s,
                                    const struct jinja_string *separator, int64_t max)
{
    struct jinja_value list = jinja_value_list(run);
    if (separator && separator->n == 0)
        return jinja_run_fail(run, "empty separator");
    pay(run, s, false);
    if (separator)
        split_at_back(run, list, s, separator, max);
    else
        split_space_back(run, list, s, max);
    if (!run->code)
        reverse(list.list);
    return list;
}

struct jinja_value jinja_split_lines(struct jinja_run *run, const struct jinja_string *s, bool keep)
{
    struct jinja_value list = jinja_value_list(run);
    pay(run, s, false);
    for (size_t at = 0, next; at < s->n && !run->code; at = next) {
        size_t end = jinja_string_line(s, at, &next);
        push_part(run, list, s, at, keep ? next : end);
    }
    return list;
}

struct jinja_value jinja_split_once(struct jinja_run *run, const struct jinja_string *s,
                                    const struct jinja_string *separator, bool last)
{
    struct jinja_value parts = jinja_value_sequence(run, JINJA_TUPLE, 3);
    if (!separator || separator->n == 0)
        return jinja_run_fail(run, separator ? "empty separator" : "partition needs a str");
    pay(run, s, !last);
    size_t at = last ? jinja_string_find_last(s, separator, s->n) : jinja_string_find(s, separator, 0);
    size_t from = at != SIZE_MAX ? at : last ? 0 : s->n, to = at != SIZE_MAX ? at + separator->n : from;
    push_part(run, parts, s, 0, from);
    push_part(run, parts, s, from, to);
    push_part(run, parts, s, to, s->n);
    return parts;
}
