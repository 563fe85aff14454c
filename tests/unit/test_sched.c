/* Tests of src/engine/sched.c: no model, no threads, jobs that are nothing but their numbers. */
#include "config.h"
#include "src/engine/sched.h"

#include <criterion/criterion.h>

enum { N_JOB = 6, N_TOKEN = 1000, MAX_ROW = 512 };

static struct job jobs[N_JOB];
static struct job_ask asks[N_JOB];
static int32_t tokens[N_TOKEN], pages[32];

static struct job *make(int i, enum job_state state, int32_t n_prompt, int32_t n_page)
{
    jobs[i] = (struct job){.id = (uint64_t)i + 1,
                           .state = state,
                           .ask = &asks[i],
                           .tokens = tokens,
                           .pages = pages,
                           .n_prompt = n_prompt,
                           .max_tokens = 10,
                           .n_page = n_page};
    return &jobs[i];
}

static struct job *make_decoding(int i)
{
    struct job *job = make(i, JOB_DECODE, 20, 1);
    job->n_generated = 1;
    job->pos = 20;
    return job;
}

Test(sched, admits_in_order_of_arrival)
{
    struct sched s;
    sched_init(&s, 2);
    cr_expect(sched_admissible(&s, 100, 0) == NULL);
    sched_add(&s, make(0, JOB_WAITING, 10, 8));
    sched_add(&s, make(1, JOB_WAITING, 10, 1));
    cr_expect(sched_admissible(&s, 7, 0) == NULL, "the second fits, but does not overtake");
    cr_expect(sched_admissible(&s, 8, 0) == &jobs[0]);
    sched_move(&s, &jobs[0], JOB_PREFILL);
    cr_expect(s.n_running == 1 && s.n_waiting == 1);
    cr_expect(sched_admissible(&s, 0, 0) == NULL);
    cr_expect(sched_admissible(&s, 1, 0) == &jobs[1]);
    sched_move(&s, &jobs[1], JOB_PREFILL);
    sched_add(&s, make(2, JOB_WAITING, 10, 1));
    cr_expect(sched_admissible(&s, 100, 0) == NULL, "two run already");
    sched_remove(&s, &jobs[0]);
    cr_expect(sched_admissible(&s, 100, 0) == &jobs[2]);
}

Test(sched, admits_where_both_kinds_of_pages_are_free)
{
    struct sched s;
    sched_init(&s, 2);
    sched_add(&s, make(0, JOB_WAITING, 10, 8));
    jobs[0].n_window_page = 3;
    cr_expect(sched_admissible(&s, 8, 2) == NULL && sched_admissible(&s, 7, 3) == NULL);
    cr_expect(sched_admissible(&s, 8, 3) == &jobs[0]);
}

Test(sched, finds_jobs_in_every_state)
{
    struct sched s;
    sched_init(&s, 4);
    sched_add(&s, make(0, JOB_TEXT, 0, 0));
    sched_add(&s, make(1, JOB_WAITING, 10, 1));
    sched_add(&s, make(2, JOB_PREFILL, 10, 1));
    sched_add(&s, make_decoding(3));
    for (int i = 0; i < 4; i++)
        cr_expect(sched_find(&s, (uint64_t)i + 1) == &jobs[i]);
    cr_expect(sched_find(&s, 5) == NULL);
    cr_expect(s.n_text == 1 && s.n_waiting == 1 && s.n_running == 2);
    sched_move(&s, &jobs[2], JOB_DECODE);
    cr_expect(s.n_running == 2 && TAILQ_FIRST(&s.running) == &jobs[2], "it keeps its place");
}

Test(sched, a_step_has_one_row_of_each_that_decodes_and_a_piece_of_a_prompt)
{
    struct sched s;
    struct batch b;
    sched_init(&s, 4);
    cr_assert(batch_init(&b, MAX_ROW, 4) == 0);
    sched_choose(&s, &b);
    cr_expect(b.n_part == 0);

    sched_add(&s, make(0, JOB_PREFILL, 900, 8));
    sched_add(&s, make_decoding(1));
    sched_add(&s, make_decoding(2));
    sched_choose(&s, &b);
    cr_assert(b.n_part == 3);
    cr_expect(b.part[0].job == &jobs[1] && b.part[1].job == &jobs[2] && b.part[2].job == &jobs[0]);
    cr_expect(b.part[0].n_row == 1 && b.part[2].n_row == SCHED_LEAST_ALONE && b.n_logit == 2);
    batch_deinit(&b);
}

Test(sched, pieces_follow_the_measured_speed)
{
    struct sched s;
    struct batch b;
    sched_init(&s, 4);
    cr_assert(batch_init(&b, MAX_ROW, 4) == 0);
    sched_add(&s, make(0, JOB_PREFILL, 900, 8));
    sched_measure(&s, 1, 20000);                /* a step of its own costs 20 ms */
    sched_measure(&s, 100, 20000 + 200 * 1000); /* and each row of it 2 ms */
    sched_choose(&s, &b);
    cr_expect(b.n_row == SCHED_ALONE_US / 2000);

    sched_add(&s, make_decoding(1));
    sched_choose(&s, &b);
    cr_expect(b.n_row == 1 + SCHED_SHARED_US / 2000);

    for (int i = 0; i < 100; i++)
        sched_measure(&s, 100, 0);
    sched_choose(&s, &b);
    cr_expect(b.n_row == MAX_ROW);

    for (int i = 0; i < 100; i++)
        sched_measure(&s, 20, 20 * 1000000);
    sched_choose(&s, &b);
    cr_expect(b.n_row == 1 + 1, "a prompt always goes on");
    sched_remove(&s, &jobs[1]);
    sched_choose(&s, &b);
    cr_expect(b.n_row == SCHED_LEAST_ALONE);
    batch_deinit(&b);
}

Test(sched, what_one_prompt_leaves_the_next_one_gets)
{
    struct sched s;
    struct batch b;
    sched_init(&s, 4);
    cr_assert(batch_init(&b, MAX_ROW, 4) == 0);
    sched_add(&s, make(0, JOB_PREFILL, 10, 1));
    sched_add(&s, make(1, JOB_PREFILL, 100, 2));
    sched_add(&s, make(2, JOB_PREFILL, 100, 2));
    sched_choose(&s, &b);
    cr_assert(b.n_part == 2);
    cr_expect(b.part[0].n_row == 10 && b.part[1].n_row == SCHED_LEAST_ALONE - 10);
    batch_deinit(&b);
}
