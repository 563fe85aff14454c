/* Methods of strings: see jinja_method.h. */
#include "config.h"
#include "src/text/jinja_method.h"

#include <string.h>

#include "src/base/utf8.h"
#include "src/text/jinja_braces.h"
#include "src/text/jinja_char.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_run.h"
#include "src/text/jinja_split.h"

#define METHOD(name)                                                                     \
    static struct jinja_value str_##name(struct jinja_run *run, struct jinja_value self, \
                                         const struct jinja_args *args)

/* ---- case ---- */

#define CHANGE(name, change)             \
    METHOD(name)                         \
    {                                    \
        (void)args;                      \
        return change(run, self.string); \
    }

CHANGE(capitalize, jinja_string_capitalize)
CHANGE(lower, jinja_string_lower)
CHANGE(swapcase, jinja_string_swapcase)
CHANGE(title, jinja_string_title)
CHANGE(upper, jinja_string_upper)

/* ---- classes ---- */

typedef bool class_fn(uint32_t c);

static bool is_ascii(uint32_t c)
{
    return c < 0x80;
}

static bool are_all(const struct jinja_string *s, class_fn *is, bool of_empty)
{
    for (size_t i = 0; i < s->n; i += utf8_length((uint8_t)s->text[i]))
        if (!is(utf8_decode((const uint8_t *)s->text + i)))
            return false;
    return s->n > 0 || of_empty;
}

#define ARE_ALL(name, is, of_empty)                                  \
    METHOD(name)                                                     \
    {                                                                \
        (void)args;                                                  \
        jinja_run_read(run, self.string->n);                         \
        return jinja_value_bool(are_all(self.string, is, of_empty)); \
    }

ARE_ALL(isalnum, jinja_char_is_alnum, false)
ARE_ALL(isalpha, jinja_char_is_alpha, false)
ARE_ALL(isascii, is_ascii, true)
ARE_ALL(isdecimal, jinja_char_is_decimal, false)
ARE_ALL(isdigit, jinja_char_is_digit, false)
ARE_ALL(isnumeric, jinja_char_is_numeric, false)
ARE_ALL(isprintable, jinja_char_is_printable, true)
ARE_ALL(isspace, jinja_char_is_space, false)

/* At least one character of this case, and none of another. */
static bool has_case(struct jinja_run *run, const struct jinja_string *s, class_fn *is, class_fn *is_not)
{
    bool found = false;
    jinja_run_read(run, s->n);
    for (size_t i = 0; i < s->n; i += utf8_length((uint8_t)s->text[i])) {
        uint32_t c = utf8_decode((const uint8_t *)s->text + i);
        if (is_not(c) || jinja_char_is_title(c))
            return false;
        found = found || is(c);
    }
    return found;
}

bool jinja_method_is_lower(struct jinja_run *run, const struct jinja_string *s)
{
    return has_case(run, s, jinja_char_is_lower, jinja_char_is_upper);
}

bool jinja_method_is_upper(struct jinja_run *run, const struct jinja_string *s)
{
    return has_case(run, s, jinja_char_is_upper, jinja_char_is_lower);
}

METHOD(islower)
{
    (void)args;
    return jinja_value_bool(jinja_method_is_lower(run, self.string));
}

METHOD(isupper)
{
    (void)args;
    return jinja_value_bool(jinja_method_is_upper(run, self.string));
}

METHOD(istitle)
{
    (void)args;
    const struct jinja_string *s = self.string;
    bool inside = false, found = false;
    jinja_run_read(run, s->n);
    for (size_t i = 0; i < s->n; i += utf8_length((uint8_t)s->text[i])) {
        uint32_t c = utf8_decode((const uint8_t *)s->text + i);
        bool begins = jinja_char_is_upper(c) || jinja_char_is_title(c), goes_on = jinja_char_is_lower(c);
        if ((begins && inside) || (goes_on && !inside))
            return jinja_value_bool(false);
        inside = begins || goes_on;
        found |= inside;
    }
    return jinja_value_bool(found);
}

METHOD(isidentifier)
{
    (void)args;
    const struct jinja_string *s = self.string;
    jinja_run_read(run, s->n);
    return jinja_value_bool(s->n && jinja_char_begins_name(utf8_decode((const uint8_t *)s->text)) &&
                            are_all(s, jinja_char_continues_name, false));
}

