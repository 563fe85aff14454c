/* Tiny models with random weights against the reference implementation: hidden states, logits, greedy ids;
 * and the same bits however the work is cut. */
#include "config.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/fixture.h"

enum { MAX_CASE = 64, N_GREEDY = 16, CHUNK = 64, N_LONG = 256 };

/* Names or patterns of the cases that are computed. */
static const char *const cases[] = {"llama*",    "yi",        "mistral*", "mixtral*", "qwen2*", "qwen3*",
                                    "smollm3",   "phi*",      "olmo2",    "granite",  "gemma*", "falcon*",
                                    "stablelm*", "gpt_neox*", "gpt_oss*", NULL};

struct golden {
    struct safetensors *file;
    int32_t *ids, n_id; /* the prompt */
    const int64_t *greedy;
};

static const void *tensor(const struct golden *g, const char *name)
{
    const struct tensor *t = safetensors_find(g->file, name);
    cr_assert(t, "no %s", name);
    return t->data;
}

static struct golden golden_open(const char *dir)
{
    char path[2 * SUPPORT_PATH];
    struct golden g = {0};
    struct why why = {""};
    snprintf(path, sizeof path, "%s/golden.safetensors", dir);
    cr_assert_eq(safetensors_open(&g.file, path, &why), 0, "%s", why.text);
    const int64_t *ids = tensor(&g, "input_ids");
    g.n_id = (int32_t)safetensors_find(g.file, "input_ids")->dim[0];
    g.ids = calloc((size_t)g.n_id, sizeof *g.ids);
    cr_assert(g.ids);
    for (int32_t i = 0; i < g.n_id; i++)
        g.ids[i] = (int32_t)ids[i];
    g.greedy = tensor(&g, "greedy");
    return g;
}

static void golden_close(struct golden *g)
{
    safetensors_free(g->file);
    free(g->ids);
}

/* Greatest deviation over rows. The reference must not be so small that zeros would pass. */
static double rows_deviation(const float *got, const float *want, int32_t n_row, int32_t n)
{
    double worst = 0, greatest = 0;
    for (int32_t i = 0; i < n_row; i++)
        worst = fmax(worst,
                     fixture_deviation(got + (size_t)i * (size_t)n, want + (size_t)i * (size_t)n, (size_t)n));
    for (size_t i = 0; i < (size_t)n_row * (size_t)n; i++)
        greatest = fmax(greatest, fabs((double)want[i]));
    cr_assert(greatest > 0.01);
    return worst;
}

