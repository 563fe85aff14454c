/* The engine's thread: loads the model, then reads mail, admits jobs, computes steps and sends what comes of
 * them.
 *
 * It alone touches jobs, pages and the model. What other threads may touch is said at each member. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/engine/batch.h"
#include "src/engine/board.h"
#include "src/engine/engine.h"
#include "src/engine/kvpages.h"
#include "src/engine/lobby.h"
#include "src/engine/sched.h"
#include "src/engine/served.h"
#include "src/engine/tokenise.h"

struct run {
    struct mailbox in;                    /* letters; anybody pushes */
    struct mailbox out;                   /* notices; the server pops */
    struct tokenise tokenise;             /* the server pushes asks */
    struct board board;                   /* shared */
    struct lobby lobby;                   /* shared */
    struct letter quit;                   /* the server pushes it once */
    _Atomic(const struct served *) ready; /* NULL until the model is; what it points to is read by all */

    struct engine_options options;
    struct served served;
    struct sched sched;
    struct kvpages pages, window_pages;
    struct batch batch;
    struct engine_status counts; /* the board has a copy */
    uint64_t n_read;             /* cancels and drops read so far */
    bool quits;                  /* the quit letter was read */
    const char *failure;         /* the code of jobs that are not served any more; NULL: they are */
    struct notice *last_words;   /* what tells the server of a failure, made while there was memory */
};

int run_init(struct run *run, const struct engine_options *options); /* 0 or -errno */
/* Once run_until_quit has returned, or was never called. Works on what a failed init left. */
void run_deinit(struct run *run);
/* The thread. */
void run_until_quit(struct run *run);
