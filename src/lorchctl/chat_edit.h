/* Lines typed at a terminal: edited, completed and remembered by libedit. */
#pragma once

#include <stdbool.h>

#include "src/base/buf.h"
#include "src/lorchctl/chat_input.h"

struct chat_edit;

/* What chat_edit_read returns besides CHAT_INPUT_END and CHAT_INPUT_INTERRUPTED. */
enum { CHAT_EDIT_CLEARED = 10 /* Ctrl-C took away what was typed */ };

/* The i-th way to complete the word that ends a line of n bytes; *ret_from: where the word begins. NULL:
 * there are no more. Valid until the next call. */
typedef const char *(*chat_edit_candidate)(const char *line, size_t n, size_t i, size_t *ret_from);

/* Takes over the terminal while lines are read. path: a file of earlier lines, read now and written by
 * chat_edit_close; NULL: they are forgotten. Returns NULL when memory ran out. */
struct chat_edit *chat_edit_open(struct chat_input *input, chat_edit_candidate candidate, const char *path);
struct chat_edit *chat_edit_close(struct chat_edit *edit);
/* Reads a line, without its end, after showing the prompt. 0, CHAT_INPUT_END, CHAT_INPUT_INTERRUPTED,
 * CHAT_EDIT_CLEARED. */
int chat_edit_read(struct chat_edit *edit, const char *prompt, struct buf *ret_line);
