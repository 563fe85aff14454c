/* Every operation of struct lk_cpu but for attention (check_attn.c) against plain double arithmetic.
 *
 * The bounds and their names: check_ops.h. Each operation's comment says where its depth comes from. */
#include "config.h"

#include "tests/kernels/check_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/cases.h"

/* ---- Products ---- */

/* The narrowest vectors have 8 lanes: a lane adds LK_BLOCK / 8 products, then the block results; the tree of
 * 8 or 16 lanes adds 4, the bias and the last rounding one each. */
static double matmul_depth(int32_t n_in)
{
    int32_t in_block = n_in < LK_BLOCK / 8 ? n_in : LK_BLOCK / 8;
    return in_block + (n_in + LK_BLOCK - 1) / LK_BLOCK + 6;
}

struct product {
    enum lk_dtype type;
    size_t n_in, n_out, n_row, x_stride, y_stride;
    const void *w;
    const double *w_value;
    const float *bias, *x;
    float *y;
};

static bool product_is_right(const struct product *p)
{
    double depth = matmul_depth((int32_t)p->n_in) * 1.05;
    for (size_t r = 0; r < p->n_row; r++)
        for (size_t o = 0; o < p->n_out; o++) {
            double want = p->bias ? (double)p->bias[o] : 0, size = fabs(want);
            for (size_t i = 0; i < p->n_in; i++) {
                double term = p->w_value[o * p->n_in + i] * (double)p->x[r * p->x_stride + i];
                want += term;
                size += fabs(term);
            }
            if (!check_close(p->y[r * p->y_stride + o], want, depth * U * size + (double)p->n_in * 0x1p-149,
                             r * p->y_stride + o))
                return false;
        }
    return true;
}

/* Each row alone, its outputs in two parts, at other addresses: the same bits. */
static bool product_is_independent(const struct lk_cpu *got, const struct product *p, struct check_rng *rng)
{
    size_t row_bytes = lk_dtype_bytes(p->type, p->n_in);
    for (size_t r = 0; r < p->n_row; r++) {
        size_t cut = (size_t)check_range(rng, 0, (int32_t)p->n_out);
        bool at_end = check_u64(rng) & 1;
        float *y = check_memory(OTHER, p->n_out * sizeof *y, at_end);
        float *x = check_memory(AUX, p->n_in * sizeof *x, !at_end);
        memcpy(x, p->x + r * p->x_stride, p->n_in * sizeof *x);
        got->matmul[p->type](y, p->n_out, p->w, p->n_in, cut, p->bias, x, p->n_in, 1);
        got->matmul[p->type](y + cut, p->n_out, (const char *)p->w + cut * row_bytes, p->n_in, p->n_out - cut,
                             p->bias ? p->bias + cut : NULL, x, p->n_in, 1);
        if (!check_same(p->y + r * p->y_stride, y, p->n_out, "one row alone") || !check_intact(OTHER))
            return false;
    }
    return true;
}

/* A NaN in one row makes all outputs of that row NaN, and none of another. */
static bool product_keeps_nan(const struct lk_cpu *got, struct product *p, struct check_rng *rng)
{
    size_t bad = (size_t)check_range(rng, 0, (int32_t)p->n_row - 1);
    ((float *)p->x)[bad * p->x_stride + check_u64(rng) % p->n_in] = NAN;
    got->matmul[p->type](p->y, p->y_stride, p->w, p->n_in, p->n_out, p->bias, p->x, p->x_stride, p->n_row);
    for (size_t r = 0; r < p->n_row; r++)
        for (size_t o = 0; o < p->n_out; o++)
            if (!isnan(p->y[r * p->y_stride + o]) != (r != bad))
                return check_wrong("NaN in row %zu: row %zu output %zu is %g", bad, r, o,
                                   (double)p->y[r * p->y_stride + o]);
    return true;
}

/* What lies between the rows of y stays as it was. */
static bool gaps_are_intact(const struct product *p)
{
    for (size_t r = 0; r + 1 < p->n_row; r++)
        for (size_t o = p->n_out; o < p->y_stride; o++)
            if (!isnan(p->y[r * p->y_stride + o]))
                return check_wrong("wrote behind row %zu", r);
    return true;
}

