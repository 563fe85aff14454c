/* Text that a command works on: an argument, a file, or standard input. */
#pragma once

#include "proto/msg.h"
#include "src/base/buf.h"

/* Takes the text from `file` if that is not NULL, from the argument if there is one and it is not "-", else
 * from standard input. 0; EX_USAGE where standard input is a terminal and nobody said "-"; EX_NOINPUT,
 * EX_IOERR, EX_DATAERR (longer than a frame may be), printed. */
int input_read(struct buf *ret_text, const char *file, const char *argument);

/* Puts it into a request: as a string where it is UTF-8, as bytes where not (the server then decides). */
void input_write(struct msg_out *out, enum proto_field field, const struct buf *text);
