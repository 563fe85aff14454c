/* Tests of src/engine/answer.c, through an engine with the demo model: what comes out of a job. */
#include "config.h"
#include "src/engine/answer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/json.h"
#include "tests/unit/engine_util.h"

static const int32_t prompt[] = {0, 3, 355, 309, 262, 305, 324, 682, 270, 262, 848, 18, 1, 4};
enum { N_PROMPT = sizeof prompt / sizeof *prompt };

static struct engine *engine;

static void start(void)
{
    engine = util_start(util_demo_model(), NULL, 1);
}

static void stop(void)
{
    engine_free(engine);
}

TestSuite(answer, .init = start, .fini = stop);

static size_t read_ids(const struct json *array, int32_t *ids)
{
    size_t n = 0;
    for (const struct json *v = json_first(array); v && n < UTIL_MAX_TOKEN; v = json_next(v))
        ids[n++] = (int32_t)json_number(v, -1);
    return n;
}

Test(answer, greedy_gives_what_the_reference_gives)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/reference.json", util_demo_model());
    struct json *root;
    struct why why;
    cr_assert(json_read_file(&root, path, 1 << 20, &why) == 0, "%s", why.text);
    uint64_t job = 1;
    for (const struct json *c = json_first(json_get(root, "cases")); c; c = json_next(c), job++) {
        static int32_t ids[UTIL_MAX_TOKEN], want[UTIL_MAX_TOKEN];
        size_t n = read_ids(json_get(c, "prompt_ids"), ids), n_want = read_ids(json_get(c, "ids"), want);
        struct outcome *o = util_run(engine, util_ask_ids(job, ids, n, 200));
        cr_assert(o->kind == NOTICE_DONE && o->finish == NOTICE_STOP_END, "%s", o->message);
        cr_expect(o->n_token == n_want - 1, "the end id is not among the tokens");
        cr_expect(o->n_generated == (int64_t)n_want, "but it is counted");
        cr_expect(memcmp(o->tokens, want, (n_want - 1) * sizeof *want) == 0);
        const char *text = json_string(json_get(c, "text"), "");
        cr_expect(strcmp(o->text, text) == 0, "'%s', want '%s'", o->text, text);
        cr_expect(o->n_prompt == (int64_t)n);
        free(o);
    }
    cr_expect(job > 5);
    json_free(root);
}

Test(answer, streamed_or_not_it_is_the_same)
{
    struct outcome *o[2];
    for (int stream = 0; stream < 2; stream++) {
        struct job_ask *ask = util_ask_ids(1, prompt, N_PROMPT, 30);
        ask->stream = stream;
        ask->logprobs = true;
        ask->top_logprobs = 3;
        o[stream] = util_run(engine, ask);
        cr_assert(o[stream]->kind == NOTICE_DONE && o[stream]->finish == NOTICE_STOP_LIMIT);
    }
    cr_expect(o[0]->n_token_notice == 0 && o[1]->n_token_notice >= 30);
    cr_assert(o[0]->n_token == 30 && o[1]->n_token == 30 && o[0]->n_logprob == 30 && o[1]->n_logprob == 30);
    cr_expect(memcmp(o[0]->tokens, o[1]->tokens, 30 * sizeof *o[0]->tokens) == 0);
    cr_expect(o[0]->n_text > 0 && strcmp(o[0]->text, o[1]->text) == 0);
    cr_expect(memcmp(o[0]->logprobs, o[1]->logprobs, 30 * sizeof *o[0]->logprobs) == 0);
    size_t n_byte = 0;
    for (int i = 0; i < 30; i++) {
        cr_expect(o[0]->logprobs[i].id == o[0]->tokens[i] && o[0]->logprobs[i].top_id == o[0]->tokens[i]);
        cr_expect(o[0]->logprobs[i].logprob == o[0]->logprobs[i].top_logprob && o[0]->logprobs[i].n_top == 3);
        cr_expect(o[0]->logprobs[i].logprob < 0);
        n_byte += o[0]->logprobs[i].n_byte;
    }
    cr_expect(n_byte == o[0]->n_text, "plain text is the bytes of its tokens");
    free(o[0]);
    free(o[1]);
}

Test(answer, without_return_tokens_there_is_text_alone)
{
    struct job_ask *ask = util_ask_ids(1, prompt, N_PROMPT, 10);
    ask->return_tokens = false;
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->n_token == 0 && o->n_text > 0 && o->n_generated == 10);
    free(o);
}