static int matmul_case(const struct lk_cpu *got, enum lk_dtype type, int32_t n_in, int32_t n_out,
                       int32_t n_row, struct check_rng *rng)
{
    bool at_end = check_range(rng, 0, 3) != 0;
    enum check_kind kind = (enum check_kind)check_range(rng, 0, CHECK_N_KIND - 1);
    n_in = (int32_t)check_whole(type, (size_t)n_in);
    struct product p = {.type = type, .n_in = (size_t)n_in, .n_out = (size_t)n_out, .n_row = (size_t)n_row};
    p.x_stride = p.n_in + (size_t)check_range(rng, 0, 1) * 3;
    p.y_stride = p.n_out + (size_t)check_range(rng, 0, 1) * 5;
    check_case("matmul %s [%d][%d] x %d, strides %zu %zu, kind %d", lk_dtype_name(type), n_out, n_in, n_row,
               p.x_stride, p.y_stride, (int)kind);
    size_t n_w = p.n_in * p.n_out, n_x = (p.n_row - 1) * p.x_stride + p.n_in,
           n_y = (p.n_row - 1) * p.y_stride + p.n_out;
    float *w = check_allocate(n_w, sizeof *w);
    double *w_value = check_allocate(n_w, sizeof *w_value);
    check_fill(rng, w, n_w, kind);
    void *stored = check_memory(W, lk_dtype_bytes(type, n_w), at_end);
    check_store(stored, type, w, n_w, w_value);
    p.w = stored;
    p.w_value = w_value;
    p.x = check_floats(rng, X, n_x, kind, at_end);
    p.bias = check_u64(rng) & 1 ? check_floats(rng, BIAS, p.n_out, CHECK_PLAIN, at_end) : NULL;
    p.y = check_memory(Y, n_y * sizeof *p.y, at_end);
    memset(p.y, 0xff, n_y * sizeof *p.y);
    got->matmul[type](p.y, p.y_stride, p.w, p.n_in, p.n_out, p.bias, p.x, p.x_stride, p.n_row);
    bool ok = product_is_right(&p) && gaps_are_intact(&p) && check_intact(Y) &&
              product_is_independent(got, &p, rng) && product_keeps_nan(got, &p, rng);
    free(w);
    free(w_value);
    return !ok;
}

static int matmul_cases(const struct lk_cpu *got, enum lk_dtype type)
{
    struct check_rng rng = check_rng_for(100 + (uint64_t)type);
    int n = 0;
    for (int i = 0; i < CASE_COUNT(case_edge); i++)
        for (int k = 0; k < 3; k++)
            n += matmul_case(got, type, case_edge[i], check_range(&rng, 1, 40), check_range(&rng, 1, 20),
                             &rng);
    for (int32_t n_out = 1; n_out <= 36; n_out++)
        for (int32_t n_row = 1; n_row <= 17; n_row++)
            n += matmul_case(got, type, n_row % 2 ? 37 : 300, n_out, n_row, &rng);
    for (int i = 0; i < CASE_COUNT(case_real); i++)
        n += matmul_case(got, type, case_real[i].n_in, case_real[i].n_out, case_real[i].n_row, &rng);
    return n;
}

static int matmul_f32(const struct lk_cpu *got)
{
    return matmul_cases(got, LK_F32);
}

static int matmul_f16(const struct lk_cpu *got)
{
    return matmul_cases(got, LK_F16);
}

static int matmul_bf16(const struct lk_cpu *got)
{
    return matmul_cases(got, LK_BF16);
}

static int matmul_mxfp4(const struct lk_cpu *got)
{
    return matmul_cases(got, LK_MXFP4);
}

/* ---- Widening: exact ---- */

