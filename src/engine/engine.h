/* The engine: a thread that owns the model and its KV pages, runs jobs and says what becomes of them.
 *
 *   engine_submit  ->  mailbox  ->  (helper thread: text to ids)  ->  schedule, forward, sample, detokenize
 *   engine_notice   <-  mailbox  <-  notices
 *
 * All functions here are for the server's thread. Nothing in here knows a socket or a frame. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/notice.h"
#include "src/engine/job.h"
#include "src/model/model.h"

struct engine;

enum engine_state { ENGINE_LOADING, ENGINE_READY, ENGINE_FAILED };

struct engine_options {
    struct model_options model;
    int32_t max_queue;   /* jobs that wait: room for them is made at the start, the server refuses more */
    int32_t max_running; /* jobs that share a step at most, up to SCHED_MAX_RUNNING; 0: one after the other */
};

/* A snapshot; counters are since the start. */
struct engine_status {
    enum engine_state state;
    double load_fraction;
    char load_phase[32];
    int failure;    /* ENGINE_FAILED: the exit code for a model that could not be loaded, or -errno */
    struct why why; /* and the sentence */
    int32_t n_waiting, n_running;
    uint64_t n_done, n_failed, n_cancelled;
    uint64_t n_prompt_token, n_generated_token;
    int32_t n_page, n_page_free;
    int64_t idle_us; /* since the engine last made progress while it had work; 0: idle or just now */
};

/* Starts the threads; loading goes on in the background. Strings of the options are kept by the caller as
 * long as the engine. 0 or -errno. */
int engine_start(struct engine **ret_engine, const struct engine_options *options);
/* Stops: running and waiting jobs are dropped without notices; waits for the threads. */
struct engine *engine_free(struct engine *engine);

/* Readable when there are notices. */
int engine_fd(const struct engine *engine);
struct notice *engine_notice(struct engine *engine); /* the next, owned by the caller; NULL: none */

/* Moves the ask to the engine (on failure too). Its job's notices follow. 0 or -ENOMEM. */
int engine_submit(struct engine *engine, struct job_ask *ask);
/* The client's own wish: the job ends with NOTICE_DONE, NOTICE_CANCELLED, at once, unless it has ended
 * already. A tokenize or detokenize just ends with its result. 0 or -ENOMEM. */
int engine_cancel(struct engine *engine, uint64_t job);
/* The client is gone, or the server ends the job for a reason of its own: no notice follows but those that
 * are on their way already, or the one of a tokenize or the like that is being worked on. 0 or -ENOMEM. */
int engine_drop(struct engine *engine, uint64_t job);

void engine_status(struct engine *engine, struct engine_status *ret_status);
/* The model's figures: NULL until ENGINE_READY. */
const struct model_info *engine_model(const struct engine *engine);
/* NULL for a model without tokenizer, or until ENGINE_READY. Read-only. */
const struct tokenizer *engine_tokenizer(const struct engine *engine);
/* Whether conversations can become prompts. Once ENGINE_READY. */
bool engine_has_chat(const struct engine *engine);
/* The sampling values a job gets that names none, with temperature and the others filled in (seed: 0). Once
 * ENGINE_READY. */
void engine_defaults(const struct engine *engine, struct sampler_params *ret_params);
/* All ids that end an answer: the model's and the tokenizer configuration's. Once ENGINE_READY. */
const int32_t *engine_ends(const struct engine *engine, int32_t *ret_n);
