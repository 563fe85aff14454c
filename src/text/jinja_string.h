/* Strings that know where each byte came from: building, cutting, searching, changing case. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/text/jinja_value.h"

/* Collects bytes with their origins in a run's memory. */
struct jinja_builder {
    struct jinja_run *run;
    char *text;
    uint8_t *marks; /* once origins differ */
    size_t n, n_char, capacity, max;
    uint8_t origin; /* of all bytes so far */
};

struct jinja_builder jinja_string_build(struct jinja_run *run);
void jinja_string_add(struct jinja_builder *b, const char *text, size_t n, enum jinja_origin origin);
void jinja_string_add_code(struct jinja_builder *b, uint32_t code, enum jinja_origin origin);
void jinja_string_add_format(struct jinja_builder *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A whole string, or n bytes of it from `first` on (whole characters). */
void jinja_string_add_all(struct jinja_builder *b, const struct jinja_string *s);
void jinja_string_add_part(struct jinja_builder *b, const struct jinja_string *s, size_t first, size_t n);
/* A string escaped for HTML, unless it is safe already. */
void jinja_string_add_escaped(struct jinja_builder *b, const struct jinja_string *s);
void jinja_string_add_repeated(struct jinja_builder *b, const struct jinja_string *s, size_t times);
/* What was collected; the builder is not used any more. */
struct jinja_value jinja_string_done(struct jinja_builder *b);
struct jinja_value jinja_string_done_safe(struct jinja_builder *b, bool is_safe);

/* A string that shares or owns nothing: text must outlive the run (a literal). */
struct jinja_value jinja_string_literal(struct jinja_run *run, const char *text);
/* n bytes from `first` on, sharing the bytes. */
struct jinja_value jinja_string_part(struct jinja_run *run, const struct jinja_string *s, size_t first,
                                     size_t n);
struct jinja_value jinja_string_value(const struct jinja_string *s);
struct jinja_value jinja_string_safe(struct jinja_run *run, const struct jinja_string *s, bool is_safe);

bool jinja_string_is(const struct jinja_string *s, const char *text);
/* The origin of the byte at an offset. */
enum jinja_origin jinja_string_origin(const struct jinja_string *s, size_t at);
/* Characters of valid UTF-8. */
size_t jinja_string_count(const char *text, size_t n);
/* The byte offset of a character, n for one beyond the end. */
size_t jinja_string_offset(const struct jinja_string *s, size_t i_char);
/* Offset of what in s at `from` or after it, or before `to`, the last one; SIZE_MAX: not there. */
size_t jinja_string_find(const struct jinja_string *s, const struct jinja_string *what, size_t from);
size_t jinja_string_find_last(const struct jinja_string *s, const struct jinja_string *what, size_t to);
bool jinja_string_starts(const struct jinja_string *s, size_t at, const struct jinja_string *what);

/* str.replace: at most count times, all where it is negative. */
struct jinja_value jinja_string_replace(struct jinja_run *run, const struct jinja_string *s,
                                        const struct jinja_string *old, const struct jinja_string *new,
                                        int64_t count);

/* Python's strip: of the characters in `chars`, or white space where that is NULL. */
enum jinja_side { JINJA_LEFT = 1, JINJA_RIGHT = 2, JINJA_BOTH = 3 };
struct jinja_value jinja_string_strip(struct jinja_run *run, const struct jinja_string *s,
                                      const struct jinja_string *chars, enum jinja_side sides);

/* The end of the line at `at`: where its text ends, and in *ret_next where the next one begins (line breaks
 * as Python's splitlines knows them). */
size_t jinja_string_line(const struct jinja_string *s, size_t at, size_t *ret_next);

struct jinja_value jinja_string_lower(struct jinja_run *run, const struct jinja_string *s);
struct jinja_value jinja_string_upper(struct jinja_run *run, const struct jinja_string *s);
struct jinja_value jinja_string_swapcase(struct jinja_run *run, const struct jinja_string *s);
/* First character as a title's, the rest small. */
struct jinja_value jinja_string_capitalize(struct jinja_run *run, const struct jinja_string *s);
/* str.title(): each run of cased characters so. */
struct jinja_value jinja_string_title(struct jinja_run *run, const struct jinja_string *s);
/* The filter `title`: words begin after white space, '-' and brackets. */
struct jinja_value jinja_string_headline(struct jinja_run *run, const struct jinja_string *s);
