/* JSON objects from standard input, one a line; each gets a line of its own on standard output. */
#pragma once

#include <stdbool.h>

#include "src/base/buf.h"
#include "src/base/err.h"
#include "src/base/jsonread.h"

/* Reads one line's object (the reader is before its first item) and prints the answer, without the end of the
 * line. EX_DATAERR with the sentence, and nothing printed: the answer is {"error": sentence}; -ENOMEM. */
typedef int (*lines_fn)(void *ctx, struct jsonread *reader, struct why *why);

/* Until the end of standard input. 0; EX_IOERR, EX_OSERR: printed. */
int lines_run(lines_fn fn, void *ctx);

/* For such functions: what one member of the object is. 0, EX_DATAERR, -ENOMEM. */
int lines_read_bool(struct jsonread *reader, const char *key, bool *ret);
int lines_read_text(struct jsonread *reader, const char *key, struct buf *ret_text);
/* The object is read to its end; what it lacks is told here. */
int lines_fail_missing(struct jsonread *reader, const char *key);
int lines_fail_unknown(struct jsonread *reader);
