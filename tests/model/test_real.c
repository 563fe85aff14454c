/* Real trained models as directories of float32 weights against float32 arithmetic of the reference:
 * log-probabilities of a long text, greedy ids. LORCH_SMOLLM2 names the directory of SmolLM2-135M-Instruct,
 * LORCH_GEMMA3 that of Gemma 3 270M. */
#include "config.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/fixture.h"

enum { CHUNK = 64 };

#define GATE_LOGPROB 2e-3

/* A model, and the file with what it should give. */
struct real {
    const char *variable, *expected;
};

static const struct real smollm2 = {"LORCH_SMOLLM2", "smollm2-135m-instruct-q4_1.json"};
static const struct real gemma3 = {"LORCH_GEMMA3", "gemma-3-270m-q4_k_m.json"};

static struct model *open_real(const struct real *real, struct json **ret_expected)
{
    const char *dir = getenv(real->variable);
    char root[SUPPORT_PATH];
    if (!dir)
        cr_skip_test("%s is not set", real->variable);
    support_data(root, "real-models");
    *ret_expected = fixture_json(root, real->expected);
    return fixture_open(dir, NULL, 2, CHUNK);
}

static void check_logprobs(const struct real *real)
{
    struct json *expected;
    struct model *model = open_real(real, &expected);
    int32_t n, n_vocab = model_info(model)->n_vocab;
    int32_t *ids = fixture_ids(json_get(expected, "text_ids"), &n);
    const struct json *want = json_first(json_get(expected, "text_logprobs"));
    struct sequence *s = sequence_new(model, true);
    sequence_record(s, CHUNK);
    double worst = 0, sum = 0;
    for (int32_t from = 0; from < n; from += CHUNK) {
        int32_t n_row = n - from < CHUNK ? n - from : CHUNK;
        s->record_from = from;
        sequence_feed(s, ids + from, n_row, CHUNK);
        for (int32_t i = 0; i < n_row && from + i + 1 < n; i++, want = json_next(want)) {
            cr_assert(want);
            double got =
                fixture_logprob(s->all_logits + (size_t)i * (size_t)n_vocab, n_vocab, ids[from + i + 1]);
            worst = fmax(worst, fabs(got - json_number(want, (double)NAN)));
            sum += got;
        }
    }
    double nll = -sum / (n - 1), want_nll = json_number(json_get(expected, "text_mean_nll"), (double)NAN);
    cr_log_info("%d log-probabilities within %.2g, mean %.6f (reference %.6f)\n", n - 1, worst, nll,
                want_nll);
    cr_assert(worst <= GATE_LOGPROB, "off by %g", worst);
    sequence_free(s);
    free(ids);
    json_free(expected);
    model_free(model);
}

static void check_greedy(const struct real *real)
{
    struct json *expected;
    struct model *model = open_real(real, &expected);
    int i_case = 0;
    for (const struct json *c = json_first(json_get(expected, "cases")); c; c = json_next(c), i_case++) {
        int32_t n_prompt, n;
        int32_t *prompt = fixture_ids(json_get(c, "prompt_ids"), &n_prompt),
                *want = fixture_ids(json_get(c, "ids"), &n);
        int32_t *got = calloc((size_t)n, sizeof *got);
        cr_assert(got);
        struct sequence *s = sequence_new(model, true);
        sequence_feed(s, prompt, n_prompt, CHUNK);
        sequence_greedy(s, got, n);
        for (int32_t i = 0; i < n; i++)
            cr_assert_eq(got[i], want[i], "case %d: token %d is %d, not %d", i_case, i, got[i], want[i]);
        sequence_free(s);
        free(prompt);
        free(want);
        free(got);
    }
    cr_assert(i_case > 0);
    json_free(expected);
    model_free(model);
}

Test(smollm2, logprobs)
{
    check_logprobs(&smollm2);
}

Test(smollm2, greedy)
{
    check_greedy(&smollm2);
}

Test(gemma3, logprobs)
{
    check_logprobs(&gemma3);
}

Test(gemma3, greedy)
{
    check_greedy(&gemma3);
}
