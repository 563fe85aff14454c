/* The kernels of a CPU: one table of functions, filled for the instruction sets that a processor has.
 *
 * Every entry has a C version, which is its definition: plain, in order, accumulating in double
 * (kernels/cpu/<family>.c). lk_cpu_init sets those first; kernels/cpu/x86/x86_map.c then overrides upward.
 * Sizes are elements, strides are elements, rows are dense unless a stride is given. No alignment is assumed
 * beyond that of the element type; nothing is read or written beyond the sizes given. Outputs may not overlap
 * inputs unless a comment says so.
 *
 * Same bits: a kernel's result for one output depends on that output's operands alone, never on how many
 * rows or outputs are computed along with it. The fast matrix products guarantee it by one order of
 * summation for every shape (see LK_BLOCK). Instruction sets may differ from each other. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"
#include "kernels/kv.h"

/* Inner products are cut into blocks of this many elements. Within a block one vector accumulator per output
 * starts at zero; block results are added lane by lane in order; one fixed tree reduces at the end. */
enum { LK_BLOCK = 256 };

/* Products may be cut anywhere; between multiples of these, fast kernels convert no weight twice. */
enum { LK_CUT_OUT = 32, LK_CUT_ROW = 48 };

/* y[r * y_stride + o] = bias[o] + sum_i w[o][i] * x[r * x_stride + i]; o < n_out, r < n_row; bias may be NULL
 * (then nothing is added). w is row-major [n_out][n_in] in the table slot's type. */
#define LK_MATMUL_FN(name)                                                                            \
    void name(float *y, size_t y_stride, const void *w, size_t n_in, size_t n_out, const float *bias, \
              const float *x, size_t x_stride, size_t n_row)

/* y[n] = x[n] * w[n] / sqrt(mean(x^2) + eps), one row. y may be x. */
#define LK_RMSNORM_FN(name) void name(float *y, const float *x, const float *w, size_t n, float eps)

/* y[n] = the n elements of a row in the slot's type, widened exactly. */
#define LK_WIDEN_FN(name) void name(float *y, const void *x, size_t n)

/* y[n] = (x[n] - mean) / sqrt(mean((x - mean)^2) + eps) * w[n] (+ b[n], which may be NULL), one row. y may be
 * x. */
#define LK_LAYERNORM_FN(name) \
    void name(float *y, const float *x, const float *w, const float *b, size_t n, float eps)

/* y[n] = act(g[n]) * u[n]; u NULL: act(g[n]) alone; y may be g or u. swiglu_clamped: act(min(g[n], 7)) *
 * (u[n] cut to [-7, 7], plus 1). */
#define LK_ACT_MUL_FN(name) void name(float *y, const float *g, const float *u, size_t n)

/* y[n] += x[n]. */
#define LK_ADD_FN(name) void name(float *y, const float *x, size_t n)

/* y[n] *= factor. */
#define LK_SCALE_FN(name) void name(float *y, size_t n, float factor)

/* y[n] = cap * tanh(y[n] / cap); an infinity becomes NaN, so that an overflow is not hidden. */
#define LK_SOFT_CAP_FN(name) void name(float *y, size_t n, float cap)

/* Turns the pairs of one head in place: (a, b) -> (a cos - b sin, b cos + a sin), n_freq pairs. `half`: a is
 * x[i], b is x[i + n_freq]; `pair`: a is x[2i], b is x[2i + 1]. */
#define LK_ROPE_FN(name) void name(float *x, const float *cos, const float *sin, size_t n_freq)

/* A page of keys of one KV head is k[head_dim][LK_KV_PAGE]: the positions lie on the lanes. One of values is
 * v[LK_KV_PAGE][head_dim].
 *
 * For each of n_q query rows q[i * q_stride][head_dim]: over the page's keys t with first[i] <= t < last[i]
 * (0 <= first <= last <= LK_KV_PAGE), s[t] = scale * q.k[t]; with a cap above 0, cap * tanh(s / cap) instead;
 * plus bias[i][t] where bias is not NULL. max[i] = the greatest s, sum[i] = sum of exp(s - max),
 * out[i][head_dim] (dense) = sum of exp(s - max) * v[t]. No keys: max = -infinity, sum = 0, out = 0. Keys
 * outside the range may hold anything, NaN included, and must not matter. */
#define LK_ATTN_PAGE_FN(name)                                                                             \
    void name(float *max, float *sum, float *out, const float *q, size_t q_stride, size_t n_q,            \
              const int32_t *first, const int32_t *last, const float *k, const float *v, size_t head_dim, \
              float scale, float cap, const float *bias)

/* Folds a page's part into a running one, for one query row: M = max(m, pm); the sums and outputs are
 * scaled by exp(m - M) and exp(pm - M) and added. A part with sum 0 changes nothing, and a running state with
 * sum 0 becomes the part. *m, *l, out[head_dim] are the running state. */
#define LK_ATTN_MERGE_FN(name) \
    void name(float *m, float *l, float *out, float pm, float pl, const float *pout, size_t head_dim)

typedef LK_MATMUL_FN((*lk_matmul_fn));
typedef LK_RMSNORM_FN((*lk_rmsnorm_fn));
typedef LK_LAYERNORM_FN((*lk_layernorm_fn));
typedef LK_WIDEN_FN((*lk_widen_fn));
typedef LK_ACT_MUL_FN((*lk_act_mul_fn));
typedef LK_ADD_FN((*lk_add_fn));
typedef LK_SCALE_FN((*lk_scale_fn));
typedef LK_SOFT_CAP_FN((*lk_soft_cap_fn));
typedef LK_ROPE_FN((*lk_rope_fn));
typedef LK_ATTN_PAGE_FN((*lk_attn_page_fn));
typedef LK_ATTN_MERGE_FN((*lk_attn_merge_fn));

struct lk_cpu {
    unsigned flags;    /* LK_CPU_... in use */
    const char *level; /* "c", "avx2", "avx512" */
    lk_matmul_fn matmul[LK_N_DTYPE];
    lk_widen_fn widen[LK_N_DTYPE];
    lk_rmsnorm_fn rmsnorm;
    lk_layernorm_fn layernorm;
    lk_act_mul_fn silu_mul, gelu_mul, gelu_tanh_mul, swiglu_clamped;
    lk_add_fn add;
    lk_scale_fn scale;
    lk_soft_cap_fn soft_cap;
    lk_rope_fn rope_half, rope_pair;
    lk_attn_page_fn attn_page;
    lk_attn_merge_fn attn_merge;
};

/* What a processor (and its system) can do. */
enum {
    LK_CPU_AVX2 = 1,   /* AVX2, FMA, F16C */
    LK_CPU_AVX512 = 2, /* AVX-512 F, BW, DQ, VL, besides AVX2 */
};

/* Of this machine. */
unsigned lk_cpu_flags(void);
/* Flags up to a named level ("c", "avx2", "avx512"), cut to what `have` holds; NULL is all of it. Unknown
 * names give ~0u. */
unsigned lk_cpu_flags_for(const char *level, unsigned have);

/* Fills the table for these flags. */
void lk_cpu_init(struct lk_cpu *cpu, unsigned flags);
