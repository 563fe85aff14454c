/* Characters as Python's str sees them: classes, case, what repr() shows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JINJA_CHAR_MAX_CASE = 3 }; /* characters that one becomes when its case changes */

bool jinja_char_is_space(uint32_t c);
bool jinja_char_is_alpha(uint32_t c);
bool jinja_char_is_decimal(uint32_t c);
/* The value of a decimal digit of any script, -1 for another character. */
int jinja_char_decimal(uint32_t c);
bool jinja_char_is_digit(uint32_t c);
bool jinja_char_is_numeric(uint32_t c);
bool jinja_char_is_alnum(uint32_t c);
bool jinja_char_is_printable(uint32_t c);
bool jinja_char_is_upper(uint32_t c);
bool jinja_char_is_lower(uint32_t c);
bool jinja_char_is_title(uint32_t c);
bool jinja_char_is_cased(uint32_t c);
/* Does not count for where a word's last sigma is. */
bool jinja_char_is_case_ignorable(uint32_t c);
/* May begin, may continue a name. */
bool jinja_char_begins_name(uint32_t c);
bool jinja_char_continues_name(uint32_t c);

/* The character in another case: how many of `out` there are. */
size_t jinja_char_lower(uint32_t c, uint32_t out[JINJA_CHAR_MAX_CASE]);
size_t jinja_char_upper(uint32_t c, uint32_t out[JINJA_CHAR_MAX_CASE]);
size_t jinja_char_title(uint32_t c, uint32_t out[JINJA_CHAR_MAX_CASE]);
