/* Tests of src/sample/sampler.c. */
#include "config.h"
#include "src/sample/sampler.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/sample/rng.h"

static const struct sampler_params off = {
    .temperature = 1,
    .top_p = 1,
    .typical_p = 1,
    .repeat_penalty = 1,
    .repeat_last_n = -1,
};

static struct sampler *make(const struct sampler_params *params, int32_t n_vocab)
{
    struct sampler *s = NULL;
    cr_assert(sampler_new(&s, params, n_vocab, 64) == 0);
    return s;
}

static int32_t pick_once(const struct sampler_params *params, const float *logits, int32_t n_vocab,
                         uint64_t index)
{
    struct sampler *s = make(params, n_vocab);
    int32_t id = sampler_pick(s, logits, index, NULL, 0);
    sampler_free(s);
    return id;
}

Test(sampler, greedy_takes_the_best_and_of_equals_the_first)
{
    struct sampler_params params = off;
    params.temperature = 0;
    const float logits[] = {1, 3, -2, 3, 2.5f};
    cr_expect(pick_once(&params, logits, 5, 0) == 1);
    const float same[] = {-4, -4, -4};
    cr_expect(pick_once(&params, same, 3, 0) == 0);
    const float one[] = {-100};
    cr_expect(pick_once(&params, one, 1, 0) == 0);
}

Test(sampler, draws_follow_the_softmax)
{
    enum { N_DRAW = 40000 };
    struct sampler_params params = off;
    params.temperature = 0.5f;
    params.seed = 42;
    const float logits[] = {1000.5f, 1000, 999, 1000.25f, -INFINITY};
    double want[5], sum = 0;
    for (int i = 0; i < 5; i++)
        sum += want[i] = exp((logits[i] - 1000.0) / 0.5);
    int n[5] = {0};
    struct sampler *s = make(&params, 5);
    for (uint64_t i = 0; i < N_DRAW; i++)
        n[sampler_pick(s, logits, i, NULL, 0)]++;
    sampler_free(s);
    cr_expect(n[4] == 0);
    for (int i = 0; i < 4; i++) {
        double p = want[i] / sum, deviation = sqrt(N_DRAW * p * (1 - p));
        cr_expect(fabs(n[i] - N_DRAW * p) < 5 * deviation, "id %d: %d draws, %.0f expected", i, n[i],
                  N_DRAW * p);
    }
}

Test(sampler, a_draw_depends_on_seed_and_index_alone)
{
    enum { N_VOCAB = 100, N_DRAW = 50 };
    float logits[N_VOCAB], other[N_VOCAB];
    for (int i = 0; i < N_VOCAB; i++) {
        logits[i] = (float)rng_uniform(1, (uint64_t)i);
        other[i] = -logits[i];
    }
    struct sampler_params params = off;
    params.seed = 9;
    params.top_k = 40;
    params.top_p = 0.9f;
    struct sampler *a = make(&params, N_VOCAB), *b = make(&params, N_VOCAB);
    params.seed = 10;
    struct sampler *c = make(&params, N_VOCAB);
    int n_differ = 0;
    for (uint64_t i = 0; i < N_DRAW; i++) {
        int32_t id = sampler_pick(a, logits, i, NULL, 0);
        sampler_pick(b, other, 1000 + i, NULL, 0); /* leaves no trace */
        cr_expect(sampler_pick(b, logits, i, NULL, 0) == id);
        n_differ += sampler_pick(c, logits, i, NULL, 0) != id;
    }
    cr_expect(n_differ > N_DRAW / 2);
    sampler_free(a);
    sampler_free(b);
    sampler_free(c);
}

/* Which ids can come at all under these params? */
static unsigned reachable(const struct sampler_params *params, const float *logits, int32_t n_vocab)
{
    unsigned mask = 0;
    struct sampler *s = make(params, n_vocab);
    for (uint64_t i = 0; i < 3000; i++)
        mask |= 1u << sampler_pick(s, logits, i, NULL, 0);
    sampler_free(s);
    return mask;
}

/* Probabilities 0.4, 0.3, 0.2, 0.1. */
static const float four[] = {-0.916290731874155f, -1.203972804325936f, -1.6094379124341003f,
                             -2.302585092994046f};

