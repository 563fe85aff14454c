/* JSON out of values, as Python's json.dumps writes it, and values out of JSON. */
#pragma once

#include "src/base/err.h"
#include "src/text/jinja_value.h"

/* options: ensure_ascii, indent, separators, sort_keys, each may be MISSING. */
struct jinja_value jinja_json_write(struct jinja_run *run, struct jinja_value v,
                                    const struct jinja_value options[4]);

/* Reads n bytes of JSON; strings (keys, too) get this origin, and of equal keys the last one counts. 0,
 * EX_DATAERR with the place, -ENOMEM. */
int jinja_json_read(struct jinja_run *run, const char *text, size_t n, enum jinja_origin origin,
                    struct jinja_value *ret_value, struct why *why);
