/* What tests of the engine share: an engine of its own with the demo model, and jobs run to their end. */
#pragma once

#include "src/engine/engine.h"

enum { UTIL_MAX_TOKEN = 1100, UTIL_MAX_TEXT = 64 << 10, UTIL_PATIENCE_MS = 60000 };

/* What came of one job, gathered from its notices. */
struct outcome {
    int n_end;  /* terminal notices: must be 1 */
    int n_late; /* notices behind it: must be 0 */
    int n_token_notice, n_progress;
    enum notice_kind kind; /* of the terminal one */
    enum notice_finish finish;
    char code[32], param[32], message[512], stop_word[300];
    int64_t got, limit, n_prompt, n_generated, first_processed, last_processed, first_position;
    uint64_t seed;
    size_t n_text, n_token, n_logprob, n_prompt_logprob;
    char text[UTIL_MAX_TEXT];
    bool has_content;
    int32_t tokens[UTIL_MAX_TOKEN];
    struct {
        int32_t id;
        float logprob;
        uint32_t n_top, n_byte;
        int32_t top_id;
        float top_logprob;
    } logprobs[UTIL_MAX_TOKEN];
    float prompt_logprobs[UTIL_MAX_TOKEN];
};

/* The demo model's directory in the source tree. */
const char *util_demo_model(void);
/* Starts an engine and waits until it is ready or has failed. level: of the kernels, NULL: the best. Exits on
 * an error. */
struct engine *util_start(const char *path, const char *level, int32_t max_running);
/* A generation of n ids; greedy, at most max_tokens. */
struct job_ask *util_ask_ids(uint64_t job, const int32_t *ids, size_t n, int64_t max_tokens);
/* Of a text. */
struct job_ask *util_ask_text(uint64_t job, enum job_kind kind, const char *text);
/* The next notice, or NULL after UTIL_PATIENCE_MS. The caller frees it. */
struct notice *util_next(struct engine *engine);
/* Adds a notice to what is known of its job, and frees it. */
void util_gather(struct outcome *outcome, struct notice *notice);
/* Reads notices, all of which must be this job's, until it has ended. Owned by the caller. */
struct outcome *util_wait(struct engine *engine, uint64_t job);
/* Submits and waits. */
struct outcome *util_run(struct engine *engine, struct job_ask *ask);
