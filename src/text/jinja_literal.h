/* Literals of strings and numbers, as templates spell them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"

/* Reads the string that begins here with its quote. Returns how many bytes it takes; 0 on failure, with
 * *ret_wrong saying what is wrong, or NULL when out of memory. */
size_t jinja_literal_string(const char *text, size_t n, struct arena *arena, const char **ret_text,
                            size_t *ret_n, const char **ret_wrong);
/* The same for a number, which begins with a digit. may_float: a fraction or an exponent may follow. */
size_t jinja_literal_number(const char *text, size_t n, bool may_float, bool *ret_float, int64_t *ret_integer,
                            double *ret_real, const char **ret_wrong);

/* Text as int(text, base) and float(text) read it, white space around it and underscores between digits
 * included. False: it is none. *ret_large: an integer beyond 64 bits. */
bool jinja_literal_parse_int(const char *text, size_t n, int base, int64_t *ret_integer, bool *ret_large);
bool jinja_literal_parse_float(const char *text, size_t n, double *ret_real);