/* ---- stripping and filling ---- */

static struct jinja_value strip(struct jinja_run *run, struct jinja_value self, const struct jinja_args *args,
                                enum jinja_side sides)
{
    return jinja_string_strip(run, self.string, jinja_call_string(run, args->v[0]), sides);
}

METHOD(strip)
{
    return strip(run, self, args, JINJA_BOTH);
}

METHOD(lstrip)
{
    return strip(run, self, args, JINJA_LEFT);
}

METHOD(rstrip)
{
    return strip(run, self, args, JINJA_RIGHT);
}

METHOD(removeprefix)
{
    const struct jinja_string *s = self.string, *what = jinja_call_string(run, args->v[0]);
    size_t n = what && jinja_string_starts(s, 0, what) ? what->n : 0;
    return jinja_string_part(run, s, n, s->n - n);
}

METHOD(removesuffix)
{
    const struct jinja_string *s = self.string, *what = jinja_call_string(run, args->v[0]);
    size_t n = what && s->n >= what->n && jinja_string_starts(s, s->n - what->n, what) ? what->n : 0;
    return jinja_string_part(run, s, 0, s->n - n);
}

static struct jinja_value fill(struct jinja_run *run, struct jinja_value self, const struct jinja_args *args,
                               enum jinja_side sides)
{
    struct jinja_string blank = {.text = " ", .n = 1, .n_char = 1};
    const struct jinja_string *s = self.string, *with = jinja_call_string(run, args->v[1]);
    int64_t width = jinja_call_whole(run, args->v[0], 0), all = width - (int64_t)s->n_char;
    with = with ? with : &blank;
    if (with->n_char != 1)
        return jinja_run_fail(run, "The fill character must be exactly one character long");
    all = all > 0 ? all : 0;
    int64_t left = sides == JINJA_LEFT ? all : sides == JINJA_RIGHT ? 0 : all / 2 + (all & width & 1);
    struct jinja_builder b = jinja_string_build(run);
    jinja_string_add_repeated(&b, with, (size_t)left);
    jinja_string_add_all(&b, s);
    jinja_string_add_repeated(&b, with, (size_t)(all - left));
    return jinja_string_done_safe(&b, s->is_safe);
}

METHOD(center)
{
    return fill(run, self, args, JINJA_BOTH);
}

METHOD(ljust)
{
    return fill(run, self, args, JINJA_RIGHT);
}

METHOD(rjust)
{
    return fill(run, self, args, JINJA_LEFT);
}

METHOD(zfill)
{
    const struct jinja_string *s = self.string;
    struct jinja_string zero = {.text = "0", .n = 1, .n_char = 1};
    int64_t n = jinja_call_whole(run, args->v[0], 0) - (int64_t)s->n_char;
    size_t sign = s->n && (s->text[0] == '-' || s->text[0] == '+');
    struct jinja_builder b = jinja_string_build(run);
    jinja_string_add_part(&b, s, 0, sign);
    jinja_string_add_repeated(&b, &zero, n > 0 ? (size_t)n : 0);
    jinja_string_add_part(&b, s, sign, s->n - sign);
    return jinja_string_done_safe(&b, s->is_safe);
}

METHOD(expandtabs)
{
    int64_t size = jinja_call_whole(run, args->v[0], 8), column = 0;
    const struct jinja_string *s = self.string;
    struct jinja_builder b = jinja_string_build(run);
    for (size_t i = 0, n; i < s->n && !run->code; i += n) {
        n = utf8_length((uint8_t)s->text[i]);
        if (s->text[i] == '\t') {
            int64_t blanks = size > 0 ? size - column % size : 0;
            struct jinja_string blank = {
                .text = " ", .n = 1, .n_char = 1, .origin = (uint8_t)jinja_string_origin(s, i)};
            jinja_string_add_repeated(&b, &blank, (size_t)blanks);
            column += blanks;
            continue;
        }
        jinja_string_add_part(&b, s, i, n);
        column = s->text[i] == '\n' || s->text[i] == '\r' ? 0 : column + 1;
    }
    return jinja_string_done_safe(&b, s->is_safe);
}

/* ---- searching ---- */

