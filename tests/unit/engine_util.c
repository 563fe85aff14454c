/* What tests of the engine share: see engine_util.h. */
#include "config.h"
#include "tests/unit/engine_util.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *sentence)
{
    fprintf(stderr, "engine_util: %s\n", sentence);
    exit(1);
}

const char *util_demo_model(void)
{
    static char path[4096];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/contrib/demo-model", srcdir ? srcdir : ".");
    return path;
}

struct engine *util_start(const char *path, const char *level, int32_t max_running)
{
    struct engine_options options = {
        .model = {.path = path, .device = "cpu", .level = level, .n_thread = 2, .max_row = 256},
        .max_running = max_running,
    };
    struct engine *engine;
    if (engine_start(&engine, &options) != 0)
        fail("no engine");
    for (;;) {
        struct notice *notice = util_next(engine);
        if (!notice)
            fail("the model does not load");
        bool is_loaded = notice->kind == NOTICE_LOADED;
        notice_free(notice);
        if (is_loaded)
            return engine;
    }
}

struct job_ask *util_ask_ids(uint64_t job, const int32_t *ids, size_t n, int64_t max_tokens)
{
    struct job_ask *ask = job_ask_new(JOB_GENERATE);
    int32_t *copy = malloc((n + 1) * sizeof *copy);
    if (!ask || !copy)
        fail("out of memory");
    if (n > 0)
        memcpy(copy, ids, n * sizeof *copy);
    ask->job = job;
    ask->tokens = copy;
    ask->n_token = n;
    ask->max_tokens = max_tokens;
    ask->sampling.temperature = 0;
    ask->return_tokens = true;
    return ask;
}

struct job_ask *util_ask_text(uint64_t job, enum job_kind kind, const char *text)
{
    struct job_ask *ask = job_ask_new(kind);
    if (!ask)
        fail("out of memory");
    ask->job = job;
    ask->text = strdup(text);
    ask->n_text = strlen(text);
    ask->max_tokens = 20;
    ask->sampling.temperature = 0;
    ask->return_tokens = true;
    return ask;
}

struct notice *util_next(struct engine *engine)
{
    for (;;) {
        struct notice *notice = engine_notice(engine);
        struct pollfd wanted = {.fd = engine_fd(engine), .events = POLLIN};
        if (notice || poll(&wanted, 1, UTIL_PATIENCE_MS) <= 0)
            return notice;
    }
}

static void gather_answer(struct outcome *o, const struct notice *n)
{
    if (n->content) {
        o->has_content = true;
        if (o->n_text + n->n_content >= UTIL_MAX_TEXT)
            fail("too much text");
        memcpy(o->text + o->n_text, n->content, n->n_content);
        o->n_text += n->n_content;
    }
    if (o->n_token + n->n_token > UTIL_MAX_TOKEN || o->n_logprob + n->n_logprob > UTIL_MAX_TOKEN)
        fail("too many tokens");
    for (size_t i = 0; i < n->n_token; i++)
        o->tokens[o->n_token++] = n->tokens[i];
    for (size_t i = 0; i < n->n_logprob; i++) {
        const struct notice_logprob *p = &n->logprobs[i];
        o->logprobs[o->n_logprob].id = p->id;
        o->logprobs[o->n_logprob].logprob = p->logprob;
        o->logprobs[o->n_logprob].n_byte = p->n_byte;
        o->logprobs[o->n_logprob].n_top = p->n_top;
        if (p->n_top > 0) {
            o->logprobs[o->n_logprob].top_id = p->top[0].id;
            o->logprobs[o->n_logprob].top_logprob = p->top[0].logprob;
        }
        o->n_logprob++;
    }
}

static void gather_end(struct outcome *o, const struct notice *n)
{
    o->n_end++;
    o->kind = n->kind;
    o->finish = n->finish;
    o->n_prompt = n->n_prompt;
    o->n_generated = n->n_generated;
    o->seed = n->seed;
    o->got = n->got;
    o->limit = n->limit;
    snprintf(o->code, sizeof o->code, "%s", n->code ? n->code : "");
    snprintf(o->param, sizeof o->param, "%s", n->param ? n->param : "");
    snprintf(o->message, sizeof o->message, "%s", n->message);
    snprintf(o->stop_word, sizeof o->stop_word, "%s", n->stop_word ? n->stop_word : "");
    for (size_t i = 0; i < n->n_prompt_logprob; i++)
        o->prompt_logprobs[o->n_prompt_logprob++] = n->prompt_logprobs[i];
}

void util_gather(struct outcome *o, struct notice *n)
{
    o->n_late += o->n_end > 0;
    switch (n->kind) {
    case NOTICE_TOKEN:
        o->n_token_notice++;
        gather_answer(o, n);
        break;
    case NOTICE_PROGRESS:
        if (n->phase == NOTICE_QUEUED && o->first_position == 0)
            o->first_position = n->position;
        if (n->phase == NOTICE_PREFILL) {
            if (o->n_progress++ == 0)
                o->first_processed = n->processed;
            o->last_processed = n->processed;
        }
        break;
    default:
        gather_answer(o, n);
        gather_end(o, n);
        break;
    }
    notice_free(n);
}

struct outcome *util_wait(struct engine *engine, uint64_t job)
{
    struct outcome *o = calloc(1, sizeof *o);
    if (!o)
        fail("out of memory");
    while (o->n_end == 0) {
        struct notice *notice = util_next(engine);
        if (!notice)
            fail("a job does not end");
        if (notice->job != job)
            fail("a notice of another job");
        util_gather(o, notice);
    }
    return o;
}

struct outcome *util_run(struct engine *engine, struct job_ask *ask)
{
    uint64_t job = ask->job;
    if (engine_submit(engine, ask) != 0)
        fail("cannot submit");
    return util_wait(engine, job);
}
