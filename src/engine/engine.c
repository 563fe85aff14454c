/* The engine's face to the server: see engine.h. What its thread does is in run.c. */
#include "config.h"
#include "src/engine/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/engine/run.h"

struct engine {
    struct run run;
    pthread_t thread;
    bool runs;
};

static void *run_engine(void *arg)
{
    struct engine *engine = arg;
    run_until_quit(&engine->run);
    return NULL;
}

int engine_start(struct engine **ret_engine, const struct engine_options *options)
{
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return -ENOMEM;
    int r = run_init(&engine->run, options);
    if (r == 0)
        r = -pthread_create(&engine->thread, NULL, run_engine, engine);
    if (r != 0) {
        engine_free(engine);
        return r;
    }
    engine->runs = true;
    *ret_engine = engine;
    return 0;
}

struct engine *engine_free(struct engine *engine)
{
    if (!engine)
        return NULL;
    if (engine->runs) {
        board_quit(&engine->run.board);
        mailbox_push(&engine->run.in, &engine->run.quit.mail);
        pthread_join(engine->thread, NULL);
    }
    run_deinit(&engine->run);
    free(engine);
    return NULL;
}

int engine_fd(const struct engine *engine)
{
    return engine->run.out.fd;
}

struct notice *engine_notice(struct engine *engine)
{
    return (struct notice *)mailbox_pop(&engine->run.out);
}

/* Makes a generation known to the engine, ahead of its ask. */
static int announce(struct engine *engine, const struct job_ask *ask)
{
    const struct lobby_entry entry = {
        .job = ask->job,
        .submitted_us = ask->submitted_us,
        .n_prompt = ask->text ? 0 : (int64_t)ask->n_token,
        .seed = ask->has_seed ? ask->sampling.seed : 0,
    };
    struct job *job = job_new(ask->job);
    if (!job || lobby_add(&engine->run.lobby, &entry) != 0) {
        job_free(job);
        return -ENOMEM;
    }
    job->deadline_us = ask->deadline_us;
    mailbox_push(&engine->run.in, &job->letter.mail);
    return 0;
}

int engine_submit(struct engine *engine, struct job_ask *ask)
{
    ask->submitted_us = clock_us();
    if (ask->kind == JOB_GENERATE && announce(engine, ask) != 0) {
        job_ask_free(ask);
        return -ENOMEM;
    }
    tokenise_push(&engine->run.tokenise, ask);
    return 0;
}

/* Mails that a job is no longer wanted, and says so on the board. */
static int mail_unwanted(struct engine *engine, enum letter_kind kind, uint64_t job)
{
    struct letter *letter = calloc(1, sizeof *letter);
    if (!letter)
        return -ENOMEM;
    letter->kind = kind;
    letter->job = job;
    if (kind == LETTER_DROP)
        tokenise_drop(&engine->run.tokenise, job);
    mailbox_push(&engine->run.in, &letter->mail);
    board_unwant(&engine->run.board, job);
    return 0;
}

int engine_cancel(struct engine *engine, uint64_t job)
{
    struct lobby_entry entry;
    struct notice *notice = notice_new(NOTICE_DONE, job);
    if (!notice)
        return -ENOMEM;
    if (!lobby_take(&engine->run.lobby, job, &entry)) {
        notice_free(notice);
        return mail_unwanted(engine, LETTER_CANCEL, job);
    }
    notice->finish = NOTICE_CANCELLED;
    notice->n_prompt = entry.n_prompt;
    notice->seed = entry.seed;
    notice->timings.queue_us = clock_us() - entry.submitted_us;
    mailbox_push(&engine->run.out, &notice->mail);
    return mail_unwanted(engine, LETTER_DROP, job);
}

int engine_drop(struct engine *engine, uint64_t job)
{
    return mail_unwanted(engine, LETTER_DROP, job);
}

void engine_status(struct engine *engine, struct engine_status *ret_status)
{
    board_status(&engine->run.board, ret_status);
}

const struct model_info *engine_model(const struct engine *engine)
{
    const struct served *served = atomic_load(&engine->run.ready);
    return served ? served->info : NULL;
}

const struct tokenizer *engine_tokenizer(const struct engine *engine)
{
    const struct served *served = atomic_load(&engine->run.ready);
    return served ? served->tokenizer : NULL;
}

bool engine_has_chat(const struct engine *engine)
{
    return atomic_load(&engine->run.ready)->chat;
}

void engine_defaults(const struct engine *engine, struct sampler_params *ret_params)
{
    *ret_params = atomic_load(&engine->run.ready)->defaults;
}

const int32_t *engine_ends(const struct engine *engine, int32_t *ret_n)
{
    const struct served *served = atomic_load(&engine->run.ready);
    *ret_n = served->n_end;
    return served->end;
}
