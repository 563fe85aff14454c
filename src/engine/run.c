/* The engine's thread: see run.h. */
#include "config.h"
#include "src/engine/run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/inbox.h"
#include "src/engine/life.h"
#include "src/engine/step.h"

/* Progress of the load that is worth a notice. */
static const double load_step = 0.01;

int run_init(struct run *run, const struct engine_options *options)
{
    run->options = *options;
    run->quit.kind = LETTER_QUIT;
    sched_init(&run->sched, options->max_running > 0 ? options->max_running : 1);
    int r = board_init(&run->board);
    if (r == 0)
        r = lobby_init(&run->lobby, options->max_queue > 0 ? (size_t)options->max_queue : 0);
    if (r == 0)
        r = mailbox_init(&run->in);
    if (r == 0)
        r = mailbox_init(&run->out);
    if (r == 0)
        r = tokenise_init(&run->tokenise, &run->in, &run->out);
    if (r != 0)
        return r;
    run->last_words = notice_new(NOTICE_LOADED, 0);
    return run->last_words ? 0 : -ENOMEM;
}

static void free_letter(struct run *run, struct letter *letter)
{
    switch (letter->kind) {
    case LETTER_JOB:
        job_free((struct job *)letter);
        break;
    case LETTER_ASK:
        job_ask_free((struct job_ask *)letter);
        break;
    case LETTER_CANCEL:
    case LETTER_DROP:
        free(letter);
        break;
    case LETTER_QUIT:
        run->quits = true;
        break;
    }
}

static void free_jobs(struct job_list *list)
{
    for (struct job *job; (job = TAILQ_FIRST(list));) {
        TAILQ_REMOVE(list, job, link);
        job_free(job);
    }
}

void run_deinit(struct run *run)
{
    tokenise_deinit(&run->tokenise);
    free_jobs(&run->sched.text);
    free_jobs(&run->sched.waiting);
    free_jobs(&run->sched.running);
    if (run->in.last)
        for (struct mail *mail; (mail = mailbox_pop(&run->in));)
            free_letter(run, (struct letter *)mail);
    if (run->out.last)
        for (struct mail *mail; (mail = mailbox_pop(&run->out));)
            notice_free((struct notice *)mail);
    mailbox_deinit(&run->in);
    mailbox_deinit(&run->out);
    board_deinit(&run->board);
    lobby_deinit(&run->lobby);
    notice_free(run->last_words);
    batch_deinit(&run->batch);
    kvpages_deinit(&run->pages);
    kvpages_deinit(&run->window_pages);
    served_deinit(&run->served);
}

/* Serves until the quit letter comes (0) or the engine fails (-errno). */
static int serve(struct run *run)
{
    for (;;) {
        int r = inbox_read(run);
        if (r == 0)
            r = inbox_expire(run);
        if (r == 0 && !run->failure)
            r = step_admit(run);
        if (r != 0 || run->quits)
            return r;
        life_show_counts(run);
        sched_choose(&run->sched, &run->batch);
        if (run->batch.n_part == 0) {
            mailbox_wait(&run->in);
            continue;
        }
        r = step_run(run);
        if (r != 0)
            return r;
    }
}

/* Loading. */

struct loading {
    struct run *run;
    double told;
    char phase[sizeof((struct engine_status *)NULL)->load_phase];
    int result; /* of the mail read meanwhile */
};

static bool on_progress(void *ctx, double fraction, const char *phase)
{
    struct loading *l = ctx;
    board_set_load(&l->run->board, fraction, phase);
    if (fraction >= l->told + load_step || strncmp(phase, l->phase, sizeof l->phase - 1) != 0) {
        struct notice *notice = notice_new(NOTICE_LOADING, 0);
        if (notice)
            mailbox_push(&l->run->out, &notice->mail);
        l->told = fraction;
        strncpy(l->phase, phase, sizeof l->phase - 1);
    }
    l->result = inbox_read(l->run);
    if (l->result == 0)
        l->result = inbox_expire(l->run);
    return l->result == 0 && !l->run->quits;
}

static int load(struct run *run, struct why *why)
{
    struct loading l = {.run = run, .told = -1};
    int r = served_load(&run->served, &run->options.model, on_progress, &l, why);
    if (l.result != 0)
        return l.result;
    assert(r != 0 || kvpages_needed(run->served.info->n_ctx) <= model_n_page(run->served.model));
    if (r == 0)
        r = kvpages_init(&run->pages, model_n_page(run->served.model));
    if (r == 0)
        r = kvpages_init(&run->window_pages, model_n_window_page(run->served.model));
    if (r == 0)
        r = batch_init(&run->batch, run->served.info->max_row, run->sched.max_running);
    if (r == 0)
        r = tokenise_start(&run->tokenise, &run->served);
    return r;
}

static void fail_all(struct run *run, struct job_list *list)
{
    for (struct job *job; (job = TAILQ_FIRST(list));)
        life_end(run, job, notice_new_failed(job->id, run->failure, NULL, -1, -1, "the engine has failed"));
}

/* The engine cannot go on: all jobs fail, the server is told. code as in engine_status.failure, above 0 for a
 * model that could not be loaded; *why may have no sentence yet. */
static void fail(struct run *run, int code, struct why *why)
{
    if (why->text[0] == 0)
        why_set(why, code, "the engine cannot go on: %s", code < 0 ? strerror(-code) : "a step failed");
    run->failure = code > 0 ? "model_unusable" : "internal";
    board_set_state(&run->board, ENGINE_FAILED, code, why);
    fail_all(run, &run->sched.text);
    fail_all(run, &run->sched.waiting);
    fail_all(run, &run->sched.running);
    if (run->last_words)
        mailbox_push(&run->out, &run->last_words->mail);
    run->last_words = NULL; /* consumed */
}

static int say_ready(struct run *run)
{
    struct notice *notice = notice_new(NOTICE_LOADED, 0);
    if (!notice)
        return -ENOMEM;
    atomic_store(&run->ready, &run->served);
    life_show_counts(run);
    board_set_state(&run->board, ENGINE_READY, 0, NULL);
    mailbox_push(&run->out, &notice->mail);
    return 0;
}

void run_until_quit(struct run *run)
{
    struct why why = {""};
    int r = load(run, &why);
    if (r == 0)
        r = say_ready(run);
    if (r != 0)
        fail(run, r, &why);
    while (!run->quits) {
        why.text[0] = 0;
        r = serve(run);
        if (r != 0)
            fail(run, r, &why);
    }
}
