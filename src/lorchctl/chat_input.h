/* Bytes of standard input, read so that Ctrl-C is noticed. */
#pragma once

#include "src/base/buf.h"

enum {
    CHAT_INPUT_END = 1,         /* no more bytes, or they cannot be read */
    CHAT_INPUT_INTERRUPTED = 2, /* Ctrl-C */
    CHAT_INPUT_SIGNALLED = 3,   /* another signal with a handler came */
};

struct chat_input {
    struct buf bytes; /* read and not taken; from `at` on */
    size_t at;
};

void chat_input_init(struct chat_input *input);
void chat_input_deinit(struct chat_input *input);
/* The next byte. 0, or one of the above. */
int chat_input_byte(struct chat_input *input, char *ret);
