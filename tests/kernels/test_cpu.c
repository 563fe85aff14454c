/* Every table of kernels that this processor can run; and that the checks find broken kernels. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/kernels/check.h"

/* ---- Broken kernels ---- */

static struct lk_cpu c; /* what the broken ones are made of */

static LK_MATMUL_FN(matmul_zero)
{
    (void)w, (void)n_in, (void)bias, (void)x, (void)x_stride;
    for (size_t r = 0; r < n_row; r++)
        memset(y + r * y_stride, 0, n_out * sizeof *y);
}

static LK_MATMUL_FN(matmul_forgets_last)
{
    float copy[1 << 16];
    for (size_t r = 0; r < n_row; r++) {
        memcpy(copy, x + r * x_stride, n_in * sizeof *copy);
        copy[n_in - 1] = 0;
        c.matmul[LK_F32](y + r * y_stride, y_stride, w, n_in, n_out, bias, copy, n_in, 1);
    }
}

static LK_MATMUL_FN(matmul_depends_on_rows)
{
    c.matmul[LK_F32](y, y_stride, w, n_in, n_out, bias, x, x_stride, n_row);
    for (size_t r = 0; r < n_row && n_row > 1; r++)
        for (size_t o = 0; o < n_out; o++)
            y[r * y_stride + o] = nextafterf(y[r * y_stride + o], INFINITY);
}

static LK_MATMUL_FN(matmul_forgets_bias)
{
    (void)bias;
    c.matmul[LK_F32](y, y_stride, w, n_in, n_out, NULL, x, x_stride, n_row);
}

static LK_MATMUL_FN(matmul_writes_beyond)
{
    c.matmul[LK_F32](y, y_stride, w, n_in, n_out, bias, x, x_stride, n_row);
    if (y_stride > n_out && n_row > 1)
        y[n_out] = 1;
}

static LK_RMSNORM_FN(rmsnorm_zero)
{
    (void)x, (void)w, (void)eps;
    memset(y, 0, n * sizeof *y);
}

static LK_RMSNORM_FN(rmsnorm_forgets_eps)
{
    (void)eps;
    c.rmsnorm(y, x, w, n, 0);
}

static LK_WIDEN_FN(widen_zero)
{
    (void)x;
    memset(y, 0, n * sizeof *y);
}

static LK_WIDEN_FN(widen_f16_without_subnormals)
{
    c.widen[LK_F16](y, x, n);
    for (size_t i = 0; i < n; i++)
        y[i] = fabsf(y[i]) < 0x1p-14f ? 0 : y[i];
}

/* The halves of a byte as neighbours, as some files have them. */
static LK_WIDEN_FN(widen_mxfp4_in_pairs)
{
    float wide[LK_MXFP4_BLOCK];
    for (size_t i = 0; i < n; i += LK_MXFP4_BLOCK) {
        c.widen[LK_MXFP4](wide, (const struct lk_mxfp4 *)x + i / LK_MXFP4_BLOCK, LK_MXFP4_BLOCK);
        for (size_t j = 0; j < LK_MXFP4_BLOCK; j++)
            y[i + j] = wide[j / 2 + j % 2 * 16];
    }
}

static LK_ACT_MUL_FN(act_mul_zero)
{
    (void)g, (void)u;
    memset(y, 0, n * sizeof *y);
}

static LK_ACT_MUL_FN(silu_mul_rough)
{
    for (size_t i = 0; i < n; i++)
        y[i] = g[i] / (1 + expf(-g[i])) * (u ? u[i] : 1) * 1.000001f;
}

/* As many write it by mistake for one another. */
static LK_ACT_MUL_FN(gelu_of_the_other_kind)
{
    c.gelu_tanh_mul(y, g, u, n);
}

static LK_ACT_MUL_FN(gelu_tanh_of_the_other_kind)
{
    c.gelu_mul(y, g, u, n);
}

static LK_ACT_MUL_FN(swiglu_without_clamp)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)g[i] / (1 + exp(-1.702 * (double)g[i])) * (u ? (double)u[i] + 1 : 1));
}

static LK_ACT_MUL_FN(swiglu_without_1)
{
    c.swiglu_clamped(y, g, NULL, n);
    for (size_t i = 0; i < n && u; i++)
        y[i] *= fmaxf(-7, fminf(7, u[i]));
}

