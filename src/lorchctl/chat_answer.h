/* One question of a conversation and its answer. */
#pragma once

#include "src/lorchctl/chat.h"

/* Sends the conversation, streams the answer to standard output and adds it. 0; CHAT_INTERRUPTED: Ctrl-C
 * ended it early, what came is kept; CHAT_LEAVE: pressed twice; a status, printed: there is no answer. */
int chat_answer(struct chat *chat);