Test(sampler, filters_keep_what_they_should)
{
    struct sampler_params params = off;
    cr_expect(reachable(&params, four, 4) == 0xf);
    params.top_k = 1;
    cr_expect(reachable(&params, four, 4) == 0x1);
    params.top_k = 3;
    cr_expect(reachable(&params, four, 4) == 0x7);
    params = off;
    params.top_p = 1e-6f;
    cr_expect(reachable(&params, four, 4) == 0x1);
    params.top_p = 0.65f;
    cr_expect(reachable(&params, four, 4) == 0x3);
    params = off;
    params.min_p = 0.45f; /* of 0.4: 0.18 */
    cr_expect(reachable(&params, four, 4) == 0x7);
    params.min_p = 1;
    cr_expect(reachable(&params, four, 4) == 0x1);
    params = off;
    params.typical_p = 0.25f; /* entropy 1.28: 0.3 (1.20) is the most typical */
    cr_expect(reachable(&params, four, 4) == 0x2);
    params.typical_p = 0.45f; /* then 0.2 (1.61), then 0.4 (0.92) */
    cr_expect(reachable(&params, four, 4) == 0x6);
}

Test(sampler, filters_come_in_their_order)
{
    /* top_k 2 leaves 4/7 and 3/7: top_p 0.5 of that is the first alone; of all four it would be two. */
    struct sampler_params params = off;
    params.top_k = 2;
    params.top_p = 0.5f;
    cr_expect(reachable(&params, four, 4) == 0x1);
    /* Temperature comes before top_p: at 2 the shares are 0.33 0.28 0.23 0.16. */
    params = off;
    params.temperature = 2;
    params.top_p = 0.65f;
    cr_expect(reachable(&params, four, 4) == 0x7);
    /* typical_p before top_p: what is typical is 0.3 and 0.2, of which 0.6 and 0.4. */
    params = off;
    params.typical_p = 0.45f;
    params.top_p = 0.55f;
    cr_expect(reachable(&params, four, 4) == 0x2);
}

Test(sampler, bias)
{
    struct sampler_params params = off;
    const struct sampler_bias bias[] = {{.id = 0, .bias = -INFINITY}, {.id = 3, .bias = 100}};
    params.bias = bias;
    params.n_bias = 2;
    cr_expect(reachable(&params, four, 4) == 0x8);
    params.n_bias = 1;
    cr_expect(reachable(&params, four, 4) == 0xe);
    params.temperature = 0;
    cr_expect(pick_once(&params, four, 4, 0) == 1);
}

Test(sampler, banned_ids_never_come)
{
    const int32_t banned[] = {0, 2};
    struct sampler_params params = off;
    params.temperature = 0;
    struct sampler *s = make(&params, 4);
    cr_expect(sampler_pick(s, four, 0, banned, 2) == 1);
    cr_expect(sampler_pick(s, four, 0, NULL, 0) == 0);
    const int32_t all[] = {0, 1, 2, 3};
    cr_expect(sampler_pick(s, four, 0, all, 4) == SAMPLER_NOTHING);
    sampler_free(s);
}

Test(sampler, only_one_finite_logit)
{
    struct sampler_params params = off;
    params.top_p = 0.5f;
    params.typical_p = 0.5f;
    params.min_p = 0.5f;
    params.top_k = 3;
    const float logits[] = {-INFINITY, -INFINITY, -3, -INFINITY};
    for (uint64_t i = 0; i < 100; i++)
        cr_expect(pick_once(&params, logits, 4, i) == 2);
}

Test(sampler, tells_what_is_not_a_number)
{
    struct sampler_params params = off;
    for (int greedy = 0; greedy < 2; greedy++) {
        params.temperature = greedy ? 0 : 1;
        const float nan[] = {1, NAN, 2}, infinite[] = {1, 2, INFINITY}, nothing[] = {-INFINITY, -INFINITY};
        cr_expect(pick_once(&params, nan, 3, 0) == SAMPLER_NON_FINITE);
        cr_expect(pick_once(&params, infinite, 3, 0) == SAMPLER_NON_FINITE);
        cr_expect(pick_once(&params, nothing, 2, 0) == SAMPLER_NON_FINITE);
    }
}

Test(sampler, extreme_values_stay_numbers)
{
    struct sampler_params params = off;
    params.temperature = 1e-40f;
    params.repeat_penalty = 1e-40f;
    const float logits[] = {FLT_MAX, -FLT_MAX, 3};
    struct sampler *s = make(&params, 3);
    sampler_accept(s, 0, false);
    sampler_accept(s, 1, false);
    cr_expect(sampler_pick(s, logits, 0, NULL, 0) == 0);
    sampler_free(s);
}

