/* Kernels that go row by row or element by element. */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kv.h"
#include "tests/gpu/rig_cuda.h"

enum { MAX_DIM = 256 };

static const struct {
    int n_row, n;
    unsigned n_thread;
} norm_cases[] = {{3, 64, 32}, {2, 516, 128}, {1, 2048, 1024}, {2, 4, 32}, {1, 8192, 256}};

static bool norm_case(int n_row, int n, unsigned n_thread, bool layer, bool bias, enum check_kind kind)
{
    struct check_rng rng = check_rng_for((uint64_t)n * 7 + layer);
    const size_t all = (size_t)n_row * (size_t)n, bytes = all * sizeof(float);
    float *x = rig_floats(&rng, all, kind), *w = rig_floats(&rng, (size_t)n, CHECK_PLAIN);
    float *b = rig_floats(&rng, (size_t)n, CHECK_PLAIN), *want = check_allocate(all, sizeof *want),
          eps = 1e-5f;
    double *ref = check_allocate(all, sizeof *ref), *bound = check_allocate(all, sizeof *bound);
    CUdeviceptr dx = rig_put(x, bytes), dw = rig_put(w, (size_t)n * 4),
                db = bias ? rig_put(b, (size_t)n * 4) : 0;
    CUdeviceptr dy = rig_new(bytes);
    check_case("%d rows of %d, %u threads, kind %d", n_row, n, n_thread, (int)kind);
    const struct context_launch launch = {.grid = {(unsigned)n_row}, .block = {n_thread}};
    if (layer)
        rig_run("layernorm", &launch, (void *[]){&dy, &dx, &dw, &db, &n, &eps});
    else
        rig_run("rmsnorm", &launch, (void *[]){&dy, &dx, &dw, &n, &eps});
    for (int r = 0; r < n_row; r++) {
        const float *xr = x + (size_t)r * (size_t)n;
        double squares = 0, mean = 0, size = 0;
        for (int i = 0; i < n; i++)
            mean += layer ? (double)xr[i] / n : 0;
        for (int i = 0; i < n; i++) {
            squares += ((double)xr[i] - mean) * ((double)xr[i] - mean);
            size += fabs((double)xr[i]);
        }
        if (layer)
            rig_c.layernorm(want + (size_t)r * (size_t)n, xr, w, bias ? b : NULL, (size_t)n, eps);
        else
            rig_c.rmsnorm(want + (size_t)r * (size_t)n, xr, w, (size_t)n, eps);
        /* The sum of squares has n positive terms: its error is a chain's share of itself, halved by the
         * root. The mean's error, a share of the sum of magnitudes, moves every element and so the squares
         * too. */
        const double chain = n / (double)n_thread + 16, root = sqrt(squares / n + (double)eps);
        const double d_mean = layer ? chain * FLT_EPSILON * size / n : 0;
        for (int i = 0; i < n; i++) {
            const size_t at = (size_t)r * (size_t)n + (size_t)i;
            const double centred = fabs((double)xr[i] - mean), wi = fabs((double)w[i]);
            ref[at] = (double)want[at];
            bound[at] = (chain * FLT_EPSILON * centred + (d_mean + centred * d_mean / root) * 2 +
                         2 * FLT_EPSILON * fabs((double)xr[i])) /
                            root * wi +
                        2 * FLT_EPSILON * (fabs(ref[at]) + (bias ? fabs((double)b[i]) : 0)) + 1e-37;
        }
    }
    float *y = rig_get(dy, bytes);
    bool ok = rig_close_to(y, ref, bound, all);
    free(x), free(w), free(b), free(want), free(ref), free(bound), free(y);
    rig_end();
    return ok;
}

static void test_norms(void)
{
    bool rms = true, layer = true;
    for (size_t i = 0; i < sizeof norm_cases / sizeof *norm_cases; i++)
        for (int kind = 0; kind < CHECK_N_KIND; kind++) {
            const int n_row = norm_cases[i].n_row, n = norm_cases[i].n;
            rms = norm_case(n_row, n, norm_cases[i].n_thread, false, false, (enum check_kind)kind) && rms;
            layer = norm_case(n_row, n, norm_cases[i].n_thread, true, i % 2, (enum check_kind)kind) && layer;
        }
    check_point(rms, "rmsnorm");
    check_point(layer, "layernorm");
}

