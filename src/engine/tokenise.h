/* The helper threads: text to ids and back, away from the engine's thread.
 *
 * There are two lanes, one for jobs of ordinary size and one for long ones, so that a text of megabytes keeps
 * nobody's prompt waiting. Both render conversations, and answer all kinds of jobs themselves but
 * generations; such a one goes on to the engine with its ids, or with what is wrong with it. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "src/base/mailbox.h"
#include "src/engine/job.h"
#include "src/engine/served.h"

enum {
    TOKENISE_N_LANE = 2,
    TOKENISE_LONG =
        64 << 10, /* bytes of text, or ids, from which a job is a long one: some milliseconds of work */
};

struct tokenise_lane {
    struct mailbox box; /* of letters: LETTER_ASK, LETTER_QUIT */
    struct letter quit;
    pthread_t thread;
    bool runs;
    const struct served *served;
    struct mailbox *engine, *out; /* where generations go; where answers go */
};

struct tokenise {
    struct tokenise_lane lane[TOKENISE_N_LANE];
};

/* Asks may be pushed from now on; nothing is done with them before the start. 0 or -errno. */
int tokenise_init(struct tokenise *t, struct mailbox *engine, struct mailbox *out);
/* Starts the threads. 0 or -errno. */
int tokenise_start(struct tokenise *t, const struct served *served);
/* Ends the threads, after the jobs that they already have, and frees all. */
void tokenise_deinit(struct tokenise *t);
/* Moves the ask to its lane. */
void tokenise_push(struct tokenise *t, struct job_ask *ask);