Test(answer, a_stop_string_is_found_across_tokens_and_not_delivered)
{
    struct outcome *whole = util_run(engine, util_ask_ids(1, prompt, N_PROMPT, 40));
    cr_assert(whole->n_text > 60);
    /* From the middle of one token to the middle of a later one: words are several letters long. */
    char word[16] = "";
    memcpy(word, whole->text + 21, 13);
    const char *at = strstr(whole->text, word);
    for (int stream = 0; stream < 2; stream++) {
        struct job_ask *ask = util_ask_ids(2, prompt, N_PROMPT, 40);
        ask->stream = stream;
        ask->stop[0] = strdup("never in this text");
        ask->stop[1] = strdup(word);
        ask->stop_bytes[0] = 18;
        ask->stop_bytes[1] = 13;
        ask->n_stop = 2;
        struct outcome *o = util_run(engine, ask);
        cr_expect(o->kind == NOTICE_DONE && o->finish == NOTICE_STOP_WORD);
        cr_expect_str_eq(o->stop_word, word);
        cr_expect(o->n_text == (size_t)(at - whole->text) && memcmp(o->text, whole->text, o->n_text) == 0);
        cr_expect(o->n_generated < whole->n_generated);
        free(o);
    }
    free(whole);
}

Test(answer, the_beginning_of_a_stop_string_is_delivered_in_the_end)
{
    struct outcome *whole = util_run(engine, util_ask_ids(1, prompt, N_PROMPT, 12));
    struct job_ask *ask = util_ask_ids(2, prompt, N_PROMPT, 12);
    char word[12] = "";
    memcpy(word, whole->text + whole->n_text - 4, 4);
    strcat(word, "\x01\x02");
    ask->stop[0] = strdup(word);
    ask->stop_bytes[0] = 6;
    ask->n_stop = 1;
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->finish == NOTICE_STOP_LIMIT && strcmp(o->text, whole->text) == 0 && o->stop_word[0] == 0);
    free(o);
    free(whole);
}

Test(answer, stop_ids_and_ends)
{
    struct outcome *whole = util_run(engine, util_ask_ids(1, prompt, N_PROMPT, 200));
    cr_assert(whole->finish == NOTICE_STOP_END);
    const size_t n = whole->n_token;

    struct job_ask *ask = util_ask_ids(2, prompt, N_PROMPT, 200);
    ask->stop_token[0] = whole->tokens[5];
    ask->n_stop_token = 1;
    ask->ignore_eos = true;
    struct outcome *o = util_run(engine, ask);
    size_t first = 0;
    while (whole->tokens[first] != whole->tokens[5])
        first++;
    cr_expect(o->finish == NOTICE_STOP_END && o->n_token == first && o->n_generated == (int64_t)first + 1);
    free(o);

    /* The end is drawn all the same, it just does not end the answer. */
    ask = util_ask_ids(3, prompt, N_PROMPT, (int64_t)n + 3);
    ask->ignore_eos = true;
    o = util_run(engine, ask);
    int32_t n_end;
    const int32_t *end = engine_ends(engine, &n_end);
    cr_expect(n_end == 1 && o->n_token == n + 3 && o->tokens[n] == end[0]);
    free(o);

    ask = util_ask_ids(4, prompt, N_PROMPT, (int64_t)n + 3);
    ask->min_tokens = (int64_t)n + 2;
    o = util_run(engine, ask);
    cr_expect(o->n_generated >= (int64_t)n + 2 && o->tokens[n] != end[0]);
    free(o);
    free(whole);
}

Test(answer, max_tokens_0_computes_the_prompt_alone)
{
    struct job_ask *ask = util_ask_ids(1, prompt, N_PROMPT, 0);
    ask->prompt_logprobs = true;
    ask->stream = false;
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_DONE && o->finish == NOTICE_STOP_LIMIT && o->n_generated == 0);
    cr_expect(o->n_token == 0 && o->n_text == 0 && o->n_prompt_logprob == N_PROMPT - 1);
    free(o);
}

/* The arithmetic itself, one prefill with all logits. */
static void direct_logprobs(const int32_t *ids, int32_t n, double *ret_logprobs)
{
    struct model *model;
    struct why why;
    const struct model_options options = {
        .path = util_demo_model(), .device = "cpu", .n_thread = 1, .max_row = MODEL_MAX_LOGIT_ROW};
    cr_assert(model_open(&model, &options, NULL, NULL, &why) == 0, "%s", why.text);
    int32_t pages[8], rows[MODEL_MAX_LOGIT_ROW];
    for (int32_t i = 0; i < 8; i++)
        pages[i] = i;
    for (int32_t i = 0; i < n; i++)
        rows[i] = i;
    const struct lk_span span = {.pages = pages, .row = 0, .n_row = n, .length = n};
    const struct model_batch batch = {
        .rows = {.token = ids, .n_row = n, .span = &span, .n_span = 1}, .logit_rows = rows, .n_logit = n};
    atomic_bool abort = false;
    cr_assert(model_forward(model, &batch, &abort) == 0);
    const int32_t n_vocab = model_info(model)->n_vocab;
    for (int32_t i = 0; i + 1 < n; i++) {
        const float *logits = model_logits(model, i);
        double sum = 0;
        for (int32_t j = 0; j < n_vocab; j++)
            sum += exp((double)logits[j]);
        ret_logprobs[i] = (double)logits[ids[i + 1]] - log(sum);
    }
    model_free(model);
}

