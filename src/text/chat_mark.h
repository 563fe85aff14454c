/* Marks found in a text as it comes, several at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What marks are for; also the order in which they win, should two end with the same byte. */
enum chat_mark_use {
    CHAT_MARK_OPEN_THOUGHTS,
    CHAT_MARK_CLOSE_THOUGHTS,
    CHAT_MARK_ANSWER,
    CHAT_MARK_ANSWER_TOO,
    CHAT_MARK_CALL,
    CHAT_MARK_CALL_TOO,
    CHAT_MARK_CLOSE_CALL,
    CHAT_MARK_N,
};

enum { CHAT_MARK_NONE = -1 };

struct chat_mark {
    const char *text; /* NULL: there is no such mark */
    uint8_t n, matched;
};

/* White space, which may stand next to a mark. */
static inline bool chat_mark_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* text may be NULL; it is referred to. */
void chat_mark_set(struct chat_mark *mark, const char *text);
/* Takes a byte to the marks[CHAT_MARK_N] whose bit (1 << use) is in mask. Returns the one that is complete,
 * or CHAT_MARK_NONE; *ret_longest: how much of the text is the beginning of one. */
int chat_mark_push(struct chat_mark *marks, unsigned mask, char byte, size_t *ret_longest);
/* Forgets what was matched. */
void chat_mark_reset(struct chat_mark *marks);
