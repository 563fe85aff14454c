/* Tests of src/engine/engine.c and run.c with the demo model: the lives of jobs. */
#include "config.h"
#include "src/engine/engine.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/clock.h"
#include "tests/unit/engine_util.h"

static const int32_t prompt[] = {0, 3, 355, 309, 262, 305, 324, 682, 270, 262, 848, 18, 1, 4};
enum { N_PROMPT = sizeof prompt / sizeof *prompt, N_LONG = 1000 };

/* With the C kernels, which are so slow that a long job is sure to be still there when it is cancelled. */
static struct engine *start_slow(void)
{
    return util_start(util_demo_model(), "c", 1);
}

static struct job_ask *ask_long_prompt(uint64_t job)
{
    int32_t ids[N_LONG];
    for (int i = 0; i < N_LONG; i++)
        ids[i] = 5 + (i * 37) % 1000;
    struct job_ask *ask = util_ask_ids(job, ids, N_LONG, 20);
    ask->return_progress = true;
    ask->ignore_eos = true;
    return ask;
}

static struct job_ask *ask_long_answer(uint64_t job)
{
    struct job_ask *ask = util_ask_ids(job, prompt, N_PROMPT, 900);
    ask->ignore_eos = true;
    return ask;
}

/* Reads notices until one of this kind comes. */
static void await(struct engine *engine, enum notice_kind kind)
{
    for (bool found = false; !found;) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        found = notice->kind == kind;
        notice_free(notice);
    }
}

Test(engine, tells_what_it_serves)
{
    struct engine_options options = {
        .model = {.path = util_demo_model(), .device = "cpu", .n_thread = 1, .max_row = 64}};
    struct engine *engine;
    cr_assert(engine_start(&engine, &options) == 0);
    await(engine, NOTICE_LOADED);
    struct engine_status status;
    engine_status(engine, &status);
    cr_expect(status.state == ENGINE_READY && status.n_page > 0 && status.n_page_free == status.n_page);
    cr_expect(status.idle_us == 0);
    cr_assert(engine_model(engine));
    cr_expect(engine_model(engine)->n_vocab == 1024 && engine_tokenizer(engine));
    struct sampler_params defaults;
    engine_defaults(engine, &defaults);
    cr_expect(defaults.temperature == 0.7f && defaults.top_p == 0.95f && defaults.top_k == 0);
    cr_expect(defaults.repeat_penalty == 1 && defaults.repeat_last_n == -1 && defaults.typical_p == 1);
    int32_t n_end;
    const int32_t *end = engine_ends(engine, &n_end);
    cr_expect(n_end == 1 && end[0] == 1);
    engine_free(engine);
}

Test(engine, jobs_come_while_it_loads)
{
    struct engine_options options = {
        .model = {.path = util_demo_model(), .device = "cpu", .n_thread = 1, .max_row = 64}};
    struct engine *engine;
    cr_assert(engine_start(&engine, &options) == 0);
    cr_assert(engine_submit(engine, util_ask_ids(1, prompt, N_PROMPT, 3)) == 0);
    struct outcome o = {0};
    bool is_loaded = false;
    while (o.n_end == 0) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        if (notice->job == 1) {
            cr_expect(is_loaded, "nothing is computed before the model is there");
            util_gather(&o, notice);
        } else {
            is_loaded |= notice->kind == NOTICE_LOADED;
            notice_free(notice);
        }
    }
    cr_expect(o.kind == NOTICE_DONE && o.n_token == 3);
    engine_free(engine);
}

Test(engine, a_load_that_fails_is_told_and_so_are_its_jobs)
{
    struct engine_options options = {
        .model = {.path = "/nonexistent/model", .device = "cpu", .n_thread = 1, .max_row = 64}};
    struct engine *engine;
    cr_assert(engine_start(&engine, &options) == 0);
    await(engine, NOTICE_LOADED);
    struct engine_status status;
    engine_status(engine, &status);
    cr_expect(status.state == ENGINE_FAILED && status.failure == EX_NOINPUT);
    cr_expect(strstr(status.why.text, "/nonexistent/model"), "%s", status.why.text);
    cr_expect(engine_model(engine) == NULL && engine_tokenizer(engine) == NULL);
    struct outcome *o = util_run(engine, util_ask_ids(1, prompt, N_PROMPT, 3));
    cr_expect(o->kind == NOTICE_FAILED && strcmp(o->code, "model_unusable") == 0);
    free(o);
    engine_free(engine);
}