Test(answer, prompt_logprobs_are_those_of_one_prefill)
{
    enum { N = 60 };
    int32_t ids[N];
    double want[N];
    for (int i = 0; i < N; i++)
        ids[i] = i < N_PROMPT ? prompt[i] : (int32_t)(5 + (i * 37) % 1000);
    direct_logprobs(ids, N, want);
    struct job_ask *ask = util_ask_ids(1, ids, N, 1);
    ask->prompt_logprobs = true;
    struct outcome *o = util_run(engine, ask);
    cr_assert(o->n_prompt_logprob == N - 1);
    for (int i = 0; i < N - 1; i++)
        cr_expect_float_eq(o->prompt_logprobs[i], (float)want[i], 1e-5);
    free(o);
}

Test(answer, prompt_logprobs_of_more_rows_than_a_step_has_logits)
{
    enum { N = 3 * MODEL_MAX_LOGIT_ROW + 7 };
    int32_t ids[N];
    for (int i = 0; i < N; i++)
        ids[i] = 5 + (i * 37) % 1000;
    struct job_ask *ask = util_ask_ids(1, ids, N, 1);
    ask->prompt_logprobs = true;
    struct outcome *o = util_run(engine, ask);
    cr_assert(o->n_prompt_logprob == N - 1);
    ask = util_ask_ids(2, ids, N - 50, 1); /* a shorter prompt has the same beginning */
    ask->prompt_logprobs = true;
    struct outcome *shorter = util_run(engine, ask);
    cr_assert(shorter->n_prompt_logprob == N - 51);
    cr_expect(memcmp(o->prompt_logprobs, shorter->prompt_logprobs, (N - 51) * sizeof(float)) == 0);
    free(o);
    free(shorter);
}

static struct outcome *sampled(uint64_t job, bool has_seed, uint64_t seed)
{
    struct job_ask *ask = util_ask_ids(job, prompt, N_PROMPT, 40);
    ask->sampling.temperature = 1.5f;
    ask->has_seed = has_seed;
    ask->sampling.seed = seed;
    return util_run(engine, ask);
}

static bool same_tokens(const struct outcome *a, const struct outcome *b)
{
    return a->n_token == b->n_token && memcmp(a->tokens, b->tokens, a->n_token * sizeof *a->tokens) == 0;
}

Test(answer, the_seed_decides)
{
    struct outcome *a = sampled(1, true, UINT64_MAX), *b = sampled(2, true, UINT64_MAX),
                   *c = sampled(3, true, 5);
    cr_expect(a->seed == UINT64_MAX && same_tokens(a, b) && !same_tokens(a, c));
    struct outcome *drawn = sampled(4, false, 0), *other = sampled(5, false, 0);
    cr_expect(drawn->seed < UINT64_C(1) << 53 && drawn->seed != other->seed);
    struct outcome *again = sampled(6, true, drawn->seed);
    cr_expect(same_tokens(drawn, again));
    free(a);
    free(b);
    free(c);
    free(drawn);
    free(other);
    free(again);
}

Test(answer, bias_and_bans_that_leave_nothing_fail)
{
    struct job_ask *ask = util_ask_ids(1, prompt, N_PROMPT, 5);
    ask->bias = calloc(1, sizeof *ask->bias);
    ask->bias[0] = (struct sampler_bias){.id = 7, .bias = 100};
    ask->sampling.n_bias = 1;
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->n_token == 5 && o->tokens[0] == 7 && o->tokens[4] == 7);
    free(o);

    ask = util_ask_ids(2, prompt, N_PROMPT, 5);
    ask->bias = calloc(1024, sizeof *ask->bias);
    for (int32_t i = 0; i < 1024; i++)
        ask->bias[i] = (struct sampler_bias){.id = i, .bias = -INFINITY};
    ask->sampling.n_bias = 1024;
    o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_FAILED && strcmp(o->code, "invalid_request") == 0 &&
              strcmp(o->param, "logit_bias") == 0);
    free(o);
}
