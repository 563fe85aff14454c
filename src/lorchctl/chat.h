/* What the parts of `lorchctl chat` share. */
#pragma once

#include <stdbool.h>

#include "src/lorchctl/chat_line.h"
#include "src/lorchctl/chat_talk.h"
#include "src/lorchctl/job.h"
#include "src/lorchctl/options.h"

enum {
    CHAT_LEAVE = -1,       /* the conversation is over, as the user wishes */
    CHAT_INTERRUPTED = -2, /* Ctrl-C stopped an answer */
};

struct chat {
    struct options *options; /* fields are settings: chat_set.h */
    struct chat_talk talk;
    struct chat_line *line;
    bool is_interactive; /* a person reads and writes */
    bool has_stats;
    struct job_stats stats; /* of the last answer */
};
