/* What becomes of a job: see life.h. */
#include "config.h"
#include "src/engine/life.h"

#include <errno.h>

#include "src/base/clock.h"

void life_show_counts(struct run *run)
{
    run->counts.n_waiting = run->sched.n_text + run->sched.n_waiting;
    run->counts.n_running = run->sched.n_running;
    run->counts.n_page = run->pages.n_page;
    run->counts.n_page_free = run->pages.n_free;
    bool is_loading = !run->ready && !run->failure;
    board_set_counts(&run->board, &run->counts,
                     is_loading || run->sched.n_waiting + run->sched.n_running > 0);
}

void life_end(struct run *run, struct job *job, struct notice *notice)
{
    if (!job_is_admitted(job) && !lobby_take(&run->lobby, job->id, NULL))
        notice = notice_free(notice); /* the server's thread has cancelled it already, and told so */
    if (!notice || (notice->kind == NOTICE_DONE && notice->finish == NOTICE_CANCELLED))
        run->counts.n_cancelled++;
    else if (notice->kind == NOTICE_DONE)
        run->counts.n_done++;
    else
        run->counts.n_failed++;
    if (job->state == JOB_TEXT)
        tokenise_drop(&run->tokenise, job->id);
    sched_remove(&run->sched, job);
    batch_forget(&run->batch, job);
    if (job_is_admitted(job)) {
        kvpages_give(&run->pages, job->pages, job->n_page);
        kvpages_give(&run->window_pages, job->window_pages, job->n_window_page);
    }
    job_free(job);
    life_show_counts(run); /* before the notice: who reads the status then finds the job in it */
    if (notice)
        mailbox_push(&run->out, &notice->mail);
}

void life_end_with_last(struct run *run, struct job *job)
{
    struct notice *last = job->last;
    job->last = NULL; /* consumed */
    life_end(run, job, last);
}

int life_fail(struct run *run, struct job *job, const char *code, const char *sentence)
{
    struct notice *notice = notice_new_failed(job->id, code, NULL, -1, -1, "%s", sentence);
    if (!notice)
        return -ENOMEM;
    life_end(run, job, notice);
    return 0;
}

int life_show_positions(struct run *run)
{
    int64_t position = run->sched.n_running;
    struct job *job;
    TAILQ_FOREACH(job, &run->sched.waiting, link)
    {
        if (job->ask->return_progress && job->position != position) {
            struct notice *notice = notice_new(NOTICE_PROGRESS, job->id);
            if (!notice)
                return -ENOMEM;
            notice->phase = NOTICE_QUEUED;
            notice->position = job->position = position;
            notice->total = job->n_prompt;
            mailbox_push(&run->out, &notice->mail);
        }
        position++;
    }
    return 0;
}

int life_show_prefill(struct run *run, const struct job *job)
{
    if (!job->ask->return_progress)
        return 0;
    struct notice *notice = notice_new(NOTICE_PROGRESS, job->id);
    if (!notice)
        return -ENOMEM;
    notice->phase = NOTICE_PREFILL;
    notice->processed = job->pos;
    notice->total = job->n_prompt;
    notice->time_us = clock_us() - job->admitted_us;
    mailbox_push(&run->out, &notice->mail);
    return 0;
}
