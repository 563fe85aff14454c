/* One step: see step.h. */
#include "config.h"
#include "src/engine/step.h"

#include <errno.h>

#include "src/base/clock.h"
#include "src/engine/admit.h"
#include "src/engine/answer.h"
#include "src/engine/inbox.h"
#include "src/engine/life.h"

/* The job has what it needs. 0 or -ENOMEM. */
static int begin(struct run *run, struct job *job)
{
    sched_move(&run->sched, job, JOB_PREFILL);
    if (lobby_take(&run->lobby, job->id, NULL))
        return life_show_prefill(run, job);
    life_end(run, job, NULL); /* cancelled meanwhile */
    return 0;
}

int step_admit(struct run *run)
{
    for (struct job *job;
         (job = sched_admissible(&run->sched, run->pages.n_free, run->window_pages.n_free));) {
        int r = admit_job(&run->served, &run->pages, &run->window_pages, job);
        if (r == 0)
            r = begin(run, job);
        else /* what this job needs is not to be had: others may need less */
            r = life_fail(run, job, "internal", "out of memory");
        if (r != 0)
            return r;
    }
    return life_show_positions(run);
}

/* The rows of a prompt have been computed. 0, ANSWER_E_ENDED, -ENOMEM. */
static int take_prompt(struct run *run, const struct batch_part *part)
{
    struct job *job = part->job;
    run->counts.n_prompt_token += (uint64_t)part->n_row;
    for (int32_t i = 0; job->ask->prompt_logprobs && i < part->n_logit; i++) {
        int32_t pos = part->pos + i + 1;
        if (pos == job->n_prompt)
            break; /* the token after the prompt is drawn */
        int r = answer_prompt(&run->served, job, pos, model_logits(run->served.model, part->logit + i));
        if (r != 0)
            return r;
    }
    int r = life_show_prefill(run, job);
    if (r != 0 || job->pos < job->n_prompt)
        return r;
    job->first_us = clock_us();
    sched_move(&run->sched, job, JOB_DECODE);
    return job->max_tokens == 0 ? answer_finish(job, NOTICE_STOP_LIMIT, &run->out) : 0;
}

/* The rows of one job have been computed. */
static int take_part(struct run *run, const struct batch_part *part)
{
    struct job *job = part->job;
    job->pos += part->n_row;
    int r = job->state == JOB_PREFILL ? take_prompt(run, part) : 0;
    if (r == 0 && job->state == JOB_DECODE) {
        const float *logits = model_logits(run->served.model, part->logit + part->n_logit - 1);
        r = answer_draw(&run->served, job, logits, &run->out);
        run->counts.n_generated_token += r >= 0;
    }
    if (r == ANSWER_E_ENDED)
        life_end_with_last(run, job);
    return r < 0 ? r : 0;
}

/* Computes the batch; leaves no parts in it if it was given up. 0 or -errno. */
static int compute(struct run *run)
{
    struct batch *b = &run->batch;
    uint64_t jobs[SCHED_MAX_RUNNING];
    for (int32_t i = 0; i < b->n_part; i++)
        jobs[i] = b->part[i].job->id;
    if (!board_step_begin(&run->board, jobs, b->n_part, run->n_read)) {
        batch_clear(b);
        return 0;
    }
    const struct model_batch rows = batch_model(b);
    const int64_t start = clock_us();
    int r = model_forward(run->served.model, &rows, &run->board.abort);
    board_step_end(&run->board);
    if (r != 0) {
        batch_clear(b);
        return r == LK_E_ABORTED ? 0 : r;
    }
    sched_measure(&run->sched, b->n_row, clock_us() - start);
    return 0;
}

int step_run(struct run *run)
{
    int r = compute(run);
    if (r == 0)
        r = inbox_read(run); /* whoever was cancelled meanwhile gets nothing more out of this step */
    for (int32_t i = 0; r == 0 && i < run->batch.n_part; i++)
        if (run->batch.part[i].job)
            r = take_part(run, &run->batch.part[i]);
    batch_clear(&run->batch);
    return r;
}