static int widen_case(const struct lk_cpu *got, enum lk_dtype type, const float *src, size_t n, bool at_end)
{
    check_case("widen %s %zu", lk_dtype_name(type), n);
    double *want = check_allocate(n, sizeof *want);
    void *x = check_memory(X, lk_dtype_bytes(type, n), at_end);
    check_store(x, type, src, n, want);
    float *y = check_memory(Y, n * sizeof *y, at_end);
    memset(y, 0xff, n * sizeof *y);
    got->widen[type](y, x, n);
    bool ok = check_intact(Y);
    for (size_t i = 0; i < n && ok; i++)
        if ((double)y[i] != want[i] || !signbit(y[i]) != !signbit(want[i]))
            ok = check_wrong("element %zu is %a, not %a", i, (double)y[i], want[i]);
    free(want);
    return !ok;
}

/* Every pattern of 16 bits: the finite ones exactly, infinities and NaN as such. */
static int widen_patterns(const struct lk_cpu *got, enum lk_dtype type)
{
    check_case("widen %s, all patterns", lk_dtype_name(type));
    static uint16_t x[65536];
    static float y[65536];
    for (int i = 0; i < 65536; i++)
        x[i] = (uint16_t)i;
    got->widen[type](y, x, 65536);
    int mantissa_bits = type == LK_F16 ? 10 : 7, top = type == LK_F16 ? 31 : 255,
        bias = type == LK_F16 ? 15 : 127;
    for (int i = 0; i < 65536; i++) {
        int exponent = (i & 0x7fff) >> mantissa_bits, mantissa = i & ((1 << mantissa_bits) - 1);
        double want = exponent ? ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)
                               : ldexp(mantissa, 1 - bias - mantissa_bits);
        if (exponent == top)
            want = mantissa ? (double)NAN : (double)INFINITY;
        if (isnan(want) ? !isnan(y[i]) : (double)fabsf(y[i]) != want || !signbit(y[i]) != !(i & 0x8000))
            return 1 + check_wrong("pattern %04x is %a, not %a", i, (double)y[i], want);
    }
    return 0;
}

/* Every scale with every value in both halves. The greatest scales overflow, and the last one is no number.
 */
static int widen_mxfp4_patterns(const struct lk_cpu *got)
{
    static const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    struct lk_mxfp4 x;
    float y[LK_MXFP4_BLOCK];
    check_case("widen MXFP4, all patterns");
    for (int scale = 0; scale < 256; scale++) {
        x.scale = (uint8_t)scale;
        for (int i = 0; i < 16; i++)
            x.q[i] = (uint8_t)(i | (15 - i) << 4);
        got->widen[LK_MXFP4](y, &x, LK_MXFP4_BLOCK);
        for (int i = 0; i < LK_MXFP4_BLOCK; i++) {
            int half = i < 16 ? i : 31 - i;
            float want = scale == 255 ? NAN : (float)ldexp(magnitudes[half & 7], scale - 127);
            if (isnan(want) ? !isnan(y[i]) : fabsf(y[i]) != want || !signbit(y[i]) != !(half & 8))
                return check_wrong("scale %d, value %d is %a, not %a", scale, half, (double)y[i],
                                   (double)want) +
                       1;
        }
    }
    return 0;
}

static int widen_cases(const struct lk_cpu *got, enum lk_dtype type)
{
    struct check_rng rng = check_rng_for(200 + (uint64_t)type);
    float src[1100];
    int n = type == LK_F32 ? 0 : type == LK_MXFP4 ? widen_mxfp4_patterns(got) : widen_patterns(got, type);
    for (int i = 0; i < CASE_COUNT(case_edge); i++) {
        size_t n_element = check_whole(type, (size_t)case_edge[i]);
        check_fill(&rng, src, n_element, CHECK_WIDE);
        n += widen_case(got, type, src, n_element, i % 3 != 0);
    }
    return n;
}

static int widen_f32(const struct lk_cpu *got)
{
    return widen_cases(got, LK_F32);
}

static int widen_f16(const struct lk_cpu *got)
{
    return widen_cases(got, LK_F16);
}

static int widen_bf16(const struct lk_cpu *got)
{
    return widen_cases(got, LK_BF16);
}