static LK_LAYERNORM_FN(layernorm_forgets_mean)
{
    c.rmsnorm(y, x, w, n, eps);
    for (size_t i = 0; i < n && b; i++)
        y[i] += b[i];
}

static LK_SOFT_CAP_FN(soft_cap_cuts)
{
    for (size_t i = 0; i < n; i++)
        y[i] = fminf(fmaxf(y[i], -cap), cap);
}

static LK_ADD_FN(add_zero)
{
    (void)x;
    memset(y, 0, n * sizeof *y);
}

static LK_SCALE_FN(scale_forgets_rest)
{
    for (size_t i = 0; i < n / 8 * 8; i++)
        y[i] *= factor;
}

static LK_ROPE_FN(rope_nothing)
{
    (void)x, (void)cos, (void)sin, (void)n_freq;
}

static LK_ROPE_FN(rope_backwards)
{
    float minus[256];
    for (size_t i = 0; i < n_freq; i++)
        minus[i] = -sin[i];
    c.rope_half(x, cos, minus, n_freq);
}

static LK_ATTN_PAGE_FN(attn_page_zero)
{
    (void)q, (void)q_stride, (void)first, (void)last, (void)k, (void)v, (void)scale, (void)cap, (void)bias;
    memset(max, 0, n_q * sizeof *max);
    memset(sum, 0, n_q * sizeof *sum);
    memset(out, 0, n_q * head_dim * sizeof *out);
}

static LK_ATTN_PAGE_FN(attn_page_forgets_cap)
{
    (void)cap;
    c.attn_page(max, sum, out, q, q_stride, n_q, first, last, k, v, head_dim, scale, 0, bias);
}

static LK_ATTN_PAGE_FN(attn_page_forgets_bias)
{
    (void)bias;
    c.attn_page(max, sum, out, q, q_stride, n_q, first, last, k, v, head_dim, scale, cap, NULL);
}

/* Masks weights but not values: 0 times NaN. */
static LK_ATTN_PAGE_FN(attn_page_leaks)
{
    c.attn_page(max, sum, out, q, q_stride, n_q, first, last, k, v, head_dim, scale, cap, bias);
    for (size_t i = 0; i < n_q; i++)
        for (size_t d = 0; d < head_dim; d++)
            for (int32_t t = 0; t < LK_KV_PAGE; t++)
                if (t < first[i] || t >= last[i])
                    out[i * head_dim + d] += 0 * v[(size_t)t * head_dim + d];
}

static LK_ATTN_PAGE_FN(attn_page_sees_next)
{
    int32_t more[64];
    for (size_t i = 0; i < n_q; i++)
        more[i] = first[i] < last[i] && last[i] < LK_KV_PAGE ? last[i] + 1 : last[i];
    c.attn_page(max, sum, out, q, q_stride, n_q, first, more, k, v, head_dim, scale, cap, bias);
}

static LK_ATTN_MERGE_FN(attn_merge_nothing)
{
    (void)m, (void)l, (void)out, (void)pm, (void)pl, (void)pout, (void)head_dim;
}

static LK_ATTN_MERGE_FN(attn_merge_replaces)
{
    *m = pm;
    *l = pl;
    memcpy(out, pout, head_dim * sizeof *out);
}

static const struct check_op *op_named(const char *name)
{
    for (int i = 0; i < check_n_op; i++)
        if (!strcmp(check_ops[i].name, name))
            return &check_ops[i];
    return NULL;
}

static void expect_found(const char *op, const struct lk_cpu *broken, const char *what)
{
    int n = check_count(op_named(op), broken);
    check_point(n > 0, "found: %s (%d cases)", what, n);
}

