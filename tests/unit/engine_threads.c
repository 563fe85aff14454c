/* The engine under ThreadSanitizer: jobs are submitted, cancelled and dropped from one thread while others
 * load, tokenise, compute and answer. Plain C that speaks TAP, since Criterion does not start under
 * ThreadSanitizer. */
#include "config.h"
#include "src/engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine_util.h"

enum { N_JOB = 120, N_PROMPT = 40 };

static int n_point, n_failed;

static void point(bool ok, const char *name)
{
    printf("%sok %d - %s\n", ok ? "" : "not ", ++n_point, name);
    n_failed += !ok;
}

static struct job_ask *make_ask(uint64_t job)
{
    int32_t ids[N_PROMPT];
    for (int i = 0; i < N_PROMPT; i++)
        ids[i] = 5 + (int32_t)((job * 31 + (uint64_t)i * 7) % 1000);
    switch (job % 4) {
    case 0:
        return util_ask_text(job, JOB_TOKENIZE, "One day there was a child.");
    case 1:
        return util_ask_text(job, JOB_GENERATE, "One day there was a child.");
    default: {
        struct job_ask *ask = util_ask_ids(job, ids, 1 + job % N_PROMPT, 12);
        ask->return_progress = job % 3 == 0;
        ask->logprobs = job % 5 == 0;
        ask->stream = job % 7 != 0;
        return ask;
    }
    }
}

/* Reads notices and asks for the status until all jobs that must end have. */
static void read_all(struct engine *engine, int *n_end, const bool *is_dropped)
{
    int n_left = 0;
    for (int job = 1; job <= N_JOB; job++)
        n_left += !is_dropped[job];
    for (struct notice *notice; n_left > 0 && (notice = util_next(engine));) {
        struct engine_status status;
        engine_status(engine, &status);
        bool ends =
            notice->kind == NOTICE_DONE || notice->kind == NOTICE_FAILED || notice->kind == NOTICE_RESULT;
        if (ends && notice->job >= 1 && notice->job <= N_JOB) {
            n_end[notice->job]++;
            n_left -= !is_dropped[notice->job];
        }
        notice_free(notice);
    }
}

static void run_jobs(int32_t max_running, bool waits_for_load)
{
    struct engine_options options = {
        .model = {.path = util_demo_model(), .device = "cpu", .n_thread = 2, .max_row = 128},
        .max_running = max_running};
    struct engine *engine;
    if (waits_for_load)
        engine = util_start(options.model.path, NULL, max_running);
    else if (engine_start(&engine, &options) != 0)
        exit(1);
    int n_end[N_JOB + 1] = {0};
    bool is_dropped[N_JOB + 1] = {false};
    for (uint64_t job = 1; job <= N_JOB; job++) {
        engine_submit(engine, make_ask(job));
        engine_model(engine);
        if (job % 6 == 0)
            engine_cancel(engine, job - 3);
        if (job % 11 == 0) {
            engine_drop(engine, job - 1);
            is_dropped[job - 1] = true;
        }
    }
    read_all(engine, n_end, is_dropped);
    bool once = true;
    for (int job = 1; job <= N_JOB; job++)
        once &= n_end[job] == 1 || (is_dropped[job] && n_end[job] == 0);
    point(once, "each job ends once");
    engine_free(engine);
}

int main(void)
{
    run_jobs(1, true);
    run_jobs(6, true);
    run_jobs(4, false);
    printf("1..%d\n", n_point);
    return n_failed > 0;
}
