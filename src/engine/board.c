/* What the engine's thread and the server's both see: see board.h. */
#include "config.h"
#include "src/engine/board.h"

#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"

int board_init(struct board *b)
{
    *b = (struct board){.has_work = true, .progress_us = clock_us()}; /* loading is work */
    return -pthread_mutex_init(&b->lock, NULL);
}

void board_deinit(struct board *b)
{
    pthread_mutex_destroy(&b->lock);
}

void board_status(struct board *b, struct engine_status *ret_status)
{
    pthread_mutex_lock(&b->lock);
    *ret_status = b->status;
    ret_status->idle_us = b->has_work ? clock_us() - b->progress_us : 0;
    pthread_mutex_unlock(&b->lock);
}

void board_unwant(struct board *b, uint64_t job)
{
    pthread_mutex_lock(&b->lock);
    b->n_unwanted++;
    for (int32_t i = 0; i < b->n_step; i++) {
        if (b->step[i] == job) {
            b->step[i] = b->step[--b->n_step];
            if (b->n_step == 0)
                atomic_store(&b->abort, true);
            break;
        }
    }
    pthread_mutex_unlock(&b->lock);
}

void board_quit(struct board *b)
{
    pthread_mutex_lock(&b->lock);
    b->quits = true;
    atomic_store(&b->abort, true);
    pthread_mutex_unlock(&b->lock);
}

void board_set_load(struct board *b, double fraction, const char *phase)
{
    pthread_mutex_lock(&b->lock);
    b->status.load_fraction = fraction;
    snprintf(b->status.load_phase, sizeof b->status.load_phase, "%s", phase);
    b->progress_us = clock_us();
    pthread_mutex_unlock(&b->lock);
}

void board_set_state(struct board *b, enum engine_state state, int failure, const struct why *why)
{
    pthread_mutex_lock(&b->lock);
    b->status.state = state;
    b->status.failure = failure;
    if (why)
        b->status.why = *why;
    b->has_work = false;
    b->progress_us = clock_us();
    pthread_mutex_unlock(&b->lock);
}

void board_set_counts(struct board *b, const struct engine_status *status, bool has_work)
{
    pthread_mutex_lock(&b->lock);
    struct engine_status *s = &b->status;
    s->n_waiting = status->n_waiting;
    s->n_running = status->n_running;
    s->n_done = status->n_done;
    s->n_failed = status->n_failed;
    s->n_cancelled = status->n_cancelled;
    s->n_prompt_token = status->n_prompt_token;
    s->n_generated_token = status->n_generated_token;
    s->n_page = status->n_page;
    s->n_page_free = status->n_page_free;
    b->has_work = has_work;
    b->progress_us = clock_us();
    pthread_mutex_unlock(&b->lock);
}

bool board_step_begin(struct board *b, const uint64_t *jobs, int32_t n_job, uint64_t n_read)
{
    pthread_mutex_lock(&b->lock);
    bool may = !b->quits && b->n_unwanted <= n_read;
    if (may) {
        memcpy(b->step, jobs, (size_t)n_job * sizeof *jobs);
        b->n_step = n_job;
        atomic_store(&b->abort, false);
    }
    pthread_mutex_unlock(&b->lock);
    return may;
}

void board_step_end(struct board *b)
{
    pthread_mutex_lock(&b->lock);
    b->n_step = 0;
    b->progress_us = clock_us();
    pthread_mutex_unlock(&b->lock);
}
