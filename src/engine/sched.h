/* Which jobs run, and which rows a step computes: plain functions of jobs and limits, no model, no threads.
 *
 * Jobs are admitted in the order of their arrival, one never overtakes another: a long job waits for room, it
 * does not starve. A step takes one row of every job that decodes, and of prompts as many rows as pass in
 * about SCHED_SHARED_US, so that no job waits much longer for another's prompt. A job that runs alone takes
 * larger pieces, because each step reads all weights once. Results do not depend on any of these choices,
 * only times do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "src/engine/batch.h"
#include "src/engine/job.h"

enum {
    SCHED_MAX_RUNNING = 32, /* half of the logits that a step can deliver */
    SCHED_SHARED_US =
        50000, /* what prompts may add to a step of several jobs: half of what a cancel may take */
    SCHED_ALONE_US = 500000, /* to that of one: its cancel aborts the step, only its progress is told later */
    SCHED_LEAST_ALONE = 16, /* rows of a prompt that runs alone, however slow; also of the first piece, before
                               anything was measured. Picked, not measured */
};

struct sched {
    struct job_list text;    /* JOB_TEXT */
    struct job_list waiting; /* JOB_WAITING, in order of arrival */
    struct job_list running; /* JOB_PREFILL, JOB_DECODE, in order of admission */
    int32_t n_text, n_waiting, n_running;
    int32_t max_running;
    double step_us, row_us; /* measured: a step of few rows; what each row of a long one adds. 0: not yet */
};

/* max_running: 1 to SCHED_MAX_RUNNING. */
void sched_init(struct sched *s, int32_t max_running);

/* Puts a new job into the list of its state. */
void sched_add(struct sched *s, struct job *job);
/* Takes it out of its list. */
void sched_remove(struct sched *s, struct job *job);
/* Moves it to the end of the list of another state; within the running ones it keeps its place. */
void sched_move(struct sched *s, struct job *job, enum job_state state);
/* The job of this number, or NULL. */
struct job *sched_find(const struct sched *s, uint64_t id);

/* The job to be admitted next, if one waits and the pages of both kinds that it will need are free; else
 * NULL. */
struct job *sched_admissible(const struct sched *s, int32_t n_free_page, int32_t n_free_window_page);
/* Chooses the next step's rows; the batch stays empty if nothing runs. */
void sched_choose(struct sched *s, struct batch *b);
/* Tells that a step of n_row rows took so long: the next piece of a prompt follows. */
void sched_measure(struct sched *s, int32_t n_row, int64_t us);