static bool embed_case(const char *name, enum lk_dtype type, int n)
{
    enum { N_VOCAB = 37, N_ROW = 5 };
    static const int token[N_ROW] = {0, 36, 17, 17, 1};
    struct check_rng rng = check_rng_for((uint64_t)n);
    const size_t row = lk_dtype_bytes(type, (size_t)n);
    float *values = rig_floats(&rng, N_VOCAB * (size_t)n, CHECK_WIDE),
          *want = check_allocate((size_t)n, sizeof *want);
    char *table = check_allocate(N_VOCAB, row);
    bool ok = true;
    check_store(table, type, values, N_VOCAB * (size_t)n, NULL);
    CUdeviceptr dt = rig_put(table, N_VOCAB * row), dk = rig_put(token, sizeof token);
    CUdeviceptr dy = rig_new(N_ROW * (size_t)n * sizeof(float));
    rig_run(name, &(struct context_launch){.grid = {N_ROW}, .block = {64}}, (void *[]){&dy, &dt, &dk, &n});
    float *y = rig_get(dy, N_ROW * (size_t)n * sizeof(float));
    for (int r = 0; r < N_ROW; r++) {
        rig_c.widen[type](want, table + (size_t)token[r] * row, (size_t)n);
        check_case("%s, row %d", name, r);
        ok = check_same(want, y + (size_t)r * (size_t)n, (size_t)n, "the row") && ok;
    }
    free(values), free(want), free(table), free(y);
    rig_end();
    return ok;
}

static bool act_case(const char *name, lk_act_mul_fn definition, size_t n, enum check_kind kind)
{
    struct check_rng rng = check_rng_for(n);
    float *g = rig_floats(&rng, n, kind), *u = rig_floats(&rng, n, CHECK_PLAIN),
          *want = check_allocate(n, sizeof *want);
    double *ref = check_allocate(n, sizeof *ref), *bound = check_allocate(n, sizeof *bound);
    unsigned long long n4 = n / 4;
    if (kind == CHECK_PLAIN) {
        for (size_t i = 0; i < n; i++)
            g[i] *= 20;
    }
    CUdeviceptr dg = rig_put(g, n * 4), du = rig_put(u, n * 4), dy = rig_new(n * 4);
    check_case("%s of %zu, kind %d", name, n, (int)kind);
    rig_run(name, &(struct context_launch){.grid = {3}, .block = {64}}, (void *[]){&dy, &dg, &du, &n4});
    if (definition)
        definition(want, g, u, n);
    for (size_t i = 0; i < n; i++) {
        /* A few roundings of the result, and of 1 + erf or of the exponent: both are absolute errors of a
         * factor of g that is at most 1, the exponent's growing with its size up to where the result has
         * vanished. */
        const double size = fabs((double)g[i] * (double)u[i]);
        ref[i] = (double)want[i];
        bound[i] = definition ? 8 * FLT_EPSILON * fabs(ref[i]) + 4 * FLT_EPSILON * size + 1e-37 : 0;
    }
    float *y = rig_get(dy, n * 4);
    bool ok = rig_close_to(y, ref, bound, n);
    free(g), free(u), free(want), free(ref), free(bound), free(y);
    rig_end();
    return ok;
}

static bool add_case(size_t n)
{
    struct check_rng rng = check_rng_for(n);
    float *a = rig_floats(&rng, n, CHECK_WIDE), *b = rig_floats(&rng, n, CHECK_WIDE);
    unsigned long long n4 = n / 4;
    CUdeviceptr da = rig_put(a, n * 4), db = rig_put(b, n * 4);
    rig_run("add", &(struct context_launch){.grid = {2}, .block = {64}}, (void *[]){&da, &db, &n4});
    float *y = rig_get(da, n * 4);
    rig_c.add(a, b, n);
    bool ok = check_same(a, y, n, "the sum");
    free(a), free(b), free(y);
    rig_end();
    return ok;
}

