/* Which jobs run, and which rows a step computes: see sched.h. */
#include "config.h"
#include "src/engine/sched.h"

void sched_init(struct sched *s, int32_t max_running)
{
    *s = (struct sched){.max_running = max_running};
    TAILQ_INIT(&s->text);
    TAILQ_INIT(&s->waiting);
    TAILQ_INIT(&s->running);
}

static struct job_list *list_of(struct sched *s, enum job_state state, int32_t **ret_count)
{
    switch (state) {
    case JOB_TEXT:
        *ret_count = &s->n_text;
        return &s->text;
    case JOB_WAITING:
        *ret_count = &s->n_waiting;
        return &s->waiting;
    default:
        *ret_count = &s->n_running;
        return &s->running;
    }
}

void sched_add(struct sched *s, struct job *job)
{
    int32_t *count;
    struct job_list *list = list_of(s, job->state, &count);
    TAILQ_INSERT_TAIL(list, job, link);
    ++*count;
}

void sched_remove(struct sched *s, struct job *job)
{
    int32_t *count;
    struct job_list *list = list_of(s, job->state, &count);
    TAILQ_REMOVE(list, job, link);
    --*count;
}

void sched_move(struct sched *s, struct job *job, enum job_state state)
{
    int32_t *count;
    if (list_of(s, job->state, &count) == list_of(s, state, &count)) {
        job->state = state;
        return;
    }
    sched_remove(s, job);
    job->state = state;
    sched_add(s, job);
}

static struct job *find_in(const struct job_list *list, uint64_t id)
{
    struct job *job;
    TAILQ_FOREACH(job, list, link)
    {
        if (job->id == id)
            return job;
    }
    return NULL;
}

struct job *sched_find(const struct sched *s, uint64_t id)
{
    struct job *job = find_in(&s->running, id);
    if (!job)
        job = find_in(&s->waiting, id);
    return job ? job : find_in(&s->text, id);
}

struct job *sched_admissible(const struct sched *s, int32_t n_free_page, int32_t n_free_window_page)
{
    struct job *job = TAILQ_FIRST(&s->waiting);
    if (!job || s->n_running >= s->max_running)
        return NULL;
    return job->n_page <= n_free_page && job->n_window_page <= n_free_window_page ? job : NULL;
}

/* Rows of prompts that the next step may have. */
static int32_t prompt_rows(const struct sched *s, int32_t max_row)
{
    if (s->row_us <= 0)
        return SCHED_LEAST_ALONE;
    const bool is_shared = s->n_running > 1;
    const int32_t least = is_shared ? 1 : SCHED_LEAST_ALONE;
    const double n = (is_shared ? SCHED_SHARED_US : SCHED_ALONE_US) / s->row_us;
    return n >= max_row ? max_row : n < least ? least : (int32_t)n;
}

void sched_choose(struct sched *s, struct batch *b)
{
    struct job *job;
    batch_clear(b);
    TAILQ_FOREACH(job, &s->running, link)
    {
        if (job->state == JOB_DECODE && batch_room(b, job, 1) == 1)
            batch_add(b, job, 1);
    }
    int32_t left = prompt_rows(s, b->max_row);
    TAILQ_FOREACH(job, &s->running, link)
    {
        if (job->state != JOB_PREFILL)
            continue;
        int32_t wanted = job->n_prompt - job->pos;
        int32_t n_row = batch_room(b, job, wanted < left ? wanted : left);
        if (n_row == 0)
            break;
        batch_add(b, job, n_row);
        left -= n_row;
    }
}

static double blend(double old, double new)
{
    return old > 0 ? (old + new) / 2 : new;
}

void sched_measure(struct sched *s, int32_t n_row, int64_t us)
{
    if (n_row < SCHED_LEAST_ALONE) {
        s->step_us = blend(s->step_us, (double)us);
        return;
    }
    double added = (double)us - s->step_us;
    s->row_us = blend(s->row_us, (added > 1 ? added : 1) / n_row);
}
