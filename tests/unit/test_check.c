/* Tests of src/engine/check.c, through an engine with the demo model: what is refused, and how. */
#include "config.h"
#include "src/engine/check.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine_util.h"

static struct engine *engine;

static void start(void)
{
    engine = util_start(util_demo_model(), NULL, 1);
}

static void stop(void)
{
    engine_free(engine);
}

TestSuite(check, .init = start, .fini = stop);

static void expect_refused(struct job_ask *ask, const char *code, const char *param, int64_t got,
                           int64_t limit)
{
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_FAILED && o->n_token_notice == 0);
    cr_expect_str_eq(o->code, code);
    cr_expect_str_eq(o->param, param);
    cr_expect(o->got == got && o->limit == limit, "%s: got %lld, limit %lld", o->message, (long long)o->got,
              (long long)o->limit);
    cr_expect(o->message[0]);
    free(o);
}

Test(check, context_overflow_tells_both_numbers)
{
    int32_t ids[1100] = {0};
    expect_refused(util_ask_ids(1, ids, 1024, 5), "context_overflow", "tokens", 1024, 1024);
    struct outcome *o = util_run(engine, util_ask_ids(2, ids, 1020, 50));
    cr_expect(o->kind == NOTICE_DONE && o->n_generated <= 4, "max_tokens is lowered to what is left");
    free(o);
}

Test(check, a_text_that_cannot_fit_is_refused_before_it_is_tokenised)
{
    size_t n = 10 << 20;
    struct job_ask *ask = util_ask_text(1, JOB_GENERATE, "");
    free(ask->text);
    ask->text = malloc(n);
    memset(ask->text, 'a', n);
    ask->n_text = n;
    size_t max_piece = tokenizer_max_piece(engine_tokenizer(engine));
    expect_refused(ask, "context_overflow", "prompt", (int64_t)(n / max_piece), 1024);
}

Test(check, ids_must_be_the_models)
{
    const int32_t ids[] = {1, 1024, 2}, below[] = {-1}, good[] = {1};
    expect_refused(util_ask_ids(1, ids, 3, 5), "invalid_request", "tokens", 1024, 1023);
    expect_refused(util_ask_ids(2, below, 1, 5), "invalid_request", "tokens", -1, 1023);
    struct job_ask *ask = util_ask_ids(3, good, 1, 5);
    ask->stop_token[0] = 5000;
    ask->n_stop_token = 1;
    expect_refused(ask, "invalid_request", "stop_token_ids", 5000, 1023);
    ask = util_ask_ids(4, good, 1, 5);
    ask->bias = calloc(1, sizeof *ask->bias);
    ask->bias[0].id = 1024;
    ask->sampling.n_bias = 1;
    expect_refused(ask, "invalid_request", "logit_bias", 1024, 1023);
}

Test(check, an_empty_prompt)
{
    expect_refused(util_ask_ids(1, NULL, 0, 5), "invalid_request", "tokens", 0, -1);
    struct job_ask *ask = util_ask_text(2, JOB_GENERATE, "");
    ask->add_special = false;
    expect_refused(ask, "invalid_request", "prompt", 0, -1);
    struct outcome *o =
        util_run(engine, util_ask_text(3, JOB_GENERATE, "")); /* the tokenizer adds its first */
    cr_expect(o->kind == NOTICE_DONE && o->n_prompt == 1);
    free(o);
}

Test(check, text_that_is_not_utf8)
{
    expect_refused(util_ask_text(1, JOB_GENERATE, "One\xff day"), "invalid_request", "prompt", 3, -1);
    struct job_ask *ask = util_ask_text(2, JOB_GENERATE, "One\xff day");
    ask->replace_invalid = true;
    struct outcome *o = util_run(engine, ask);
    struct outcome *want = util_run(engine, util_ask_text(3, JOB_GENERATE, "One\xef\xbf\xbd day"));
    cr_expect(o->kind == NOTICE_DONE && o->n_prompt == want->n_prompt && strcmp(o->text, want->text) == 0);
    free(o);
    free(want);
}

Test(check, a_done_that_might_not_fit_its_frame)
{
    const int32_t ids[] = {0, 3};
    struct job_ask *ask = util_ask_ids(1, ids, 2, 500);
    ask->stream = false;
    ask->max_frame = 4096;
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_FAILED && strcmp(o->param, "max_tokens") == 0 && o->got > 4096 &&
              o->limit == 4096);
    free(o);
    ask = util_ask_ids(2, ids, 2, 5);
    ask->stream = false;
    ask->max_frame = 4096;
    o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_DONE);
    free(o);
    ask = util_ask_ids(3, ids, 2, 500); /* streamed, it goes in many frames */
    ask->max_frame = 4096;
    ask->ignore_eos = true;
    o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_DONE && o->n_token == 500);
    free(o);
}
