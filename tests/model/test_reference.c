/* Small models of several makers against what was published or computed for them: a trained one with its ids,
 * random ones in BF16 (whole and sharded), and the demo model. */
#include "config.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/fixture.h"

enum { CHUNK = 64 };

static void assert_greedy(struct sequence *s, const struct json *want_ids, const char *what)
{
    int32_t n;
    int32_t *want = fixture_ids(want_ids, &n), *got = calloc((size_t)n, sizeof *got);
    cr_assert(got);
    sequence_greedy(s, got, n);
    for (int32_t i = 0; i < n; i++)
        cr_assert_eq(got[i], want[i], "%s: token %d is %d, not %d", what, i, got[i], want[i]);
    free(want);
    free(got);
}

static struct sequence *feed(struct model *model, const struct json *prompt_ids)
{
    int32_t n;
    int32_t *ids = fixture_ids(prompt_ids, &n);
    struct sequence *s = sequence_new(model, false);
    sequence_feed(s, ids, n, CHUNK);
    free(ids);
    return s;
}

/* The array may be printed with seven digits. */
static double logits_deviation(const struct sequence *s, const struct json *want)
{
    int32_t n = model_info(s->model)->n_vocab, i = 0;
    cr_assert_eq(json_count(want), (size_t)n);
    float *values = calloc((size_t)n, sizeof *values);
    cr_assert(values);
    for (const struct json *v = json_first(want); v; v = json_next(v))
        values[i++] = (float)json_number(v, (double)NAN);
    double deviation = fixture_deviation(s->logits, values, (size_t)n);
    free(values);
    return deviation;
}

static void assert_logits(const struct sequence *s, const struct json *want, const char *what)
{
    double deviation = logits_deviation(s, want);
    cr_assert(deviation <= FIXTURE_GATE_LOGITS, "%s: logits are off by %g", what, deviation);
    cr_log_info("%s: logits within %.2g\n", what, deviation);
}

Test(reference, stories260K)
{
    char dir[SUPPORT_PATH];
    support_data(dir, "data/stories260K");
    struct model *model = fixture_open(dir, NULL, 2, CHUNK);
    const struct model_info *info = model_info(model);
    cr_assert(info->n_end == 2 && info->end[0] == 1 && info->end[1] == 2);
    struct json *greedy = fixture_json(dir, "expected_greedy.json"),
                *logits = fixture_json(dir, "expected_logits.json");
    for (const struct json *c = json_first(json_get(greedy, "cases")); c; c = json_next(c)) {
        struct sequence *s = feed(model, json_get(c, "prompt_ids"));
        assert_greedy(s, json_get(c, "ids"), json_string(json_get(c, "prompt"), ""));
        sequence_free(s);
    }
    for (const struct json *c = json_first(json_get(logits, "cases")); c; c = json_next(c)) {
        struct sequence *s = feed(model, json_get(c, "prompt_ids"));
        assert_logits(s, json_get(c, "logits_last"), json_string(json_get(c, "prompt"), ""));
        sequence_free(s);
    }
    json_free(greedy);
    json_free(logits);
    model_free(model);
}

/* expected_of: the folder with expected.json. */
static void check_tiny(const char *model_name, const char *expected_of)
{
    char dir[SUPPORT_PATH], expected[SUPPORT_PATH];
    support_data(dir, model_name);
    support_data(expected, expected_of);
    struct model *model = fixture_open(dir, NULL, 2, CHUNK);
    struct json *root = fixture_json(expected, "expected.json");
    for (const struct json *c = json_first(json_get(root, "cases")); c; c = json_next(c)) {
        int32_t n, n_best;
        int32_t *ids = fixture_ids(json_get(c, "ids"), &n),
                *best = fixture_ids(json_get(c, "argmax_per_position"), &n_best);
        cr_assert_eq(n_best, n);
        struct sequence *s = sequence_new(model, true);
        for (int32_t i = 0; i < n; i++) {
            sequence_feed(s, &ids[i], 1, 1);
            cr_assert_eq(sequence_best(s), best[i], "position %d", i);
        }
        assert_logits(s, json_get(c, "logits_last"), model_name);
        assert_greedy(s, json_get(c, "greedy16"), model_name);
        sequence_free(s);
        free(ids);
        free(best);
    }
    json_free(root);
    model_free(model);
}

Test(reference, tiny_llama3)
{
    check_tiny("data/tiny-random/tiny_llama3", "data/tiny-random/tiny_llama3");
}

Test(reference, tiny_llama3_sharded)
{
    check_tiny("data/tiny-random/tiny_llama3_sharded", "data/tiny-random/tiny_llama3");
}

Test(reference, tiny_mistral)
{
    check_tiny("data/tiny-random/tiny_mistral", "data/tiny-random/tiny_mistral");
}

Test(reference, tiny_qwen3)
{
    check_tiny("data/tiny-random/tiny_qwen3", "data/tiny-random/tiny_qwen3");
}

Test(reference, tiny_gemma3)
{
    check_tiny("data/tiny-random/tiny_gemma3", "data/tiny-random/tiny_gemma3");
}

Test(reference, demo_model)
{
    char dir[SUPPORT_PATH];
    support_source(dir, "contrib/demo-model");
    struct model *model = fixture_open(dir, NULL, 2, CHUNK);
    struct json *root = fixture_json(dir, "reference.json");
    int n_case = 0;
    for (const struct json *c = json_first(json_get(root, "cases")); c; c = json_next(c), n_case++) {
        struct sequence *s = feed(model, json_get(c, "prompt_ids"));
        char what[32];
        snprintf(what, sizeof what, "case %d", n_case);
        assert_greedy(s, json_get(c, "ids"), what);
        sequence_free(s);
    }
    cr_assert(n_case > 0);
    json_free(root);
    model_free(model);
}