Test(sampler, presence_and_frequency_count_the_answer)
{
    struct sampler_params params = off;
    params.temperature = 0;
    params.presence_penalty = 1;
    const float logits[] = {2, 1.5f, 0.9f};
    struct sampler *s = make(&params, 3);
    sampler_accept(s, 0, false); /* of the prompt: does not count */
    cr_expect(sampler_pick(s, logits, 0, NULL, 0) == 0);
    sampler_accept(s, 0, true);
    cr_expect(sampler_pick(s, logits, 1, NULL, 0) == 1);
    sampler_accept(s, 1, true);
    cr_expect(sampler_pick(s, logits, 2, NULL, 0) == 0);
    sampler_accept(s, 0, true); /* once more changes nothing */
    cr_expect(sampler_pick(s, logits, 3, NULL, 0) == 0);
    sampler_free(s);

    params.presence_penalty = 0;
    params.frequency_penalty = 0.3f;
    s = make(&params, 3);
    sampler_accept(s, 0, true);
    cr_expect(sampler_pick(s, logits, 0, NULL, 0) == 0);
    sampler_accept(s, 0, true);
    cr_expect(sampler_pick(s, logits, 0, NULL, 0) == 1);
    sampler_free(s);
}

Test(sampler, repeat_penalty_sees_a_window_of_prompt_and_answer)
{
    struct sampler_params params = off;
    params.temperature = 0;
    params.repeat_penalty = 2;
    params.repeat_last_n = 2;
    const float logits[] = {2, 1.5f, 1.2f, -1};
    struct sampler *s = make(&params, 4);
    sampler_accept(s, 0, false);
    cr_expect(sampler_pick(s, logits, 0, NULL, 0) == 1);
    sampler_accept(s, 1, true);
    cr_expect(sampler_pick(s, logits, 0, NULL, 0) == 2);
    sampler_accept(s, 1, true); /* 0 has left the window */
    cr_expect(sampler_pick(s, logits, 0, NULL, 0) == 0);
    sampler_free(s);

    /* A logit below 0 is multiplied. */
    const float below[] = {-1, -1.5f};
    params.repeat_last_n = -1;
    s = make(&params, 2);
    sampler_accept(s, 0, false);
    cr_expect(sampler_pick(s, below, 0, NULL, 0) == 1);
    sampler_free(s);

    params.repeat_last_n = 0;
    s = make(&params, 2);
    sampler_accept(s, 0, false);
    cr_expect(sampler_pick(s, below, 0, NULL, 0) == 0);
    sampler_free(s);
}

Test(sampler, logprobs)
{
    struct sampler_logprob top[3];
    float got = sampler_logprob(four, 4, 2, top, 3);
    cr_expect_float_eq(got, logf(0.2f), 1e-6);
    for (int i = 0; i < 3; i++) {
        cr_expect(top[i].id == i);
        cr_expect_float_eq(top[i].logprob, logf(0.4f - 0.1f * (float)i), 1e-6);
    }
    const float ties[] = {1, 5, 5, 1, 5};
    sampler_logprob(ties, 5, 0, top, 3);
    cr_expect(top[0].id == 1 && top[1].id == 2 && top[2].id == 4);
    const float large[] = {30000, 29999};
    cr_expect_float_eq(sampler_logprob(large, 2, 1, NULL, 0), -1.3132616875f, 1e-6);
    const float nan[] = {1, NAN};
    cr_expect(isnan(sampler_logprob(nan, 2, 0, NULL, 0)));
}

Test(sampler, logprobs_of_a_large_row_against_a_sort)
{
    enum { N_VOCAB = 5000, N_TOP = 20 };
    static float logits[N_VOCAB];
    double sum = 0;
    for (int i = 0; i < N_VOCAB; i++) {
        logits[i] = (float)(20 * rng_uniform(3, (uint64_t)i) - 10);
        sum += exp((double)logits[i]);
    }
    struct sampler_logprob top[N_TOP];
    cr_expect_float_eq(sampler_logprob(logits, N_VOCAB, 77, top, N_TOP),
                       (float)((double)logits[77] - log(sum)), 1e-5);
    for (int i = 0; i < N_TOP; i++) {
        int n_better = 0;
        for (int j = 0; j < N_VOCAB; j++)
            n_better += logits[j] > logits[top[i].id];
        cr_expect(n_better == i, "place %d has id %d, %d are better", i, top[i].id, n_better);
    }
}