/* The bytes that start and end (in characters, as slices take them) mean; false where start is behind all. */
static bool window(struct jinja_run *run, const struct jinja_string *s, const struct jinja_value *bounds,
                   size_t *ret_from, size_t *ret_to)
{
    int64_t n = (int64_t)s->n_char, given[2] = {0, n};
    for (int i = 0; i < 2; i++) {
        if (bounds[i].kind != JINJA_NONE)
            given[i] = jinja_call_whole(run, bounds[i], given[i]);
        if (given[i] < 0)
            given[i] = given[i] < -n ? 0 : given[i] + n;
    }
    bool inside = given[0] <= n && given[0] <= given[1];
    *ret_from = jinja_string_offset(s, (size_t)given[0]);
    *ret_to = jinja_string_offset(s, (size_t)given[1]);
    jinja_run_move(run, s->n);
    return inside;
}

/* The character where it is found, or -1. */
static int64_t find(struct jinja_run *run, struct jinja_value self, const struct jinja_args *args, bool last)
{
    const struct jinja_string *s = self.string, *what = jinja_call_string(run, args->v[0]);
    size_t from, to, at;
    if (!what) {
        jinja_run_fail(run, "must be str, not %s", jinja_value_type(args->v[0]));
        return -1;
    }
    if (!window(run, s, args->v + 1, &from, &to))
        return -1;
    if (last) {
        at = jinja_string_find_last(s, what, to);
        at = at != SIZE_MAX && at < from ? SIZE_MAX : at;
    } else {
        at = jinja_string_find(s, what, from);
        at = at != SIZE_MAX && at + what->n > to ? SIZE_MAX : at;
    }
    return at == SIZE_MAX ? -1 : (int64_t)jinja_string_count(s->text, at);
}

METHOD(find)
{
    return jinja_value_int(find(run, self, args, false));
}

METHOD(rfind)
{
    return jinja_value_int(find(run, self, args, true));
}

METHOD(index)
{
    int64_t at = find(run, self, args, false);
    return at < 0 ? jinja_run_fail(run, "substring not found") : jinja_value_int(at);
}

METHOD(rindex)
{
    int64_t at = find(run, self, args, true);
    return at < 0 ? jinja_run_fail(run, "substring not found") : jinja_value_int(at);
}

METHOD(count)
{
    const struct jinja_string *s = self.string, *what = jinja_call_string(run, args->v[0]);
    size_t from, to;
    if (!what)
        return jinja_run_fail(run, "must be str, not %s", jinja_value_type(args->v[0]));
    if (!window(run, s, args->v + 1, &from, &to))
        return jinja_value_int(0);
    if (what->n == 0)
        return jinja_value_int((int64_t)jinja_string_count(s->text + from, to - from) + 1);
    int64_t n = 0;
    while ((from = jinja_string_find(s, what, from)) != SIZE_MAX && from + what->n <= to &&
           jinja_run_step(run, 1)) {
        from += what->n;
        n++;
    }
    return jinja_value_int(n);
}

static bool touches(const struct jinja_string *s, size_t from, size_t to, const struct jinja_string *what,
                    bool at_end)
{
    return to - from >= what->n && jinja_string_starts(s, at_end ? to - what->n : from, what);
}

/* startswith and endswith: one string, or any of a tuple. */
static struct jinja_value has_edge(struct jinja_run *run, struct jinja_value self,
                                   const struct jinja_args *args, bool at_end)
{
    size_t from, to;
    bool inside = window(run, self.string, args->v + 1, &from, &to), found = false;
    struct jinja_value what = args->v[0];
    if (what.kind == JINJA_STRING)
        return jinja_value_bool(inside && touches(self.string, from, to, what.string, at_end));
    if (what.kind != JINJA_TUPLE)
        return jinja_run_fail(run, "first arg must be str or a tuple of str, not %s", jinja_value_type(what));
    for (size_t i = 0; i < what.list->n && !found; i++) {
        const struct jinja_string *s = jinja_call_string(run, what.list->items[i]);
        if (!s)
            return jinja_run_fail(run, "a tuple of str, not of %s", jinja_value_type(what.list->items[i]));
        found = inside && touches(self.string, from, to, s, at_end);
    }
    return jinja_value_bool(found);
}

METHOD(startswith)
{
    return has_edge(run, self, args, false);
}

