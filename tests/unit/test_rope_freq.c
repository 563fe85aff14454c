/* src/model/rope_freq.c: frequencies against a computation in double that follows the papers. */
#include "config.h"

#include "src/model/rope_freq.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "src/model/rope_config.h"

enum { MAX_FREQ = 128 };

/* Relative: a float32's own rounding, and what rounding the exponent does to the smallest frequency
 * (ln(theta) times as much). */
#define TOLERANCE 1e-6

static struct json *parse(const char *text)
{
    struct json *root = NULL;
    struct why why = {""};
    cr_assert_eq(json_parse(&root, text, strlen(text), &why), 0, "%s", why.text);
    return root;
}

static struct rope_freq read_ok(struct arena *arena, const char *config, int32_t head_dim, int32_t n_ctx)
{
    struct rope_freq rope;
    struct rope_want want = {.head_dim = head_dim, .n_ctx = n_ctx, .theta = 10000, .part = 1};
    struct why why = {""};
    struct json *root = parse(config);
    cr_assert_eq(rope_config_read(root, &want, arena, &rope, &why), 0, "%s: %s", config, why.text);
    json_free(root);
    return rope;
}

static void check_table(const float *got, const double *want, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        cr_assert(fabs((double)got[i] - want[i]) <= TOLERANCE * want[i], "frequency %d is %.9g, not %.9g", i,
                  (double)got[i], want[i]);
        for (int32_t pos = 1; pos <= 131072; pos *= 2) {
            double angle = pos * (double)got[i], exact = pos * want[i], bound = TOLERANCE * exact + 1e-12;
            cr_assert(fabs(cos(angle) - cos(exact)) <= bound && fabs(sin(angle) - sin(exact)) <= bound);
        }
    }
}

/* Frequencies, and the angles' cosines and sines at positions up to 131,072. */
static void check(const struct rope_freq *rope, const double *want)
{
    struct arena arena = ARENA_NULL;
    struct lk_rope got;
    cr_assert_eq(rope_freq_make(rope, &arena, &got), 0);
    cr_assert(got.n_freq == rope->n_rot / 2 && got.scale == rope->scale && !got.long_inv_freq);
    check_table(got.inv_freq, want, got.n_freq);
    arena_deinit(&arena);
}

static double plain(double theta, int32_t n_rot, int32_t i)
{
    return exp(-log(theta) * 2 * i / n_rot);
}

Test(rope_freq, plain)
{
    struct arena arena = ARENA_NULL;
    static const struct {
        const char *config;
        double theta;
        int32_t n_rot;
    } cases[] = {
        {"{}", 10000, 128},
        {"{\"rope_theta\": 500000.0, \"rope_scaling\": null}", 500000, 64},
        {"{\"rope_parameters\": {\"rope_theta\": 5000000, \"rope_type\": \"default\"}}", 5000000, 96},
        {"{\"rope_theta\": 1e6, \"rope_parameters\": {\"rope_theta\": 1000000.0}}", 1e6, 80},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct rope_freq rope = read_ok(&arena, cases[c].config, cases[c].n_rot, 4096);
        double want[MAX_FREQ];
        for (int32_t i = 0; i < rope.n_rot / 2; i++)
            want[i] = plain(cases[c].theta, cases[c].n_rot, i);
        cr_assert(rope.scale == 1 && rope.n_ctx == 4096 && rope.n_rot == cases[c].n_rot);
        check(&rope, want);
    }
    arena_deinit(&arena);
}

Test(rope_freq, linear)
{
    struct arena arena = ARENA_NULL;
    struct rope_freq rope =
        read_ok(&arena, "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 8.0}}", 128, 16384);
    double want[MAX_FREQ];
    for (int32_t i = 0; i < 64; i++)
        want[i] = plain(10000, 128, i) / 8;
    check(&rope, want);
    cr_assert_eq(rope.n_ctx, 16384);
    arena_deinit(&arena);
}

Test(rope_freq, dynamic_stays_within_its_original_length)
{
    struct arena arena = ARENA_NULL;
    struct rope_freq rope =
        read_ok(&arena, "{\"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2.0}}", 128, 4096);
    cr_assert_eq(rope.n_ctx, 4096);
    double want[MAX_FREQ];
    for (int32_t i = 0; i < 64; i++)
        want[i] = plain(10000, 128, i);
    check(&rope, want);
    rope = read_ok(&arena,
                   "{\"rope_parameters\": {\"rope_type\": \"dynamic\", \"factor\": 2.0, "
                   "\"original_max_position_embeddings\": 2048}}",
                   128, 4096);
    cr_assert_eq(rope.n_ctx, 2048);
    arena_deinit(&arena);
}

/* The published text of Llama 3.1's rule, by wavelengths. */
Test(rope_freq, llama3)
{
    struct arena arena = ARENA_NULL;
    struct rope_freq rope = read_ok(
        &arena,
        "{\"rope_theta\": 500000.0, \"rope_scaling\": {\"factor\": 32.0, \"low_freq_factor\": 1.0, \"type\": "
        "\"llama3\", "
        "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192, \"rope_type\": \"llama3\"}}",
        64, 131072);
    double want[MAX_FREQ], long_wave = 8192 / 1.0, short_wave = 8192 / 4.0;
    int n_between = 0;
    for (int32_t i = 0; i < 32; i++) {
        double freq = plain(500000, 64, i), wave = 2 * acos(-1) / freq;
        if (wave < short_wave) {
            want[i] = freq;
        } else if (wave > long_wave) {
            want[i] = freq / 32;
        } else {
            double smooth = (8192 / wave - 1) / (4 - 1);
            want[i] = (1 - smooth) * freq / 32 + smooth * freq;
            n_between++;
        }
    }
    cr_assert(n_between > 0);
    check(&rope, want);
    cr_assert(rope.scale == 1 && rope.n_ctx == 131072);
    arena_deinit(&arena);
}

