/* What the user enters: lines, or texts of several lines between """ and """. */
#pragma once

#include <stdbool.h>

#include "src/lorchctl/chat_edit.h"

struct chat_line;

/* With a terminal on both sides lines are edited, and remembered where keep_history says so; else standard
 * input is read as it is. NULL: out of memory. */
struct chat_line *chat_line_open(chat_edit_candidate candidate, bool keep_history);
struct chat_line *chat_line_close(struct chat_line *line);
/* A person reads and writes. */
bool chat_line_is_interactive(const struct chat_line *line);
/* Reads an entry, without the quotes and the last line's end; an empty one where Ctrl-C took it back. 0,
 * CHAT_INPUT_END, CHAT_INPUT_INTERRUPTED; EX_DATAERR, printed: it is no UTF-8, or too long. *ret_command: it
 * begins with a slash, and is no quoted text. */
int chat_line_read(struct chat_line *line, struct buf *ret_entry, bool *ret_command);