METHOD(endswith)
{
    return has_edge(run, self, args, true);
}

METHOD(replace)
{
    const struct jinja_string *old = jinja_call_string(run, args->v[0]),
                              *new = jinja_call_string(run, args->v[1]);
    if (!old || !new)
        return jinja_run_fail(run, "replace needs two str");
    return jinja_string_replace(run, self.string, old, new, jinja_call_whole(run, args->v[2], -1));
}

/* ---- splitting ---- */

METHOD(split)
{
    return jinja_split(run, self.string, jinja_call_string(run, args->v[0]),
                       jinja_call_whole(run, args->v[1], -1));
}

METHOD(rsplit)
{
    return jinja_split_back(run, self.string, jinja_call_string(run, args->v[0]),
                            jinja_call_whole(run, args->v[1], -1));
}

METHOD(splitlines)
{
    return jinja_split_lines(run, self.string, jinja_call_flag(run, args->v[0], false));
}

METHOD(partition)
{
    return jinja_split_once(run, self.string, jinja_call_string(run, args->v[0]), false);
}

METHOD(rpartition)
{
    return jinja_split_once(run, self.string, jinja_call_string(run, args->v[0]), true);
}

/* ---- joining and formatting ---- */

METHOD(join)
{
    struct jinja_iter it = jinja_iter_over(run, args->v[0]);
    struct jinja_builder b = jinja_string_build(run);
    struct jinja_value item;
    for (bool first = true; jinja_iter_next(run, &it, &item); first = false) {
        if (item.kind != JINJA_STRING)
            return jinja_run_fail(run, "sequence item: expected str instance, %s found",
                                  jinja_value_type(item));
        if (!first)
            jinja_string_add_all(&b, self.string);
        if (self.string->is_safe)
            jinja_string_add_escaped(&b, item.string);
        else
            jinja_string_add_all(&b, item.string);
    }
    return jinja_string_done_safe(&b, self.string->is_safe);
}

METHOD(format)
{
    return jinja_braces_format(run, self.string, args);
}

const struct jinja_function jinja_method_str[] = {
    {"capitalize", "/", str_capitalize},
    {"center", "/width ?fillchar", str_center},
    {"count", "/sub ?start end", str_count},
    {"endswith", "/suffix ?start end", str_endswith},
    {"expandtabs", "?tabsize", str_expandtabs},
    {"find", "/sub ?start end", str_find},
    {"format", "*", str_format},
    {"index", "/sub ?start end", str_index},
    {"isalnum", "/", str_isalnum},
    {"isalpha", "/", str_isalpha},
    {"isascii", "/", str_isascii},
    {"isdecimal", "/", str_isdecimal},
    {"isdigit", "/", str_isdigit},
    {"isidentifier", "/", str_isidentifier},
    {"islower", "/", str_islower},
    {"isnumeric", "/", str_isnumeric},
    {"isprintable", "/", str_isprintable},
    {"isspace", "/", str_isspace},
    {"istitle", "/", str_istitle},
    {"isupper", "/", str_isupper},
    {"join", "/iterable", str_join},
    {"ljust", "/width ?fillchar", str_ljust},
    {"lower", "/", str_lower},
    {"lstrip", "/?chars", str_lstrip},
    {"partition", "/sep", str_partition},
    {"removeprefix", "/prefix", str_removeprefix},
    {"removesuffix", "/suffix", str_removesuffix},
    {"replace", "/old new ?count", str_replace},
    {"rfind", "/sub ?start end", str_rfind},
    {"rindex", "/sub ?start end", str_rindex},
    {"rjust", "/width ?fillchar", str_rjust},
    {"rpartition", "/sep", str_rpartition},
    {"rsplit", "?sep maxsplit", str_rsplit},
    {"rstrip", "/?chars", str_rstrip},
    {"split", "?sep maxsplit", str_split},
    {"splitlines", "?keepends", str_splitlines},
    {"startswith", "/prefix ?start end", str_startswith},
    {"strip", "/?chars", str_strip},
    {"swapcase", "/", str_swapcase},
    {"title", "/", str_title},
    {"upper", "/", str_upper},
    {"zfill", "/width", str_zfill},
};

const size_t jinja_method_str_n = sizeof jinja_method_str / sizeof jinja_method_str[0];