/* The paper's gamma over r(d) = L / wavelength(d) uses exact borders; published code rounds them to whole
 * indexes. */
static void yarn_want(double *want, double theta, int32_t n_rot, double original, double factor,
                      bool truncate)
{
    double pi = acos(-1), low = n_rot * log(original / (32 * 2 * pi)) / (2 * log(theta)),
           high = n_rot * log(original / (1 * 2 * pi)) / (2 * log(theta));
    low = truncate ? floor(low) : low;
    high = truncate ? ceil(high) : high;
    low = low < 0 ? 0 : low;
    high = high > n_rot - 1 ? n_rot - 1 : high;
    for (int32_t i = 0; i < n_rot / 2; i++) {
        double t = (i - low) / (high - low),
               kept = 1 - (t < 0   ? 0
                           : t > 1 ? 1
                                   : t),
               freq = plain(theta, n_rot, i);
        want[i] = freq * kept + freq / factor * (1 - kept);
    }
}

Test(rope_freq, yarn)
{
    struct arena arena = ARENA_NULL;
    struct rope_freq rope =
        read_ok(&arena,
                "{\"rope_theta\": 1e6, \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, "
                "\"original_max_position_embeddings\": 32768}}",
                128, 131072);
    double want[MAX_FREQ];
    yarn_want(want, 1e6, 128, 32768, 4, true);
    check(&rope, want);
    cr_assert_float_eq((double)rope.scale, 0.1 * log(4) + 1, 1e-7);

    rope = read_ok(
        &arena,
        "{\"rope_theta\": 150000, \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 32.0, "
        "\"truncate\": "
        "false, \"beta_fast\": 32.0, \"beta_slow\": 1.0, \"original_max_position_embeddings\": 4096}}",
        64, 131072);
    yarn_want(want, 150000, 64, 4096, 32, false);
    check(&rope, want);
    arena_deinit(&arena);
}

/* The ramp ends at the last element at the latest. */
Test(rope_freq, yarn_clamped)
{
    struct arena arena = ARENA_NULL;
    struct rope_freq rope =
        read_ok(&arena,
                "{\"rope_theta\": 10, \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4, "
                "\"original_max_position_embeddings\": 635}}",
                16, 131072);
    double want[MAX_FREQ];
    yarn_want(want, 10, 16, 635, 4, true);
    check(&rope, want);
    rope.theta = 1e30; /* and begins at the first */
    yarn_want(want, 1e30, 16, 635, 4, true);
    check(&rope, want);
    arena_deinit(&arena);
}

Test(rope_freq, yarn_attention_factor)
{
    struct arena arena = ARENA_NULL;
    struct rope_freq rope =
        read_ok(&arena,
                "{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40, \"mscale\": 1.0, "
                "\"mscale_all_dim\": 0.707, \"original_max_position_embeddings\": 4096}}",
                64, 163840);
    cr_assert_float_eq((double)rope.scale, (0.1 * log(40) + 1) / (0.0707 * log(40) + 1), 1e-6);
    rope =
        read_ok(&arena, "{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40, \"attention_factor\": 1.5}}",
                64, 4096);
    cr_assert_float_eq((double)rope.scale, 1.5, 1e-7);
    rope = read_ok(&arena, "{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 1}}", 64, 4096);
    cr_assert_float_eq((double)rope.scale, 1, 1e-7);
    arena_deinit(&arena);
}

/* Ding et al. 2024: wave i is lambda_i times as long; a set for lengths up to the original one, one beyond.
 * The attention's scale is sqrt(1 + ln s / ln L). */
Test(rope_freq, longrope)
{
    struct arena arena = ARENA_NULL;
    static const char *const configs[] = {
        "{\"original_max_position_embeddings\": 4096, \"rope_scaling\": {\"type\": \"longrope\", "
        "\"short_factor\": "
        "[1, 1.1, 1.25, 2], \"long_factor\": [1.07, 5.91, 37.28, 64.76]}}",
        "{\"original_max_position_embeddings\": 4096, \"rope_scaling\": {\"type\": \"su\", \"short_factor\": "
        "[1, 1.1, 1.25, 2], \"long_factor\": [1.07, 5.91, 37.28, 64.76]}}",
        "{\"rope_parameters\": {\"rope_type\": \"longrope\", \"original_max_position_embeddings\": 4096, "
        "\"rope_theta\": 10000.0, \"short_factor\": [1, 1.1, 1.25, 2], \"long_factor\": [1.07, 5.91, 37.28, "
        "64.76]}}",
    };
    static const double near[] = {1, 1.1, 1.25, 2}, far[] = {1.07, 5.91, 37.28, 64.76};
    for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
        struct rope_freq rope = read_ok(&arena, configs[c], 8, 131072);
        struct lk_rope got;
        cr_assert_eq(rope_freq_make(&rope, &arena, &got), 0);
        double want[4], want_long[4];
        for (int32_t i = 0; i < 4; i++) {
            want[i] = plain(10000, 8, i) / near[i];
            want_long[i] = plain(10000, 8, i) / far[i];
        }
        check_table(got.inv_freq, want, 4);
        check_table(got.long_inv_freq, want_long, 4);
        cr_assert(got.short_ctx == 4096 && rope.n_ctx == 131072);
        cr_assert_float_eq((double)got.scale, sqrt(1 + log(32) / log(4096)), 1e-6);
    }
    arena_deinit(&arena);
}