static void test_elements(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } acts[] = {{"silu_mul", offsetof(struct lk_cpu, silu_mul)},
                {"gelu_mul", offsetof(struct lk_cpu, gelu_mul)},
                {"gelu_tanh_mul", offsetof(struct lk_cpu, gelu_tanh_mul)}};
    bool ok = embed_case("embed_f32", LK_F32, 64) && embed_case("embed_f32", LK_F32, 1028);
    check_point(ok, "embed_f32");
    check_point(embed_case("embed_f16", LK_F16, 8) && embed_case("embed_f16", LK_F16, 1032), "embed_f16");
    check_point(embed_case("embed_bf16", LK_BF16, 8) && embed_case("embed_bf16", LK_BF16, 1032),
                "embed_bf16");
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        lk_act_mul_fn definition;
        memcpy(&definition, (char *)&rig_c + acts[i].offset, sizeof definition);
        ok = true;
        for (int kind = 0; kind < CHECK_N_KIND; kind++)
            ok = act_case(acts[i].name, definition, 4, (enum check_kind)kind) &&
                 act_case(acts[i].name, definition, 1000, (enum check_kind)kind) && ok;
        check_point(ok, "%s", acts[i].name);
    }
    check_point(add_case(4) && add_case(1000), "add");
}

struct rope_shape {
    int n_row, n_head, n_kv_head, head_dim, n_freq, layout;
};

/* What element i is turned with. */
static int rope_partner(const struct rope_shape *s, int i)
{
    return s->layout ? i ^ 1 : i < s->n_freq ? i + s->n_freq : i - s->n_freq;
}

/* One head, stored in a type, as the C definition turns it (or not): two products of at most the two elements
 * each and one sum, then the type's own rounding: half of the last bit, also where that is below its normal
 * numbers. */
static bool rope_check(const struct rope_shape *s, bool turns, enum lk_dtype type, const float *x,
                       const float *c, const void *stored)
{
    const double half_ulp = type == LK_F16 ? 1.0 / 2048 : type == LK_BF16 ? 1.0 / 256 : 0;
    const double least = type == LK_F16 ? 0x1p-25 : type == LK_BF16 ? 0x1p-134 : 0;
    float want[MAX_DIM], y[MAX_DIM];
    bool ok = true;
    memcpy(want, x, (size_t)s->head_dim * sizeof *want);
    rig_c.widen[type](y, stored, (size_t)s->head_dim);
    if (turns)
        (s->layout ? rig_c.rope_pair : rig_c.rope_half)(want, c, c + s->n_freq, (size_t)s->n_freq);
    for (int i = 0; i < s->head_dim; i++) {
        const double size =
            turns && i < 2 * s->n_freq ? fabs((double)x[i]) + fabs((double)x[rope_partner(s, i)]) : 0;
        const double turned = 2 * FLT_EPSILON * size, rounded = half_ulp * (fabs((double)want[i]) + turned);
        ok = check_close(y[i], (double)want[i], turned + rounded + least, (size_t)i) && ok;
    }
    return ok;
}

