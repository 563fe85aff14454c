/* Mail for the engine, and the passing of time: see inbox.h. */
#include "config.h"
#include "src/engine/inbox.h"

#include <errno.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/engine/admit.h"
#include "src/engine/answer.h"
#include "src/engine/life.h"

static int on_job(struct run *run, struct job *job)
{
    sched_add(&run->sched, job);
    return run->failure ? life_fail(run, job, run->failure, "the engine has failed") : 0;
}

/* An ask comes back from the helper. */
static int on_ask(struct run *run, struct job_ask *ask)
{
    struct job *job = sched_find(&run->sched, ask->job);
    int r = ask->no_memory ? -ENOMEM : 0;
    if (r != 0 || !job) { /* ended meanwhile */
        job_ask_free(ask);
        return r;
    }
    job->ask = ask;
    if (ask->refusal) {
        struct notice *refusal = ask->refusal;
        ask->refusal = NULL; /* consumed */
        life_end(run, job, refusal);
        return 0;
    }
    admit_measure(&run->served, job);
    lobby_note(&run->lobby, job->id, job->n_prompt);
    sched_move(&run->sched, job, JOB_WAITING);
    return 0;
}

/* Of a job that runs; those that do not have been cancelled where they were. */
static int on_cancel(struct run *run, uint64_t id)
{
    struct job *job = sched_find(&run->sched, id);
    if (!job || !job_is_admitted(job))
        return 0;
    int r = answer_finish(job, NOTICE_CANCELLED, &run->out);
    if (r == ANSWER_E_ENDED)
        life_end_with_last(run, job);
    return r < 0 ? r : 0;
}

static void on_drop(struct run *run, uint64_t id)
{
    struct job *job = sched_find(&run->sched, id);
    if (job)
        life_end(run, job, NULL);
}

static int on_letter(struct run *run, struct letter *letter)
{
    int r = 0;
    switch (letter->kind) {
    case LETTER_JOB:
        return on_job(run, (struct job *)letter);
    case LETTER_ASK:
        return on_ask(run, (struct job_ask *)letter);
    case LETTER_CANCEL:
        r = on_cancel(run, letter->job);
        break;
    case LETTER_DROP:
        on_drop(run, letter->job);
        break;
    case LETTER_QUIT:
        run->quits = true;
        return 0;
    }
    run->n_read++;
    free(letter);
    return r;
}

int inbox_read(struct run *run)
{
    int r = 0;
    for (struct mail *mail; r == 0 && !run->quits && (mail = mailbox_pop(&run->in));)
        r = on_letter(run, (struct letter *)mail);
    return r;
}

static int expire(struct run *run, struct job *job)
{
    static const char code[] = "deadline_exceeded", sentence[] = "deadline_ms went by before the job ended";
    if (!job_is_admitted(job))
        return life_fail(run, job, code, sentence);
    notice_fail(job->last, code, NULL, -1, -1, "%s", sentence);
    life_end_with_last(run, job);
    return 0;
}

static int expire_in(struct run *run, struct job_list *list, int64_t now)
{
    int r = 0;
    for (struct job *job = TAILQ_FIRST(list), *next; r == 0 && job; job = next) {
        next = TAILQ_NEXT(job, link);
        if (job->deadline_us != 0 && job->deadline_us <= now)
            r = expire(run, job);
    }
    return r;
}

int inbox_expire(struct run *run)
{
    int64_t now = clock_us();
    int r = expire_in(run, &run->sched.text, now);
    if (r == 0)
        r = expire_in(run, &run->sched.waiting, now);
    return r == 0 ? expire_in(run, &run->sched.running, now) : r;
}