/* Expects the check of an operation to find this entry wrong. */
#define EXPECT_FOUND(op, entry, broken_fn)                   \
    do {                                                     \
        struct lk_cpu broken = c;                            \
        broken.entry = broken_fn;                            \
        expect_found(op, &broken, #broken_fn " as " #entry); \
    } while (0)

static void check_broken_kernels(void)
{
    EXPECT_FOUND("matmul F32", matmul[LK_F32], matmul_zero);
    EXPECT_FOUND("matmul F16", matmul[LK_F16], matmul_zero);
    EXPECT_FOUND("matmul BF16", matmul[LK_BF16], matmul_zero);
    EXPECT_FOUND("matmul MXFP4", matmul[LK_MXFP4], matmul_zero);
    EXPECT_FOUND("matmul F32", matmul[LK_F32], matmul_forgets_last);
    EXPECT_FOUND("matmul F32", matmul[LK_F32], matmul_depends_on_rows);
    EXPECT_FOUND("matmul F32", matmul[LK_F32], matmul_forgets_bias);
    EXPECT_FOUND("matmul F32", matmul[LK_F32], matmul_writes_beyond);
    EXPECT_FOUND("widen F32", widen[LK_F32], widen_zero);
    EXPECT_FOUND("widen F16", widen[LK_F16], widen_zero);
    EXPECT_FOUND("widen BF16", widen[LK_BF16], widen_zero);
    EXPECT_FOUND("widen F16", widen[LK_F16], widen_f16_without_subnormals);
    EXPECT_FOUND("widen MXFP4", widen[LK_MXFP4], widen_zero);
    EXPECT_FOUND("widen MXFP4", widen[LK_MXFP4], widen_mxfp4_in_pairs);
    EXPECT_FOUND("rmsnorm", rmsnorm, rmsnorm_zero);
    EXPECT_FOUND("rmsnorm", rmsnorm, rmsnorm_forgets_eps);
    EXPECT_FOUND("silu_mul", silu_mul, act_mul_zero);
    EXPECT_FOUND("silu_mul", silu_mul, silu_mul_rough);
    EXPECT_FOUND("layernorm", layernorm, layernorm_forgets_mean);
    EXPECT_FOUND("gelu_mul", gelu_mul, gelu_of_the_other_kind);
    EXPECT_FOUND("gelu_tanh_mul", gelu_tanh_mul, gelu_tanh_of_the_other_kind);
    EXPECT_FOUND("swiglu_clamped", swiglu_clamped, swiglu_without_clamp);
    EXPECT_FOUND("swiglu_clamped", swiglu_clamped, swiglu_without_1);
    EXPECT_FOUND("soft_cap", soft_cap, soft_cap_cuts);
    EXPECT_FOUND("add", add, add_zero);
    EXPECT_FOUND("scale", scale, scale_forgets_rest);
    EXPECT_FOUND("rope_half", rope_half, rope_nothing);
    EXPECT_FOUND("rope_half", rope_half, rope_backwards);
    EXPECT_FOUND("rope_pair", rope_pair, rope_nothing);
    EXPECT_FOUND("attn_page", attn_page, attn_page_zero);
    EXPECT_FOUND("attn_page", attn_page, attn_page_forgets_cap);
    EXPECT_FOUND("attn_page", attn_page, attn_page_forgets_bias);
    EXPECT_FOUND("attn_page", attn_page, attn_page_leaks);
    EXPECT_FOUND("attn_page", attn_page, attn_page_sees_next);
    EXPECT_FOUND("attn_merge", attn_merge, attn_merge_nothing);
    EXPECT_FOUND("attn_merge", attn_merge, attn_merge_replaces);
}

static void check_levels(void)
{
    unsigned have = LK_CPU_AVX2 | LK_CPU_AVX512;
    check_point(lk_cpu_flags_for(NULL, have) == have, "no level is all there is");
    check_point(lk_cpu_flags_for("c", have) == 0, "level c is nothing");
    check_point(lk_cpu_flags_for("avx2", have) == LK_CPU_AVX2, "level avx2 leaves AVX-512 out");
    check_point(lk_cpu_flags_for("avx512", LK_CPU_AVX2) == LK_CPU_AVX2, "a level is cut to what there is");
    check_point(lk_cpu_flags_for("sse", have) == ~0u, "an unknown level is refused");
    struct lk_cpu table;
    lk_cpu_init(&table, 0);
    check_point(!strcmp(table.level, "c") && table.matmul[LK_F32] == c.matmul[LK_F32],
                "level c is the C kernels");
}

int main(void)
{
    lk_cpu_init(&c, 0);
    check_levels();
    check_table(&c, "c");
    check_broken_kernels();
    static const char *const levels[] = {"avx2", "avx512"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        struct lk_cpu table;
        lk_cpu_init(&table, lk_cpu_flags_for(levels[i], lk_cpu_flags()));
        if (strcmp(table.level, levels[i]))
            check_point(true, "%s # SKIP this processor has no %s", levels[i], levels[i]);
        else
            check_table(&table, levels[i]);
    }
    return check_done();
}