static int32_t best_of(const float *logits, int32_t n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

static void check_prompt(const struct sequence *s, const struct golden *g, const char *what,
                         double *worst_hidden, double *worst_logits)
{
    const struct model_info *info = model_info(s->model);
    for (int32_t i = 0; i <= info->n_layer; i++) {
        char name[32];
        snprintf(name, sizeof name, "hidden.%d", i);
        double deviation = rows_deviation(s->hidden[i], tensor(g, name), g->n_id, info->dim);
        cr_assert(deviation <= FIXTURE_GATE_HIDDEN, "%s: %s is off by %g", what, name, deviation);
        *worst_hidden = fmax(*worst_hidden, deviation);
    }
    const float *want = tensor(g, "logits");
    double deviation = rows_deviation(s->all_logits, want, g->n_id, info->n_vocab);
    cr_assert(deviation <= FIXTURE_GATE_LOGITS, "%s: logits are off by %g", what, deviation);
    *worst_logits = fmax(*worst_logits, deviation);
}

static void check_greedy(struct sequence *s, const struct golden *g, const char *what, double *worst_logits)
{
    int32_t n_vocab = model_info(s->model)->n_vocab;
    const float *want = tensor(g, "greedy_logits");
    for (int32_t i = 0; i < N_GREEDY; i++) {
        double deviation = rows_deviation(s->logits, want + (size_t)i * (size_t)n_vocab, 1, n_vocab);
        cr_assert(deviation <= FIXTURE_GATE_LOGITS, "%s: greedy logits %d are off by %g", what, i, deviation);
        *worst_logits = fmax(*worst_logits, deviation);
        int32_t id = best_of(s->logits, n_vocab);
        cr_assert_eq(id, g->greedy[i], "%s: greedy token %d is %d, not %" PRId64, what, i, id, g->greedy[i]);
        if (i + 1 < N_GREEDY)
            sequence_feed(s, &id, 1, 1);
    }
}

static void check_case(const char *dir, const char *config_name, const char *level, double *worst_hidden,
                       double *worst_logits)
{
    char temp[SUPPORT_PATH], what[2 * SUPPORT_PATH];
    snprintf(what, sizeof what, "%s/%s, %s", dir, config_name, level ? level : "best");
    support_dir_make(temp);
    fixture_link(temp, dir, config_name);
    struct golden g = golden_open(temp);
    struct model *model = fixture_open(temp, level, 2, CHUNK);
    struct sequence *s = sequence_new(model, false);
    s->length = g.n_id + N_GREEDY;
    sequence_record(s, s->length);
    sequence_feed(s, g.ids, g.n_id, CHUNK);
    check_prompt(s, &g, what, worst_hidden, worst_logits);
    check_greedy(s, &g, what, worst_logits);
    sequence_free(s);
    model_free(model);
    golden_close(&g);
    support_dir_remove(temp);
}

/* Calls fn for each case below root whose name matches one of `cases`; how many there were. */
static int for_each_case(const char *root, void (*fn)(const char *dir, void *ctx), void *ctx)
{
    int n_case = 0;
    DIR *d = opendir(root);
    cr_assert(d, "%s: %m", root);
    for (struct dirent *e; (e = readdir(d));)
        for (const char *const *p = cases; *p; p++)
            if (!fnmatch(*p, e->d_name, FNM_PERIOD)) {
                char dir[2 * SUPPORT_PATH];
                snprintf(dir, sizeof dir, "%s/%s", root, e->d_name);
                fn(dir, ctx);
                n_case++;
            }
    closedir(d);
    cr_assert(n_case > 0, "no case in %s", root);
    return n_case;
}

struct worst {
    const char *level;
    double hidden, logits;
};

/* Both spellings of the configuration. */
static void check_both(const char *dir, void *ctx)
{
    struct worst *worst = ctx;
    check_case(dir, "config.json", worst->level, &worst->hidden, &worst->logits);
    check_case(dir, "config.v5.json", worst->level, &worst->hidden, &worst->logits);
}

static void check_cases(const char *root, const char *level)
{
    struct worst worst = {.level = level};
    int n_case = for_each_case(root, check_both, &worst);
    cr_log_info("%s: %d cases, hidden states within %.2g, logits within %.2g\n", level ? level : "best",
                n_case, worst.hidden, worst.logits);
}

static void check_given(const char *level)
{
    char root[SUPPORT_PATH];
    support_data(root, "golden");
    check_cases(root, level);
}

Test(golden, own_cases)
{
    char root[SUPPORT_PATH];
    support_source(root, "tests/data/golden");
    check_cases(root, NULL);
}

Test(golden, given_cases_in_c)
{
    check_given("c");
}

Test(golden, given_cases_with_avx2)
{
    check_given("avx2");
}

Test(golden, given_cases_with_avx512)
{
    check_given("avx512");
}

/* Everything a sequence leaves, to be compared bit by bit. */
struct outcome {
    int32_t greedy[N_GREEDY];
    float *logits; /* [n_id + N_GREEDY - 1][n_vocab] */
    size_t n_byte;
};

static struct outcome outcome_of(struct model *model, const struct golden *g, int32_t chunk, bool from_first)
{
    struct outcome o;
    struct sequence *s = sequence_new(model, from_first);
    s->length = g->n_id + N_GREEDY;
    sequence_record(s, s->length);
    sequence_feed(s, g->ids, g->n_id, chunk);
    sequence_greedy(s, o.greedy, N_GREEDY);
    o.n_byte = (size_t)s->n_tok * (size_t)model_info(model)->n_vocab * sizeof *o.logits;
    o.logits = s->all_logits;
    s->all_logits = NULL;
    sequence_free(s);
    return o;
}

static void assert_same(const struct outcome *want, struct outcome got, const char *what)
{
    cr_assert_eq(got.n_byte, want->n_byte);
    cr_assert(!memcmp(got.logits, want->logits, want->n_byte), "%s: other bits", what);
    cr_assert(!memcmp(got.greedy, want->greedy, sizeof got.greedy), "%s: other ids", what);
    free(got.logits);
}

static void check_same_bits(const char *level)
{
    char dir[SUPPORT_PATH];
    support_source(dir, "tests/data/golden/llama-rope-llama3");
    struct golden g = golden_open(dir);
    struct model *model = fixture_open(dir, level, 1, CHUNK);
    struct outcome want = outcome_of(model, &g, CHUNK, true);
    assert_same(&want, outcome_of(model, &g, 1, true), "one by one");
    assert_same(&want, outcome_of(model, &g, 7, false), "chunks of 7 on other pages");
    model_free(model);
    for (int32_t n_thread = 2; n_thread <= 4; n_thread++) {
        model = fixture_open(dir, level, n_thread, CHUNK);
        assert_same(&want, outcome_of(model, &g, 31, true), "several threads");
        model_free(model);
    }
    free(want.logits);
    golden_close(&g);
}

Test(golden, same_bits_in_c)
{
    check_same_bits("c");
}

Test(golden, same_bits_with_avx2)
{
    check_same_bits("avx2");
}

Test(golden, same_bits_with_avx512)
{
    check_same_bits("avx512");
}

/* Every family: single tokens and chunks, other pages and threads, and A after B. */
static void check_family_bits(const char *dir, void *ctx)
{
    (void)ctx;
    struct golden a = golden_open(dir), b = golden_open(dir);
    for (int32_t i = 0; i < b.n_id; i++)
        b.ids[i] = (b.ids[i] * 7 + i) % 320;
    struct model *model = fixture_open(dir, NULL, 1, CHUNK);
    struct outcome want = outcome_of(model, &a, CHUNK, true);
    assert_same(&want, outcome_of(model, &a, 1, true), dir);
    struct outcome other = outcome_of(model, &b, CHUNK, true);
    cr_assert(memcmp(want.logits, other.logits, want.n_byte), "%s: the prompt makes no difference", dir);
    free(other.logits);
    assert_same(&want, outcome_of(model, &a, 7, false), dir);
    model_free(model);
    model = fixture_open(dir, NULL, 3, CHUNK);
    assert_same(&want, outcome_of(model, &a, 31, true), dir);
    model_free(model);
    free(want.logits);
    golden_close(&a);
    golden_close(&b);
}

Test(golden, same_bits_of_all_families)
{
    char root[SUPPORT_PATH];
    support_data(root, "golden");
    for_each_case(root, check_family_bits, NULL);
}

/* A context of n_ctx positions in steps of n_row rows, the last ones one by one: logits and ids. */
static struct outcome long_outcome(const char *dir, int32_t n_ctx, int32_t max_row, int32_t n_row,
                                   int32_t *ret_n_window_page)
{
    struct golden g = golden_open(dir);
    struct model *model = fixture_open_context(dir, NULL, 2, max_row, n_ctx);
    int32_t n_prompt = n_ctx - N_GREEDY;
    int32_t *ids = calloc((size_t)n_prompt, sizeof *ids);
    cr_assert(ids);
    for (int32_t i = 0; i < n_prompt; i++)
        ids[i] = (g.ids[i % g.n_id] + i / g.n_id * 11) % model_info(model)->n_vocab;
    struct outcome o;
    struct sequence *s = sequence_new(model, n_row > 1);
    sequence_record(s, n_ctx);
    sequence_feed(s, ids, n_prompt, n_row);
    sequence_greedy(s, o.greedy, N_GREEDY);
    o.n_byte = (size_t)s->n_tok * (size_t)model_info(model)->n_vocab * sizeof *o.logits;
    o.logits = s->all_logits;
    s->all_logits = NULL;
    *ret_n_window_page = model_n_window_page(model);
    sequence_free(s);
    free(ids);
    model_free(model);
    golden_close(&g);
    return o;
}

/* Pages that a window has passed are used again: a model that has fewer window pages than its context,
 * because its steps are short, against one that has a window page for each. */
static void check_window_pages(const char *dir, void *ctx)
{
    int32_t n_page, n_few, *n_window_case = ctx;
    struct model *model = fixture_open(dir, NULL, 1, 1);
    int32_t n_ctx = model_info(model)->n_ctx < N_LONG ? model_info(model)->n_ctx : N_LONG;
    model_free(model);
    struct outcome want = long_outcome(dir, n_ctx, n_ctx, CHUNK, &n_page);
    if (n_page > 0) {
        ++*n_window_case;
        assert_same(&want, long_outcome(dir, n_ctx, CHUNK, CHUNK, &n_few), dir);
        cr_assert(n_few == 2 && n_page == 4, "%s: %d, %d", dir, n_few, n_page);
        assert_same(&want, long_outcome(dir, n_ctx, 8, 7, &n_few), dir);
        cr_assert(n_few == 1, "%s: %d", dir, n_few);
        assert_same(&want, long_outcome(dir, n_ctx, 1, 1, &n_few), dir);
        cr_assert(n_few == 1, "%s: %d", dir, n_few);
    }
    free(want.logits);
}

Test(golden, window_pages_are_used_again)
{
    char root[SUPPORT_PATH];
    int32_t n_window_case = 0;
    support_data(root, "golden");
    for_each_case(root, check_window_pages, &n_window_case);
    cr_assert(n_window_case >= 5, "%d cases with windows", n_window_case);
}

/* More rows than the logits of one step: the last row's are the same after a single prefill. */
Test(golden, one_prefill)
{
    char dir[SUPPORT_PATH];
    support_source(dir, "tests/data/golden/llama-rope-llama3");
    struct golden g = golden_open(dir);
    cr_assert(g.n_id > MODEL_MAX_LOGIT_ROW);
    struct model *model = fixture_open(dir, NULL, 2, g.n_id);
    struct sequence *whole = sequence_new(model, true);
    sequence_feed(whole, g.ids, g.n_id, g.n_id);
    float *logits = calloc((size_t)model_info(model)->n_vocab, sizeof *logits);
    cr_assert(logits);
    memcpy(logits, whole->logits, (size_t)model_info(model)->n_vocab * sizeof *logits);
    sequence_free(whole);
    struct sequence *single = sequence_new(model, false);
    sequence_feed(single, g.ids, g.n_id, 1);
    cr_assert(!memcmp(logits, single->logits, (size_t)model_info(model)->n_vocab * sizeof *logits));
    sequence_free(single);
    free(logits);
    model_free(model);
    golden_close(&g);
}

/* Prompt A, prompt B, prompt A again on the same pages. */
Test(golden, a_b_a)
{
    char dir[SUPPORT_PATH];
    support_source(dir, "tests/data/golden/llama");
    struct golden a = golden_open(dir), b = golden_open(dir);
    for (int32_t i = 0; i < b.n_id; i++)
        b.ids[i] = (b.ids[i] * 7 + i) % 320;
    struct model *model = fixture_open(dir, NULL, 2, CHUNK);
    struct outcome first = outcome_of(model, &a, CHUNK, true), other = outcome_of(model, &b, CHUNK, true);
    cr_assert(memcmp(first.logits, other.logits, first.n_byte), "the prompt makes no difference");
    assert_same(&first, outcome_of(model, &a, CHUNK, true), "A after B");
    free(first.logits);
    free(other.logits);
    model_free(model);
    golden_close(&a);
    golden_close(&b);
}

/* Two sequences in one step, one in prefill and one decoding, against each alone. */
Test(golden, mixed_batch)
{
    char dir[SUPPORT_PATH];
    support_source(dir, "tests/data/golden/llama");
    struct golden g = golden_open(dir);
    struct model *model = fixture_open(dir, NULL, 2, CHUNK);
    size_t row_bytes = (size_t)model_info(model)->n_vocab * sizeof(float);
    int32_t n_decoded = g.n_id - 1;
    struct sequence *decoding = sequence_new(model, true), *prefill = sequence_new(model, false);
    sequence_feed(decoding, g.ids, n_decoded, CHUNK);

    int32_t tokens[CHUNK], rows[2], n_row = 0;
    struct lk_span spans[2] = {
        {.pages = prefill->pages, .row = 0, .n_row = 5, .length = CHUNK},
        {.pages = decoding->pages, .row = 5, .n_row = 1, .pos = n_decoded, .length = CHUNK}};
    for (; n_row < 5; n_row++)
        tokens[n_row] = g.ids[g.n_id - 1 - n_row];
    tokens[n_row++] = g.ids[n_decoded];
    rows[0] = 5, rows[1] = 4;
    struct model_batch batch = {.rows = {.token = tokens, .n_row = n_row, .span = spans, .n_span = 2},
                                .logit_rows = rows,
                                .n_logit = 2};
    atomic_bool abort = false;
    model_trace(model, NULL, NULL);
    cr_assert_eq(model_forward(model, &batch, &abort), 0);
    float *together = malloc(2 * row_bytes);
    cr_assert(together);
    memcpy(together, model_logits(model, 0), row_bytes);
    memcpy((char *)together + row_bytes, model_logits(model, 1), row_bytes);

    sequence_feed(decoding, &g.ids[n_decoded], 1, 1);
    cr_assert(!memcmp(together, decoding->logits, row_bytes), "the decoding row");
    sequence_feed(prefill, tokens, 5, 5);
    cr_assert(!memcmp((char *)together + row_bytes, prefill->logits, row_bytes), "the prefill's last row");
    free(together);
    sequence_free(decoding);
    sequence_free(prefill);
    model_free(model);
    golden_close(&g);
}

/* An abort that is already set ends the step; the next one computes as if nothing had been. */
Test(golden, abort)
{
    char dir[SUPPORT_PATH];
    support_source(dir, "tests/data/golden/llama");
    struct golden g = golden_open(dir);
    struct model *model = fixture_open(dir, NULL, 2, CHUNK);
    struct outcome want = outcome_of(model, &g, CHUNK, true);
    struct sequence *s = sequence_new(model, true);
    struct lk_span span = {.pages = s->pages, .n_row = g.n_id, .length = g.n_id};
    struct model_batch batch = {.rows = {.token = g.ids, .n_row = g.n_id, .span = &span, .n_span = 1}};
    atomic_bool abort = true;
    cr_assert_eq(model_forward(model, &batch, &abort), LK_E_ABORTED);
    assert_same(&want, outcome_of(model, &g, CHUNK, true), "after an abort");
    sequence_free(s);
    free(want.logits);
    model_free(model);
    golden_close(&g);
}