static int widen_mxfp4(const struct lk_cpu *got)
{
    return widen_cases(got, LK_MXFP4);
}

/* ---- Norm ---- */

/* The sum of squares has no cancellation: its relative error is its depth (as for products), which the root
 * halves; the mean, the root, the division and two products round once each. */
static int rmsnorm_case(const struct lk_cpu *got, int32_t n, enum check_kind kind, struct check_rng *rng)
{
    check_case("rmsnorm %d, kind %d", n, (int)kind);
    bool at_end = check_range(rng, 0, 3) != 0;
    size_t bytes = (size_t)n * sizeof(float);
    float *x = check_floats(rng, X, (size_t)n, kind, at_end),
          *w = check_floats(rng, W, (size_t)n, CHECK_PLAIN, at_end);
    float *y = check_memory(Y, bytes, at_end), eps = n % 2 ? 1e-5f : 1e-6f;
    memset(y, 0xff, bytes);
    got->rmsnorm(y, x, w, (size_t)n, eps);
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    double factor = 1 / sqrt(sum / n + (double)eps), depth = matmul_depth(n) / 2 + 5;
    bool ok = check_intact(Y);
    for (int32_t i = 0; i < n && ok; i++) {
        double want = (double)x[i] * factor * (double)w[i];
        ok = check_close(y[i], want, depth * 1.05 * U * fabs(want) + TINY, (size_t)i);
    }
    float *z = check_memory(Z, bytes, !at_end);
    memcpy(z, x, bytes);
    got->rmsnorm(z, z, w, (size_t)n, eps);
    return !(ok && check_same(y, z, (size_t)n, "in place"));
}

static int rmsnorm(const struct lk_cpu *got)
{
    struct check_rng rng = check_rng_for(300);
    static const int32_t real[] = {576, 2048, 4096, 8192};
    int n = 0;
    for (int kind = 0; kind < CHECK_N_KIND; kind++) {
        for (int i = 0; i < CASE_COUNT(case_edge); i++)
            n += rmsnorm_case(got, case_edge[i], (enum check_kind)kind, &rng);
        for (int i = 0; i < CASE_COUNT(real); i++)
            n += rmsnorm_case(got, real[i], (enum check_kind)kind, &rng);
    }
    return n;
}

/* The sums are in double: what is left are the roundings of a difference, two products and a sum. */
static int layernorm_case(const struct lk_cpu *got, int32_t n, enum check_kind kind, bool with_bias,
                          struct check_rng *rng)
{
    check_case("layernorm %d, kind %d", n, (int)kind);
    bool at_end = check_range(rng, 0, 3) != 0;
    size_t bytes = (size_t)n * sizeof(float);
    float *x = check_floats(rng, X, (size_t)n, kind, at_end),
          *w = check_floats(rng, W, (size_t)n, CHECK_PLAIN, at_end),
          *b = with_bias ? check_floats(rng, BIAS, (size_t)n, CHECK_PLAIN, at_end) : NULL;
    float *y = check_memory(Y, bytes, at_end), eps = n % 2 ? 1e-5f : 1e-6f;
    memset(y, 0xff, bytes);
    got->layernorm(y, x, w, b, (size_t)n, eps);
    double sum = 0, square = 0;
    for (int32_t i = 0; i < n; i++)
        sum += (double)x[i];
    for (int32_t i = 0; i < n; i++)
        square += ((double)x[i] - sum / n) * ((double)x[i] - sum / n);
    double factor = 1 / sqrt(square / n + (double)eps);
    bool ok = check_intact(Y);
    for (int32_t i = 0; i < n && ok; i++) {
        double size = (fabs((double)x[i]) + fabs(sum / n)) * factor * fabs((double)w[i]);
        double want = ((double)x[i] - sum / n) * factor * (double)w[i] + (b ? (double)b[i] : 0);
        ok = check_close(y[i], want, 6 * U * (size + fabs(want)) + TINY, (size_t)i);
    }
    float *z = check_memory(Z, bytes, !at_end);
    memcpy(z, x, bytes);
    got->layernorm(z, z, w, b, (size_t)n, eps);
    return !(ok && check_same(y, z, (size_t)n, "in place"));
}