static bool rope_case(const char *name, enum lk_dtype type, const struct rope_shape *s)
{
    enum { N_PAGE = 4 };
    struct check_rng rng = check_rng_for((uint64_t)(s->head_dim + s->n_head + s->layout));
    const size_t dim = (size_t)s->head_dim, nq = (size_t)(s->n_row * s->n_head) * dim;
    const size_t nk = (size_t)(s->n_row * s->n_kv_head) * dim, angles = (size_t)(s->n_row * 2 * s->n_freq);
    const size_t pool = (size_t)(N_PAGE * s->n_kv_head * LK_KV_PAGE) * dim;
    float *q = rig_floats(&rng, nq, CHECK_PLAIN), *k = rig_floats(&rng, nk, CHECK_PLAIN),
          *v = rig_floats(&rng, nk, CHECK_PLAIN);
    float *cos_sin = check_allocate(angles, sizeof *cos_sin);
    int *slot = check_allocate((size_t)s->n_row, sizeof *slot);
    uint16_t *blank = check_allocate(pool, sizeof *blank);
    bool ok = true;
    for (int r = 0; r < s->n_row; r++) {
        slot[r] = (r * 67 + 5) % (N_PAGE * LK_KV_PAGE);
        for (int i = 0; i < s->n_freq; i++) {
            const double angle = (double)check_uniform(&rng, 100);
            cos_sin[(r * 2) * s->n_freq + i] = (float)cos(angle);
            cos_sin[(r * 2 + 1) * s->n_freq + i] = (float)sin(angle);
        }
    }
    int n_head = s->n_head, n_kv_head = s->n_kv_head, head_dim = s->head_dim, n_freq = s->n_freq,
        layout = s->layout;
    CUdeviceptr dq = rig_put(q, nq * 4), dk = rig_put(k, nk * 4), dv = rig_put(v, nk * 4),
                kp = rig_put(blank, pool * 2);
    CUdeviceptr vp = rig_put(blank, pool * 2), dc = rig_put(cos_sin, angles * 4),
                ds = rig_put(slot, (size_t)s->n_row * 4);
    check_case("%s: %d rows, %d and %d heads of %d, %d pairs, layout %d", name, s->n_row, n_head, n_kv_head,
               head_dim, n_freq, layout);
    rig_run(name,
            &(struct context_launch){.grid = {(unsigned)(n_head + 2 * n_kv_head), (unsigned)s->n_row},
                                     .block = {32}},
            (void *[]){&dq, &dk, &dv, &kp, &vp, &dc, &ds, &n_head, &n_kv_head, &head_dim, &n_freq, &layout});
    float *got = rig_get(dq, nq * 4);
    uint16_t *got_k = rig_get(kp, pool * 2), *got_v = rig_get(vp, pool * 2);
    for (int r = 0; r < s->n_row; r++) {
        const float *c = cos_sin + (size_t)(r * 2 * n_freq);
        for (int h = 0; h < n_head; h++) {
            const size_t at = (size_t)(r * n_head + h) * dim;
            ok = rope_check(s, true, LK_F32, q + at, c, got + at) && ok;
        }
        for (int h = 0; h < n_kv_head; h++) {
            const size_t from = (size_t)(r * n_kv_head + h) * dim;
            const size_t to = (size_t)(slot[r] / LK_KV_PAGE * n_kv_head + h) * LK_KV_PAGE * dim +
                              (size_t)(slot[r] % LK_KV_PAGE) * dim;
            ok = rope_check(s, true, type, k + from, c, got_k + to) && ok;
            ok = rope_check(s, false, type, v + from, c, got_v + to) && ok;
            memset(got_k + to, 0, dim * sizeof *got_k);
            memset(got_v + to, 0, dim * sizeof *got_v);
        }
    }
    if (memcmp(got_k, blank, pool * 2) || memcmp(got_v, blank, pool * 2))
        ok = check_wrong("something is written where no slot is");
    free(q), free(k), free(v), free(cos_sin), free(slot), free(blank), free(got), free(got_k), free(got_v);
    rig_end();
    return ok;
}

static void test_ropes(void)
{
    static const struct rope_shape shapes[] = {{3, 5, 1, 64, 32, 0},
                                               {2, 4, 2, 128, 64, 1},
                                               {2, 2, 2, 80, 16, 0},
                                               {1, 3, 1, 96, 20, 1},
                                               {1, 2, 1, 256, 128, 0}};
    for (int t = 0; t < 2; t++) {
        const char *name = t ? "rope_kv_bf16" : "rope_kv_f16";
        bool ok = true;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            ok = rope_case(name, t ? LK_BF16 : LK_F16, &shapes[i]) && ok;
        check_point(ok, "%s", name);
    }
}

void test_rows(void)
{
    test_norms();
    test_elements();
    test_ropes();
}
