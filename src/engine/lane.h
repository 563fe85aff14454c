/* A helper thread and the jobs that wait for it.
 *
 * Asks are worked on one after the other, in the order they came. One that nobody wants any more is freed
 * where it waits: who asks and goes away leaves neither memory nor work behind. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/engine/job.h"

/* Takes over the ask. */
typedef void (*lane_work)(void *ctx, struct job_ask *ask);

struct lane {
    pthread_mutex_t lock; /* of what follows, up to the thread */
    pthread_cond_t changed;
    struct job_ask_list waiting;
    bool quits;
    pthread_t thread;
    bool is_init, runs;
    lane_work work;
    void *ctx;
};

/* Asks may be pushed from now on; nothing is done with them before the start. 0 or -errno. */
int lane_init(struct lane *lane);
/* Starts the thread. 0 or -errno. */
int lane_start(struct lane *lane, lane_work work, void *ctx);
/* Ends the thread, after the ask that it works on, and frees those that wait. {0} is fine. */
void lane_deinit(struct lane *lane);

/* Moves the ask to the lane. Any thread may. */
void lane_push(struct lane *lane, struct job_ask *ask);
/* Frees the job's ask if it waits; false: it does not, or does not any more. Any thread may. */
bool lane_drop(struct lane *lane, uint64_t job);
