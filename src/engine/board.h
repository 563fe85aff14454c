/* What the engine's thread and the server's both see: the status, and the wish that a step be given up.
 *
 * A cancel travels as mail like everything else. But the engine reads its mail between steps, and a step is
 * long: so whoever mails also says here which job nobody wants any more, and once that is true of all jobs of
 * the present step, the step is aborted. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/engine/engine.h"
#include "src/engine/sched.h"

struct board {
    pthread_mutex_t lock;
    struct engine_status status; /* idle_us is made when it is asked for */
    bool has_work;
    int64_t progress_us;              /* when something was last done */
    uint64_t n_unwanted;              /* calls of board_unwant so far */
    uint64_t step[SCHED_MAX_RUNNING]; /* jobs of the present step that are still wanted */
    int32_t n_step;
    bool quits;
    atomic_bool abort; /* for the forward pass */
};

int board_init(struct board *b); /* 0 or -errno */
void board_deinit(struct board *b);

/* The server's side. board_unwant comes after the mail that says the same. */
void board_status(struct board *b, struct engine_status *ret_status);
void board_unwant(struct board *b, uint64_t job);
/* The engine shall end: the present step is aborted, and no other begins. */
void board_quit(struct board *b);

/* The engine's side. */
void board_set_load(struct board *b, double fraction, const char *phase);
/* why may be NULL. */
void board_set_state(struct board *b, enum engine_state state, int failure, const struct why *why);
/* Copies the counts of jobs, tokens and pages out of *status; has_work: jobs wait or run. */
void board_set_counts(struct board *b, const struct engine_status *status, bool has_work);
/* A step for these jobs begins: the abort flag is down. False: it must not, because the engine quits or
 * because of mail that has not been read: n_read of the cancels and drops have been. */
bool board_step_begin(struct board *b, const uint64_t *jobs, int32_t n_job, uint64_t n_read);
void board_step_end(struct board *b);
