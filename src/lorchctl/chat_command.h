/* Commands of a conversation: lines that begin with a slash. */
#pragma once

#include <stddef.h>

#include "src/lorchctl/chat.h"

/* Runs "/name arguments". 0; CHAT_LEAVE; a status, printed: it failed; what chat_answer returns. */
int chat_command(struct chat *chat, const char *entry, size_t n);
/* Completes names of commands and of settings: chat_edit.h. */
const char *chat_command_candidate(const char *line, size_t n, size_t i, size_t *ret_from);