Test(engine, ends_while_it_loads_and_while_it_works)
{
    struct engine_options options = {
        .model = {.path = util_demo_model(), .device = "cpu", .level = "c", .n_thread = 2, .max_row = 256}};
    struct engine *engine;
    cr_assert(engine_start(&engine, &options) == 0);
    engine_submit(engine, ask_long_prompt(1));
    engine_free(engine);

    engine = start_slow();
    for (uint64_t job = 1; job < 5; job++)
        engine_submit(engine, ask_long_prompt(job));
    engine_submit(engine, util_ask_text(9, JOB_TOKENIZE, "some text"));
    await(engine, NOTICE_PROGRESS);
    int64_t before = clock_us();
    engine_free(engine);
    cr_expect(clock_us() - before < 2000000, "a step is not waited for");
}

Test(engine, one_job_leaves_nothing_to_the_next)
{
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    struct outcome *a = util_run(engine, util_ask_ids(1, prompt, N_PROMPT, 60));
    struct outcome *b = util_run(engine, ask_long_prompt(2));
    struct outcome *again = util_run(engine, util_ask_ids(3, prompt, N_PROMPT, 60));
    cr_assert(a->n_token > 0 && a->n_token == again->n_token && b->n_token == 20);
    cr_expect(memcmp(a->tokens, again->tokens, a->n_token * sizeof *a->tokens) == 0);
    cr_expect(strcmp(a->text, again->text) == 0);
    free(a);
    free(b);
    free(again);
    engine_free(engine);
}

Test(engine, cancel_in_prefill)
{
    struct engine *engine = start_slow();
    engine_submit(engine, ask_long_prompt(1));
    await(engine, NOTICE_PROGRESS);
    int64_t before = clock_us();
    engine_cancel(engine, 1);
    struct outcome *o = util_wait(engine, 1);
    cr_expect(o->kind == NOTICE_DONE && o->finish == NOTICE_CANCELLED && o->n_generated == 0);
    cr_expect(o->n_prompt == N_LONG && o->last_processed < N_LONG);
    cr_expect(clock_us() - before < 1000000, "%lld us", (long long)(clock_us() - before));
    struct engine_status status;
    engine_status(engine, &status);
    cr_expect(status.n_cancelled == 1 && status.n_page_free == status.n_page && status.n_running == 0);
    free(o);
    o = util_run(engine, util_ask_ids(2, prompt, N_PROMPT, 3)); /* an aborted step has left nothing behind */
    cr_expect(o->finish == NOTICE_STOP_LIMIT && o->tokens[0] == 370 && o->tokens[1] == 341 &&
              o->tokens[2] == 682);
    free(o);
    engine_free(engine);
}

Test(engine, cancel_in_decode)
{
    struct engine *engine = start_slow();
    engine_submit(engine, ask_long_answer(1));
    await(engine, NOTICE_TOKEN);
    engine_cancel(engine, 1);
    engine_cancel(engine, 1); /* twice is once */
    engine_cancel(engine, 77);
    struct outcome *o = util_wait(engine, 1);
    cr_expect(o->kind == NOTICE_DONE && o->finish == NOTICE_CANCELLED);
    cr_expect(o->n_generated >= 1 && o->n_generated < 900);
    cr_expect(o->n_generated == (int64_t)o->n_token + 1, "all tokens were told; one of them was read above");
    free(o);
    engine_free(engine);
}

Test(engine, cancel_in_the_queue)
{
    struct engine *engine = start_slow();
    struct outcome first = {0}, second = {0}, third = {0};
    struct outcome *all[] = {NULL, &first, &second, &third};
    engine_submit(engine, ask_long_answer(1));
    engine_submit(engine, ask_long_prompt(2));
    engine_submit(engine, util_ask_ids(3, prompt, N_PROMPT, 2));
    engine_cancel(engine, 2);
    while (second.n_end == 0) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        util_gather(all[notice->job], notice);
    }
    cr_expect(second.finish == NOTICE_CANCELLED && first.n_end == 0 && third.n_end == 0);
    engine_cancel(engine, 2);
    engine_drop(engine, 2); /* there is no job 2 any more */
    engine_cancel(engine, 1);
    while (third.n_end == 0) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        util_gather(all[notice->job], notice);
    }
    cr_expect(first.finish == NOTICE_CANCELLED && third.finish == NOTICE_STOP_LIMIT && third.n_token == 2);
    engine_free(engine);
}