static int layernorm(const struct lk_cpu *got)
{
    struct check_rng rng = check_rng_for(350);
    int n = 0;
    for (int kind = 0; kind < CHECK_N_KIND; kind++)
        for (int i = 0; i < CASE_COUNT(case_edge) * 2; i++)
            n += layernorm_case(got, case_edge[i / 2], (enum check_kind)kind, i % 2, &rng);
    return n;
}

/* ---- Element by element ---- */

/* An activation: its value, and how many times U a kernel may be off. */
struct act {
    const char *name;
    lk_act_mul_fn fn;
    double (*value)(double x);
    double (*depth)(double x);
    double (*partner)(double u); /* what u becomes before it multiplies; NULL: u */
};

/* A vector exponential is good to 2 units in the last place or so; with the addition, the division and the
 * product, 8 U is generous. */
static double silu(double x)
{
    return x / (1 + exp(-x));
}

static double silu_depth(double x)
{
    (void)x;
    return 8;
}

/* The tail's exponent is rounded, and its polynomial good to about 3 U. */
static double gelu(double x)
{
    return x * 0.5 * erfc(-x * sqrt(0.5));
}

static double gelu_depth(double x)
{
    return 12 + fmin(x * x, 200);
}

/* The exponent has four roundings. */
static double gelu_tanh_inner(double x)
{
    return sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
}

static double gelu_tanh(double x)
{
    return x * 0.5 * (1 + tanh(gelu_tanh_inner(x)));
}

static double gelu_tanh_depth(double x)
{
    return 8 + 10 * fmin(fabs(gelu_tanh_inner(x)), 200);
}

static double swiglu_clamped(double x)
{
    return fmin(x, 7) / (1 + exp(-1.702 * fmin(x, 7)));
}

/* The exponent has two roundings, its factor's among them. */
static double swiglu_clamped_depth(double x)
{
    return 10 + 3 * fmin(fabs(1.702 * fmin(x, 7)), 200);
}

static double swiglu_clamped_partner(double u)
{
    return fmax(-7, fmin(7, u)) + 1;
}

/* Where an exponential overflows a kernel may saturate, which leaves at most |g u| * 2^-126; so small is the
 * tail that a double loses in 1 + tanh. */
static int act_case(const struct act *act, int32_t n, float limit, struct check_rng *rng)
{
    check_case("%s %d up to %g", act->name, n, (double)limit);
    bool at_end = check_range(rng, 0, 3) != 0;
    size_t bytes = (size_t)n * sizeof(float);
    float *g = check_memory(X, bytes, at_end), *u = check_floats(rng, W, (size_t)n, CHECK_OUTLIER, at_end);
    float *y = check_memory(Y, bytes, at_end);
    for (int32_t i = 0; i < n; i++) {
        g[i] = check_uniform(rng, limit);
        u[i] *= 10; /* beyond a clamp on either side */
    }
    for (int alone = 0; alone < 2; alone++) {
        memset(y, 0xff, bytes);
        act->fn(y, g, alone ? NULL : u, (size_t)n);
        if (!check_intact(Y))
            return 1;
        for (int32_t i = 0; i < n; i++) {
            double x = (double)g[i], other = act->partner ? act->partner((double)u[i]) : (double)u[i];
            double times = alone ? 1 : other, want = act->value(x) * times;
            double slack = (1 + fabs(x)) * (1 + fabs(times)) * fmax(TINY, x < -3 ? 0x1p-50 : 0);
            if (!check_close(y[i], want, act->depth(x) * U * fabs(want) + slack, (size_t)i))
                return 1;
        }
    }
    /* In place on either side, and in two parts: the same bits. */
    act->fn(y, g, u, (size_t)n);
    size_t cut = (size_t)check_range(rng, 0, n);
    float *z = check_memory(Z, bytes, !at_end);
    memcpy(z, g, bytes);
    act->fn(z, z, u, cut);
    act->fn(z + cut, z + cut, u + cut, (size_t)n - cut);
    bool ok = check_same(y, z, (size_t)n, "in two parts over g");
    memcpy(z, u, bytes);
    act->fn(z, g, z, (size_t)n);
    ok = ok && check_same(y, z, (size_t)n, "over u");
    g[n / 2] = NAN;
    act->fn(y, g, u, (size_t)n);
    return !(ok && (isnan(y[n / 2]) || check_wrong("NaN became %g", (double)y[n / 2])));
}

