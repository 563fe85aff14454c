/* The helper threads: text to ids and back, away from the engine's thread.
 *
 * There are two lanes, one for jobs of ordinary size and one for long ones, so that a text of megabytes keeps
 * nobody's prompt waiting. Both render conversations, and answer all kinds of jobs themselves but
 * generations; such a one goes on to the engine with its ids, or with what is wrong with it. */
#pragma once

#include <stdint.h>

#include "src/base/mailbox.h"
#include "src/engine/job.h"
#include "src/engine/lane.h"
#include "src/engine/served.h"

enum {
    TOKENISE_N_LANE = 2,
    TOKENISE_LONG =
        64 << 10, /* bytes of text, or ids, from which a job is a long one: some milliseconds of work */
};

struct tokenise {
    struct lane lane[TOKENISE_N_LANE];
    const struct served *served;
    struct mailbox *engine, *out; /* where generations go; where answers go */
};

/* Asks may be pushed from now on; nothing is done with them before the start. 0 or -errno. */
int tokenise_init(struct tokenise *t, struct mailbox *engine, struct mailbox *out);
/* Starts the threads. 0 or -errno. */
int tokenise_start(struct tokenise *t, const struct served *served);
/* Ends the threads, after what each of them is at, and frees all. */
void tokenise_deinit(struct tokenise *t);
/* Moves the ask to its lane. */
void tokenise_push(struct tokenise *t, struct job_ask *ask);
/* Nobody wants the job any more: its ask is freed, unless a thread is at it or was. Any thread may. */
void tokenise_drop(struct tokenise *t, uint64_t job);