/* Cancels a job right after the start; whether that was told before the model was there. */
static bool cancel_at_once(struct engine *engine)
{
    struct outcome o = {0};
    bool is_loaded = false;
    engine_submit(engine, ask_long_answer(1));
    engine_cancel(engine, 1);
    while (o.n_end == 0) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        if (notice->job == 1) {
            util_gather(&o, notice);
        } else {
            is_loaded |= notice->kind == NOTICE_LOADED;
            notice_free(notice);
        }
    }
    cr_expect(o.kind == NOTICE_DONE && o.finish == NOTICE_CANCELLED);
    return !is_loaded;
}

/* A cancel does not wait for the load: on a busy machine the model may be there before it is sent, but not
 * every time. */
Test(engine, cancel_while_it_loads)
{
    enum { TRIES = 20 };
    struct engine_options options = {
        .model = {.path = util_demo_model(), .device = "cpu", .n_thread = 1, .max_row = 64}};
    struct engine *engine = NULL;
    bool is_in_time = false;
    for (int i = 0; i < TRIES && !is_in_time; i++) {
        if (engine)
            engine_free(engine);
        cr_assert(engine_start(&engine, &options) == 0);
        is_in_time = cancel_at_once(engine);
    }
    cr_expect(is_in_time, "it waits for the load");
    struct outcome o = {0};
    engine_submit(engine, util_ask_ids(2, prompt, N_PROMPT, 2));
    while (o.n_end == 0) {
        struct notice *notice = util_next(engine);
        cr_assert(notice && notice->job != 1);
        if (notice->job == 2)
            util_gather(&o, notice);
        else
            notice_free(notice);
    }
    cr_expect(o.n_token == 2);
    engine_free(engine);
}

Test(engine, a_dropped_job_says_nothing_more)
{
    struct engine *engine = start_slow();
    engine_submit(engine, ask_long_answer(1));
    engine_submit(engine, ask_long_answer(2));
    engine_submit(engine, util_ask_ids(3, prompt, N_PROMPT, 2));
    await(engine, NOTICE_TOKEN);
    engine_drop(engine, 2);
    engine_drop(engine, 1);
    struct outcome o = {0};
    while (o.n_end == 0) {
        struct notice *notice = util_next(engine);
        cr_assert(notice && (notice->job == 3 || notice->kind == NOTICE_TOKEN));
        if (notice->job == 3)
            util_gather(&o, notice);
        else
            notice_free(notice); /* was on its way already */
    }
    struct engine_status status;
    engine_status(engine, &status);
    cr_expect(status.n_cancelled == 2 && status.n_done == 1 && status.n_page_free == status.n_page);
    engine_free(engine);
}

Test(engine, deadlines)
{
    struct engine *engine = start_slow();
    struct job_ask *ask = ask_long_prompt(1);
    ask->deadline_us = clock_us() + 300000;
    int64_t before = clock_us();
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_FAILED && strcmp(o->code, "deadline_exceeded") == 0);
    cr_expect(clock_us() - before >= 290000 && clock_us() - before < 2000000);
    free(o);
    ask = util_ask_ids(2, prompt, N_PROMPT, 5);
    ask->deadline_us = 1; /* long gone */
    o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_FAILED && strcmp(o->code, "deadline_exceeded") == 0 && o->n_token == 0);
    free(o);
    engine_free(engine);
}

Test(engine, progress_tells_the_place_in_the_line_and_the_prompt)
{
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    struct outcome o[3] = {{0}};
    engine_submit(engine, ask_long_answer(1));
    engine_submit(engine, ask_long_prompt(2));
    while (o[2].n_end == 0) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        util_gather(&o[notice->job], notice);
    }
    cr_expect(o[2].first_position == 1);
    cr_expect(o[2].n_progress > 2 && o[2].first_processed == 0 && o[2].last_processed == N_LONG);
    cr_expect(o[1].n_progress == 0, "not asked for");
    engine_free(engine);
}

