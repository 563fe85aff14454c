/* Tests of src/engine/tokenise.c, through an engine with the demo model. */
#include "config.h"
#include "src/engine/tokenise.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine_util.h"

static struct job_ask *ask_detokenize(uint64_t job, const int32_t *ids, size_t n)
{
    struct job_ask *ask = util_ask_ids(job, ids, n, 0);
    ask->kind = JOB_DETOKENIZE;
    return ask;
}

Test(tokenise, text_to_ids_and_back)
{
    static const char text[] = "One day Mia met a caf\xc3\xa9 owner. \xf0\x9f\x98\x80 <|user|>";
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    struct job_ask *ask = util_ask_text(1, JOB_TOKENIZE, text);
    ask->add_special = false;
    struct outcome *ids = util_run(engine, ask);
    cr_assert(ids->kind == NOTICE_RESULT && ids->n_token > 5);
    struct outcome *back = util_run(engine, ask_detokenize(2, ids->tokens, ids->n_token));
    cr_expect(back->kind == NOTICE_RESULT && back->has_content);
    cr_expect_str_eq(back->text, text);
    free(ids);
    free(back);

    ask = util_ask_text(3, JOB_TOKENIZE, "<|user|>");
    ask->add_special = false;
    ask->parse_special = true;
    ids = util_run(engine, ask);
    cr_expect(ids->n_token == 1 && ids->tokens[0] == 3);
    back = util_run(engine, ask_detokenize(4, ids->tokens, 1));
    cr_expect(back->has_content && back->n_text == 0, "special tokens are left out");
    free(back);
    ask = ask_detokenize(5, ids->tokens, 1);
    ask->return_special = true;
    back = util_run(engine, ask);
    cr_expect_str_eq(back->text, "<|user|>");
    free(back);
    free(ids);
    engine_free(engine);
}

Test(tokenise, pieces_are_the_bytes_of_the_text)
{
    static const char text[] = "Mia and a kite \xe2\x82\xac";
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    struct job_ask *ask = util_ask_text(1, JOB_TOKENIZE, text);
    ask->add_special = false;
    ask->with_pieces = true;
    engine_submit(engine, ask);
    struct notice *notice = util_next(engine);
    cr_assert(notice && notice->kind == NOTICE_RESULT && notice->pieces && notice->n_token > 2);
    char joined[64];
    size_t n = 0;
    for (size_t i = 0; i < notice->n_token; i++) {
        memcpy(joined + n, notice->pieces[i].bytes, notice->pieces[i].n_byte);
        n += notice->pieces[i].n_byte;
    }
    cr_expect(n == strlen(text) && memcmp(joined, text, n) == 0);
    notice_free(notice);
    engine_free(engine);
}

Test(tokenise, count_is_the_number_of_ids)
{
    static const char text[] = "Mia and a kite \xe2\x82\xac";
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    struct outcome *ids = util_run(engine, util_ask_text(1, JOB_TOKENIZE, text));
    cr_assert(ids->kind == NOTICE_RESULT && ids->n_token > 5);
    engine_submit(engine, util_ask_text(2, JOB_COUNT, text));
    struct notice *notice = util_next(engine);
    cr_assert(notice && notice->kind == NOTICE_RESULT);
    cr_expect(notice->n_token == ids->n_token && !notice->tokens);
    notice_free(notice);
    free(ids);
    engine_free(engine);
}

Test(tokenise, nothing_gives_nothing)
{
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    struct job_ask *ask = util_ask_text(1, JOB_TOKENIZE, "");
    ask->add_special = false;
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_RESULT && o->n_token == 0);
    free(o);
    o = util_run(engine, ask_detokenize(2, NULL, 0));
    cr_expect(o->kind == NOTICE_RESULT && o->has_content && o->n_text == 0);
    free(o);
    engine_free(engine);
}

Test(tokenise, bad_text_and_bad_ids_are_refused)
{
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    struct outcome *o = util_run(engine, util_ask_text(1, JOB_TOKENIZE, "ab\xc3"));
    cr_expect(o->kind == NOTICE_FAILED && strcmp(o->param, "content") == 0 && o->got == 2);
    free(o);
    const int32_t ids[] = {5, 1024};
    o = util_run(engine, ask_detokenize(2, ids, 2));
    cr_expect(o->kind == NOTICE_FAILED && strcmp(o->param, "tokens") == 0 && o->got == 1024 &&
              o->limit == 1023);
    free(o);
    engine_free(engine);
}

Test(tokenise, an_answer_over_the_frame_limit_is_refused)
{
    enum { N = 2000 };
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    int32_t ids[N];
    for (int i = 0; i < N; i++)
        ids[i] = 682;
    struct job_ask *ask = ask_detokenize(1, ids, N);
    ask->max_frame = 2048;
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_FAILED && o->got > 2048 && o->limit == 2048);
    free(o);
    ask = util_ask_text(2, JOB_TOKENIZE, "One day there was a child who liked to read by the river.");
    ask->max_frame = 1050;
    o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_FAILED && o->got > 1050 && o->limit == 1050);
    free(o);
    engine_free(engine);
}

Test(tokenise, waits_for_no_generation_and_for_no_long_text)
{
    enum { N_BYTE = 4 << 20 };
    struct engine *engine = util_start(util_demo_model(), "c", 1);
    const int32_t prompt[] = {0, 3, 355};
    struct job_ask *ask = util_ask_ids(1, prompt, 3, 1000);
    ask->ignore_eos = true;
    engine_submit(engine, ask);
    ask = util_ask_text(2, JOB_TOKENIZE, "");
    free(ask->text);
    ask->text = malloc(N_BYTE);
    for (int i = 0; i < N_BYTE; i++)
        ask->text[i] = i % 5 == 4 ? ' ' : (char)('a' + i / 5 % 26);
    ask->n_text = N_BYTE;
    engine_submit(engine, ask);
    engine_submit(engine, util_ask_text(3, JOB_TOKENIZE, "short"));
    bool long_came = false;
    for (bool short_came = false; !short_came;) {
        struct notice *notice = util_next(engine);
        cr_assert(notice);
        cr_expect(notice->job != 1 || notice->kind == NOTICE_TOKEN, "the generation goes on");
        short_came = notice->job == 3;
        long_came |= notice->job == 2;
        notice_free(notice);
    }
    cr_expect(!long_came);
    engine_free(engine);
}
