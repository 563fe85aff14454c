/* A conversation: what was said, in order; kept, sent, saved and loaded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/msg.h"
#include "src/base/buf.h"
#include "src/base/err.h"

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT };

struct chat_message {
    enum chat_role role;
    struct buf content, reasoning; /* UTF-8 */
};

/* Of the system there is at most one message, the first. */
struct chat_talk {
    struct chat_message *messages; /* [n], owned */
    size_t n;
};

void chat_talk_deinit(struct chat_talk *talk);
/* "system", "user", "assistant". */
const char *chat_talk_role(enum chat_role role);

/* Adds a message of n bytes; what is valid until the next call is returned; NULL: out of memory, printed. A
 * question that had no answer gives way to the next one. */
struct chat_message *chat_talk_add(struct chat_talk *talk, enum chat_role role, const char *text, size_t n);
/* Replaces what the system says; n 0: it says nothing. */
bool chat_talk_set_system(struct chat_talk *talk, const char *text, size_t n);
/* What it says, or NULL. */
const struct chat_message *chat_talk_system(const struct chat_talk *talk);
/* The last message, if it is of this role; else NULL. */
struct chat_message *chat_talk_last(struct chat_talk *talk, enum chat_role role);
/* Forgets the last message. */
void chat_talk_drop(struct chat_talk *talk);
/* Forgets all but what the system says. */
void chat_talk_clear(struct chat_talk *talk);

/* Puts the messages into a chat request. */
void chat_talk_write(const struct chat_talk *talk, struct msg_out *out);

/* A file with a JSON object: {"format": 1, "messages": [{"role", "content", "reasoning_content"}]}. 0;
 * EX_CANTCREAT, EX_IOERR, with a sentence. */
int chat_talk_save(const struct chat_talk *talk, const char *path, struct why *why);
/* Replaces the conversation by that of a file. 0; EX_NOINPUT, EX_NOPERM, EX_IOERR; EX_DATAERR with line and
 * column: the conversation is then as it was. */
int chat_talk_load(struct chat_talk *talk, const char *path, struct why *why);