/* Many jobs, some cancelled, some dropped. */
static void run_many(int32_t max_running)
{
    enum { N_JOB = 100 };
    struct engine *engine = util_start(util_demo_model(), NULL, max_running);
    struct outcome *o = calloc(N_JOB + 1, sizeof *o);
    cr_assert(o);
    int n_left = N_JOB; /* whose end must be told: a dropped job's may be */
    for (uint64_t job = 1; job <= N_JOB; job++) {
        struct job_ask *ask = util_ask_ids(job, prompt, 1 + job % N_PROMPT, (int64_t)(job % 7));
        engine_submit(engine, ask);
        if (job % 5 == 0)
            engine_cancel(engine, job - 2);
        if (job % 10 == 0) {
            engine_drop(engine, job);
            n_left--;
        }
    }
    while (n_left > 0) {
        struct notice *notice = util_next(engine);
        cr_assert(notice, "%d jobs do not end", n_left);
        uint64_t job = notice->job;
        cr_assert(job >= 1 && job <= N_JOB);
        int n_end = o[job].n_end;
        util_gather(&o[job], notice);
        n_left -= job % 10 != 0 && n_end == 0 && o[job].n_end == 1;
    }
    struct engine_status status;
    do
        engine_status(engine, &status);
    while (status.n_done + status.n_cancelled + status.n_failed < N_JOB);
    for (struct notice *notice; (notice = engine_notice(engine));)
        util_gather(&o[notice->job], notice);
    for (int job = 1; job <= N_JOB; job++) {
        cr_expect(o[job].n_late == 0);
        cr_expect(o[job].n_end == 1 || (job % 10 == 0 && o[job].n_end == 0), "job %d ended %d times", job,
                  o[job].n_end);
        if (o[job].n_end == 1 && o[job].finish != NOTICE_CANCELLED)
            cr_expect((int64_t)o[job].n_token <= job % 7 && o[job].n_generated <= job % 7);
    }
    cr_expect(status.n_page_free == status.n_page && status.n_waiting == 0 && status.n_running == 0);
    free(o);
    engine_free(engine);
}

Test(engine, each_of_many_jobs_ends_once)
{
    run_many(1);
}

Test(engine, each_of_many_jobs_at_once_ends_once)
{
    run_many(8);
}

Test(engine, in_company_a_job_gives_the_same_bits)
{
    enum { N = 4 };
    struct outcome *alone[N + 1], *together = calloc(N + 1, sizeof *together);
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    struct job_ask *asks[2][N + 1];
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t job = 1; job <= N; job++) {
            struct job_ask *ask = util_ask_ids(job, prompt, N_PROMPT - job, 10 + (int64_t)job * 5);
            ask->logprobs = ask->prompt_logprobs = ask->has_seed = ask->ignore_eos = true;
            ask->sampling.seed = job;
            ask->sampling.temperature = 0.8f;
            asks[pass][job] = ask;
        }
    }
    for (uint64_t job = 1; job <= N; job++)
        alone[job] = util_run(engine, asks[0][job]);
    engine_free(engine);

    engine = util_start(util_demo_model(), NULL, N);
    for (uint64_t job = 1; job <= N; job++)
        engine_submit(engine, asks[1][job]);
    for (int n_end = 0; n_end < N;) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        struct outcome *o = &together[notice->job];
        util_gather(o, notice);
        n_end += o->n_end;
    }
    for (int job = 1; job <= N; job++) {
        const struct outcome *a = alone[job], *b = &together[job];
        cr_assert(a->n_token == b->n_token && a->n_token == (size_t)(10 + job * 5));
        cr_expect(memcmp(a->tokens, b->tokens, a->n_token * sizeof *a->tokens) == 0);
        cr_expect(memcmp(a->logprobs, b->logprobs, a->n_token * sizeof *a->logprobs) == 0);
        cr_expect(memcmp(a->prompt_logprobs, b->prompt_logprobs, a->n_prompt_logprob * sizeof(float)) == 0);
        free(alone[job]);
    }
    free(together);
    engine_free(engine);
}