static int act_cases(const struct act *act)
{
    struct check_rng rng = check_rng_for(400);
    static const float limits[] = {1e-3f, 1, 20, 120, 1e5f};
    int n = 0;
    for (int i = 0; i < CASE_COUNT(case_edge); i++)
        for (int k = 0; k < CASE_COUNT(limits); k++)
            n += act_case(act, case_edge[i], limits[k], &rng);
    return n;
}

static int silu_mul(const struct lk_cpu *got)
{
    return act_cases(&(struct act){"silu_mul", got->silu_mul, silu, silu_depth, NULL});
}

static int gelu_mul(const struct lk_cpu *got)
{
    return act_cases(&(struct act){"gelu_mul", got->gelu_mul, gelu, gelu_depth, NULL});
}

static int gelu_tanh_mul(const struct lk_cpu *got)
{
    return act_cases(&(struct act){"gelu_tanh_mul", got->gelu_tanh_mul, gelu_tanh, gelu_tanh_depth, NULL});
}

static int swiglu_clamped_mul(const struct lk_cpu *got)
{
    return act_cases(&(struct act){"swiglu_clamped", got->swiglu_clamped, swiglu_clamped,
                                   swiglu_clamped_depth, swiglu_clamped_partner});
}

/* tanh is off by 3 U, its argument by two roundings. */
static int soft_cap(const struct lk_cpu *got)
{
    struct check_rng rng = check_rng_for(560);
    static const float caps[] = {0.5f, 30, 50};
    int n_wrong = 0;
    for (int k = 0; k < CASE_COUNT(case_edge) * 3; k++) {
        size_t n = (size_t)case_edge[k / 3], bytes = n * sizeof(float);
        float cap = caps[k % 3];
        check_case("soft_cap %zu at %g", n, (double)cap);
        float *y = check_memory(Y, bytes, k % 2), *x = check_memory(X, bytes, true);
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] = check_uniform(&rng, k % 4 ? 3 * cap : 1e4f);
        got->soft_cap(y, n, cap);
        bool ok = check_intact(Y);
        for (size_t i = 0; i < n && ok; i++)
            ok = check_close(y[i], (double)cap * tanh((double)x[i] / (double)cap), 8 * U * (double)cap, i);
        static const float odd[] = {NAN, INFINITY, -INFINITY};
        for (size_t i = 0; i < 3 && ok; i++) {
            y[n / 2] = odd[i];
            got->soft_cap(y, n, cap);
            ok = isnan(y[n / 2]) || check_wrong("%g became %g", (double)odd[i], (double)y[n / 2]);
        }
        n_wrong += !ok;
    }
    return n_wrong;
}

/* One rounding: exact. */
static int add(const struct lk_cpu *got)
{
    struct check_rng rng = check_rng_for(500);
    int n_wrong = 0;
    for (int k = 0; k < CASE_COUNT(case_edge) * 2; k++) {
        size_t n = (size_t)case_edge[k / 2], bytes = n * sizeof(float);
        check_case("add %zu", n);
        float *x = check_floats(&rng, X, n, k % 2 ? CHECK_WIDE : CHECK_PLAIN, k % 3 != 0);
        float *y = check_floats(&rng, Y, n, k % 2 ? CHECK_WIDE : CHECK_OUTLIER, k % 3 != 0);
        float *want = check_memory(Z, bytes, true);
        for (size_t i = 0; i < n; i++)
            want[i] = y[i] + x[i];
        got->add(y, x, n);
        n_wrong += !(check_intact(Y) && check_same(want, y, n, "sum"));
    }
    return n_wrong;
}

