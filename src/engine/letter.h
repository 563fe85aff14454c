/* What travels to the engine's threads: every message begins with one of these. */
#pragma once

#include <stdint.h>

#include "src/base/mailbox.h"

enum letter_kind {
    LETTER_JOB,    /* a struct job, to the engine: its ask is on its way there through tokenise */
    LETTER_ASK,    /* a struct job_ask, from tokenise to the engine */
    LETTER_CANCEL, /* to the engine: the client wants the job to end */
    LETTER_DROP,   /* to the engine: nobody wants to hear of the job any more */
    LETTER_QUIT,   /* to the engine: the thread ends */
};

struct letter {
    struct mail mail;
    enum letter_kind kind;
    uint64_t job;
};
