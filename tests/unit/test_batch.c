/* Tests of src/engine/batch.c. */
#include "config.h"
#include "src/engine/batch.h"

#include <criterion/criterion.h>

#include "src/engine/job.h"

enum { N_TOKEN = 200 };

static int32_t tokens[N_TOKEN], pages[4];

static struct job make(struct job_ask *ask, int32_t n_prompt, int32_t max_tokens)
{
    for (int32_t i = 0; i < N_TOKEN; i++)
        tokens[i] = 1000 + i;
    return (struct job){
        .ask = ask, .tokens = tokens, .pages = pages, .n_prompt = n_prompt, .max_tokens = max_tokens};
}

Test(batch, a_prompt_needs_the_logits_of_its_last_row)
{
    struct batch b;
    struct job_ask ask = {0};
    struct job job = make(&ask, 10, 5);
    cr_assert(batch_init(&b, 16, 4) == 0);
    cr_expect(batch_room(&b, &job, 6) == 6);
    batch_add(&b, &job, 6);
    cr_expect(b.n_logit == 0 && b.n_row == 6);

    batch_clear(&b);
    job.pos = 6;
    batch_add(&b, &job, 4);
    struct model_batch m = batch_model(&b);
    cr_expect(m.rows.n_row == 4 && m.rows.n_span == 1 && m.n_logit == 1 && m.logit_rows[0] == 3);
    cr_expect(m.rows.token[0] == 1006 && m.rows.span[0].pos == 6 && m.rows.span[0].pages == pages);
    cr_expect(m.rows.span[0].length == 15);
    batch_deinit(&b);
}

Test(batch, without_an_answer_no_logits_are_needed)
{
    struct batch b;
    struct job_ask ask = {0};
    struct job job = make(&ask, 10, 0);
    cr_assert(batch_init(&b, 16, 4) == 0);
    batch_add(&b, &job, 10);
    cr_expect(b.n_logit == 0);
    batch_deinit(&b);
}

Test(batch, prompt_logprobs_need_every_row)
{
    struct batch b;
    struct job_ask ask = {.prompt_logprobs = true};
    struct job job = make(&ask, 10, 1);
    cr_assert(batch_init(&b, 16, 4) == 0);
    batch_add(&b, &job, 10);
    cr_expect(b.n_logit == 10 && b.logit_row[0] == 0 && b.logit_row[9] == 9);

    batch_clear(&b);
    job.max_tokens = 0; /* nothing is drawn after the last */
    batch_add(&b, &job, 10);
    cr_expect(b.n_logit == 9 && b.logit_row[0] == 0 && b.logit_row[8] == 8);

    batch_clear(&b);
    job.max_tokens = 1;
    job.n_generated = 1;
    job.pos = 10;
    batch_add(&b, &job, 1); /* the answer again: one */
    cr_expect(b.n_logit == 1);
    batch_deinit(&b);
}

Test(batch, room_ends_with_rows_parts_and_logits)
{
    struct batch b;
    struct job_ask plain = {0}, logprobs = {.prompt_logprobs = true};
    struct job job = make(&plain, 100, 5), other = make(&logprobs, 150, 5);
    cr_assert(batch_init(&b, 128, 2) == 0);
    cr_expect(batch_room(&b, &other, 150) == MODEL_MAX_LOGIT_ROW);
    batch_add(&b, &other, 60);
    cr_expect(batch_room(&b, &job, 100) == 68);
    cr_expect(batch_room(&b, &other, 100) == MODEL_MAX_LOGIT_ROW - 60);
    batch_add(&b, &job, 10);
    cr_expect(batch_room(&b, &job, 1) == 0, "no part is left");
    cr_expect(b.part[1].logit == 60 && b.part[1].n_logit == 0 && b.span[1].row == 60);

    batch_forget(&b, &other);
    cr_expect(b.part[0].job == NULL && b.part[1].job == &job);
    batch_deinit(&b);
}