/* One rounding: exact. */
static int scale(const struct lk_cpu *got)
{
    struct check_rng rng = check_rng_for(550);
    int n_wrong = 0;
    for (int k = 0; k < CASE_COUNT(case_edge) * 2; k++) {
        size_t n = (size_t)case_edge[k / 2], bytes = n * sizeof(float);
        check_case("scale %zu", n);
        float *y = check_floats(&rng, Y, n, k % 2 ? CHECK_WIDE : CHECK_OUTLIER, k % 3 != 0);
        float *want = check_memory(Z, bytes, true);
        for (size_t i = 0; i < n; i++)
            want[i] = y[i] * 0.3f;
        got->scale(y, n, 0.3f);
        n_wrong += !(check_intact(Y) && check_same(want, y, n, "product"));
    }
    return n_wrong;
}

/* ---- RoPE ---- */

/* Two products and a sum, each rounded once. */
static int rope_case(lk_rope_fn turn, int32_t n_freq, bool half, struct check_rng *rng)
{
    check_case("rope %s %d", half ? "half" : "pair", n_freq);
    bool at_end = check_range(rng, 0, 3) != 0;
    size_t n = (size_t)n_freq;
    float *x = check_floats(rng, X, 2 * n, CHECK_WIDE, at_end),
          *cosines = check_memory(W, n * sizeof *x, at_end);
    float *sines = check_memory(Z, n * sizeof *x, at_end), *y = check_memory(Y, 2 * n * sizeof *x, at_end);
    for (size_t i = 0; i < n; i++) {
        double angle = (double)check_uniform(rng, 1000);
        cosines[i] = (float)cos(angle);
        sines[i] = (float)sin(angle);
    }
    memcpy(y, x, 2 * n * sizeof *x);
    turn(y, cosines, sines, n);
    bool ok = check_intact(Y);
    for (size_t i = 0; i < n && ok; i++) {
        size_t at_a = half ? i : 2 * i, at_b = half ? i + n : 2 * i + 1;
        double a = (double)x[at_a], b = (double)x[at_b], c = (double)cosines[i], s = (double)sines[i];
        ok =
            check_close(y[at_a], a * c - b * s, 2.1 * U * (fabs(a * c) + fabs(b * s)) + 3 * 0x1p-149, at_a) &&
            check_close(y[at_b], b * c + a * s, 2.1 * U * (fabs(b * c) + fabs(a * s)) + 3 * 0x1p-149, at_b);
    }
    return !ok;
}

static int rope_cases(lk_rope_fn turn, bool half)
{
    struct check_rng rng = check_rng_for(600 + half);
    int n = 0;
    for (int32_t n_freq = 1; n_freq <= 140; n_freq++)
        n += rope_case(turn, n_freq, half, &rng);
    return n;
}

static int rope_half(const struct lk_cpu *got)
{
    return rope_cases(got->rope_half, true);
}

static int rope_pair(const struct lk_cpu *got)
{
    return rope_cases(got->rope_pair, false);
}

const struct check_op check_ops[] = {
    {"matmul F32", matmul_f32},
    {"matmul F16", matmul_f16},
    {"matmul BF16", matmul_bf16},
    {"matmul MXFP4", matmul_mxfp4},
    {"widen F32", widen_f32},
    {"widen F16", widen_f16},
    {"widen BF16", widen_bf16},
    {"widen MXFP4", widen_mxfp4},
    {"rmsnorm", rmsnorm},
    {"layernorm", layernorm},
    {"silu_mul", silu_mul},
    {"gelu_mul", gelu_mul},
    {"gelu_tanh_mul", gelu_tanh_mul},
    {"swiglu_clamped", swiglu_clamped_mul},
    {"soft_cap", soft_cap},
    {"add", add},
    {"scale", scale},
    {"rope_half", rope_half},
    {"rope_pair", rope_pair},
    {"attn_page", check_attn_page},
    {"attn_merge", check_attn_merge},
};
const int check_n_op = sizeof check_ops / sizeof *check_ops;
