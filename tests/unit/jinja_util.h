/* What the tests of the template engine share: rendering a template with values from JSON. */
#pragma once

#include <stddef.h>

#include "src/text/jinja.h"

/* A template, its values as JSON (NULL: those of all the file's cases), and what it renders; a want that
 * begins with '!' is a part of the sentence it fails with. */
struct jinja_case {
    const char *template, *values, *want;
};

/* Runs every case; one that differs fails the test, and the others still run. */
void jinja_util_check(const struct jinja_case *cases, size_t n, const char *values);

/* Renders n bytes of template with the members of a JSON object as input, at 9 March 2025, 17:04:05. The
 * text, for free(), with inputs between « and » if wanted; NULL where it failed, with the code and sentence.
 */
char *jinja_util_render(const char *template, size_t n, const char *values, const struct jinja_limits *limits,
                        bool show_inputs, int *ret_code, struct why *why);
