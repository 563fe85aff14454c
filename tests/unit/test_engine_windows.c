/* Jobs of a model whose layers attend to a window: pages that are used again, job after job. */
#include "config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support.h"
#include "tests/unit/engine_util.h"

enum { N_CTX = 1024, N_PROMPT = 700, N_ANSWER = N_CTX - N_PROMPT };

/* The demo model with a window of 100 positions: Mistral is Llama with a window. */
static void make_model(char ret_dir[SUPPORT_PATH])
{
    static const char config[] =
        "{\"model_type\": \"mistral\", \"vocab_size\": 1024, \"hidden_size\": 256, "
        "\"intermediate_size\": 512, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, "
        "\"num_key_value_heads\": 2, \"max_position_embeddings\": 1024, \"rms_norm_eps\": 1e-05, "
        "\"tie_word_embeddings\": true, \"eos_token_id\": 1, \"sliding_window\": 100}";
    char source[SUPPORT_PATH], absolute[SUPPORT_PATH], name[SUPPORT_PATH + 32];
    support_dir_make(ret_dir);
    support_write(ret_dir, "config.json", config, sizeof config - 1);
    support_source(source, "contrib/demo-model/model.safetensors");
    cr_assert(realpath(source, absolute), "%s: %m", source);
    snprintf(name, sizeof name, "%s/model.safetensors", ret_dir);
    cr_assert_eq(symlink(absolute, name), 0, "%m");
}

static struct engine *start(const char *dir, int32_t n_ctx, int32_t max_row)
{
    struct engine_options options = {
        .model = {.path = dir, .device = "cpu", .n_ctx = n_ctx, .n_thread = 2, .max_row = max_row},
        .max_running = 2};
    struct engine *engine;
    cr_assert(engine_start(&engine, &options) == 0);
    for (bool is_loaded = false; !is_loaded;) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        is_loaded = notice->kind == NOTICE_LOADED;
        notice_free(notice);
    }
    struct engine_status status;
    engine_status(engine, &status);
    cr_assert(status.state == ENGINE_READY, "%s", status.why.text);
    return engine;
}

/* A job that fills the whole context. */
static struct job_ask *ask_of(uint64_t job)
{
    int32_t prompt[N_PROMPT];
    for (int i = 0; i < N_PROMPT; i++)
        prompt[i] = 3 + (i * 37 + i / 100 + (int)job * 5) % 1000;
    struct job_ask *ask = util_ask_ids(job, prompt, N_PROMPT, N_ANSWER);
    ask->ignore_eos = ask->logprobs = ask->prompt_logprobs = true;
    return ask;
}

static void expect_same(const struct outcome *a, const struct outcome *b)
{
    cr_assert(a->kind == NOTICE_DONE && b->kind == NOTICE_DONE, "%s%s", a->message, b->message);
    cr_assert(a->n_token == N_ANSWER && b->n_token == N_ANSWER);
    cr_expect(memcmp(a->tokens, b->tokens, N_ANSWER * sizeof *a->tokens) == 0);
    cr_expect(memcmp(a->logprobs, b->logprobs, N_ANSWER * sizeof *a->logprobs) == 0);
    cr_expect(memcmp(a->prompt_logprobs, b->prompt_logprobs, (N_PROMPT - 1) * sizeof(float)) == 0);
}

/* Steps of 16 rows and a window of 100 need two pages, however many the context has; the rest is the parts of
 * attention, far less than a page. */
Test(engine_windows, memory_does_not_grow_with_the_context)
{
    static const struct {
        int32_t n_ctx, max_row;
        uint64_t n_page;
    } cases[] = {{64, 16, 1}, {128, 16, 2}, {256, 16, 2}, {N_CTX, 16, 2}, {N_CTX, 64, 3}, {N_CTX, N_CTX, 16}};
    enum { PAGE_BYTES = 4 * 2 * 2 * 64 * 64 * sizeof(float) }; /* layers, KV heads, keys and values */
    char dir[SUPPORT_PATH];
    make_model(dir);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct engine *engine = start(dir, cases[i].n_ctx, cases[i].max_row);
        cr_expect_eq(engine_model(engine)->kv_bytes / PAGE_BYTES, cases[i].n_page, "case %zu", i);
        engine_free(engine);
    }
    support_dir_remove(dir);
}

/* Against an engine with a window page for each page of the context. */
Test(engine_windows, jobs_on_few_pages)
{
    char dir[SUPPORT_PATH];
    make_model(dir);
    struct engine *engine = start(dir, 0, N_CTX);
    struct outcome *want[3];
    for (uint64_t job = 1; job <= 2; job++)
        want[job] = util_run(engine, ask_of(job));
    cr_expect(memcmp(want[1]->tokens, want[2]->tokens, N_ANSWER * sizeof(int32_t)) != 0);
    engine_free(engine);

    engine = start(dir, 0, 16);
    /* At once, on the pages of one: each waits for those of the job before. */
    struct outcome *got = calloc(4, sizeof *got);
    cr_assert(got);
    for (uint64_t job = 1; job <= 3; job++) {
        struct job_ask *ask = ask_of(job == 3 ? 1 : job);
        ask->job = job;
        cr_assert(engine_submit(engine, ask) == 0);
    }
    for (int n_end = 0; n_end < 3;) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        struct outcome *o = &got[notice->job];
        util_gather(o, notice);
        n_end += o->n_end;
    }
    expect_same(want[1], &got[1]);
    expect_same(want[2], &got[2]);
    expect_same(want[1], &got[3]);
    engine_free(engine);
    free(want[1]);
    free(want[2]);
    free(got);
    support_dir_remove(dir);
}
