/* Splitting strings as Python's str does. */
#pragma once

#include "src/text/jinja_string.h"

/* str.split and str.rsplit: at a separator, or at white space where that is NULL, at most max times, any
 * number of times where it is negative. */
struct jinja_value jinja_split(struct jinja_run *run, const struct jinja_string *s,
                               const struct jinja_string *separator, int64_t max);
struct jinja_value jinja_split_back(struct jinja_run *run, const struct jinja_string *s,
                                    const struct jinja_string *separator, int64_t max);
/* str.splitlines: with their ends, if those are kept. */
struct jinja_value jinja_split_lines(struct jinja_run *run, const struct jinja_string *s, bool keep);
/* str.partition and str.rpartition: a tuple of what is before the first or last separator, it, and the rest.
 */
struct jinja_value jinja_split_once(struct jinja_run *run, const struct jinja_string *s,
                                    const struct jinja_string *separator, bool last);
