/* Attention over one page of keys, and merging of parts, in the words of vec_avx2.h or vec_avx512.h.
 *
 * Query rows are taken in tiles: a vector of keys, or of values, is loaded once for all rows of a tile. Each
 * row's score of a key is one chain over the elements of the head, and each element of its output one chain
 * over the keys in its range, in order; so a row's bits do not depend on its neighbours. */
#pragma once

#include <math.h>
#include <string.h>

#include "kernels/lk.h"

enum {
    SPAN = 4,                                          /* vectors side by side: */
    WIDTH = SPAN * LANES,                              /* keys of a page, or elements of an output */
    ROWS = SPAN == TILE_OUT ? TILE_ROW : TILE_ROW / 2, /* whose accumulators fill the registers */
};

_Static_assert(LK_KV_PAGE % WIDTH == 0, "a page is a whole number of spans");

/* One page and the rows that attend to it. */
struct page {
    const float *q, *k, *v;
    float *out;
    const int32_t *first, *last;
    size_t q_stride, head_dim;
    float cap;                      /* 0: none */
    const float *bias;              /* [rows][LK_KV_PAGE], NULL: none */
    float weight[ROWS][LK_KV_PAGE]; /* scores, then exp(score - max) */
};

/* ---- Scores ---- */

/* Of n_row rows (a constant) from `row`, for WIDTH keys from `key`. */
VEC_INLINE void score_span(struct page *p, size_t row, size_t n_row, size_t key, vec scale)
{
    vec acc[ROWS][SPAN];
#pragma GCC unroll 8
    for (size_t r = 0; r < n_row; r++)
#pragma GCC unroll 8
        for (size_t s = 0; s < SPAN; s++)
            acc[r][s] = vec_zero();
    const float *q = p->q + row * p->q_stride;
    for (size_t d = 0; d < p->head_dim; d++) {
        vec k[SPAN];
#pragma GCC unroll 8
        for (size_t s = 0; s < SPAN; s++)
            k[s] = vec_load(p->k + d * LK_KV_PAGE + key + s * LANES);
#pragma GCC unroll 8
        for (size_t r = 0; r < n_row; r++) {
            vec element = vec_set1(q[r * p->q_stride + d]);
#pragma GCC unroll 8
            for (size_t s = 0; s < SPAN; s++)
                acc[r][s] = vec_fma(element, k[s], acc[r][s]);
        }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < n_row; r++)
#pragma GCC unroll 8
        for (size_t s = 0; s < SPAN; s++)
            vec_store(p->weight[r] + key + s * LANES, vec_mul(acc[r][s], scale));
}

/* A row's scores with their cap and bias, where there are any. */
static void bend(struct page *p, size_t row, size_t r)
{
    for (size_t t = 0; t < LK_KV_PAGE && p->cap > 0; t += LANES) {
        vec score = vec_mul(vec_load(p->weight[r] + t), vec_set1(1 / p->cap));
        vec_store(p->weight[r] + t, vec_mul(vec_tanh(score), vec_set1(p->cap)));
    }
    for (size_t t = 0; t < LK_KV_PAGE && p->bias; t += LANES) {
        vec bias = vec_load(p->bias + row * LK_KV_PAGE + t);
        vec_store(p->weight[r] + t, vec_add(vec_load(p->weight[r] + t), bias));
    }
}

/* Scores become weights; their maximum and sum. A key outside the range has weight 0. */
static void soften(struct page *p, size_t row, size_t r, float *ret_max, float *ret_sum)
{
    int32_t first = p->first[row], last = p->last[row];
    vec none = vec_set1(-INFINITY), top = none, sum = vec_zero();
    for (int32_t t = 0; t < LK_KV_PAGE; t += LANES)
        top = vec_max(vec_in_range(vec_load(p->weight[r] + t), none, first - t, last - t), top);
    float max = vec_max_lane(top);
    for (int32_t t = 0; t < LK_KV_PAGE; t += LANES) {
        vec weight = vec_exp(vec_sub(vec_load(p->weight[r] + t), vec_set1(max)));
        weight = vec_in_range(weight, vec_zero(), first - t, last - t);
        vec_store(p->weight[r] + t, weight);
        sum = vec_add(sum, weight);
    }
    *ret_max = max;
    *ret_sum = vec_sum(sum);
}

/* ---- Outputs ---- */

/* n <= LANES elements. */
VEC_INLINE vec load_some(const float *x, size_t n)
{
    return n < LANES ? vec_load_part(x, n) : vec_load(x);
}

VEC_INLINE void store_some(float *x, vec a, size_t n)
{
    if (n < LANES)
        vec_store_part(x, a, n);
    else
        vec_store(x, a);
}

/* out[row + r][d ...] += the values of keys [first, last), weighted: n_vec vectors, each of n elements (n is
 * LANES, or n_vec is 1). n_row and n_vec are constants. */
VEC_INLINE void add_values(struct page *p, size_t row, size_t r, size_t n_row, size_t d, size_t n_vec,
                           size_t n, int32_t first, int32_t last)
{
    vec acc[ROWS][SPAN];
    float *out = p->out + row * p->head_dim + d;
#pragma GCC unroll 8
    for (size_t i = 0; i < n_row; i++)
#pragma GCC unroll 8
        for (size_t s = 0; s < n_vec; s++)
            acc[i][s] = load_some(out + i * p->head_dim + s * LANES, n);
    for (int32_t t = first; t < last; t++) {
        vec v[SPAN];
#pragma GCC unroll 8
        for (size_t s = 0; s < n_vec; s++)
            v[s] = load_some(p->v + (size_t)t * p->head_dim + d + s * LANES, n);
#pragma GCC unroll 8
        for (size_t i = 0; i < n_row; i++) {
            vec weight = vec_set1(p->weight[r + i][t]);
#pragma GCC unroll 8
            for (size_t s = 0; s < n_vec; s++)
                acc[i][s] = vec_fma(weight, v[s], acc[i][s]);
        }
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < n_row; i++)
#pragma GCC unroll 8
        for (size_t s = 0; s < n_vec; s++)
            store_some(out + i * p->head_dim + s * LANES, acc[i][s], n);
}

VEC_INLINE void add_all_values(struct page *p, size_t row, size_t r, size_t n_row, int32_t first,
                               int32_t last)
{
    size_t d = 0;
    for (; d + WIDTH <= p->head_dim; d += WIDTH)
        add_values(p, row, r, n_row, d, SPAN, LANES, first, last);
    for (; d + LANES <= p->head_dim; d += LANES)
        add_values(p, row, r, n_row, d, 1, LANES, first, last);
    if (d < p->head_dim)
        add_values(p, row, r, n_row, d, 1, p->head_dim - d, first, last);
}

static void add_one_row(struct page *p, size_t row, size_t r, int32_t first, int32_t last)
{
    if (first < last)
        add_all_values(p, row + r, r, 1, first, last);
}

/* The keys that all rows of a tile see are taken together; what comes before and after, row by row: a value
 * outside a row's range must not be touched, for it may be NaN. */
VEC_INLINE void outputs(struct page *p, size_t row, size_t n_row)
{
    int32_t first = 0, last = LK_KV_PAGE;
    for (size_t r = 0; r < n_row; r++) {
        first = p->first[row + r] > first ? p->first[row + r] : first;
        last = p->last[row + r] < last ? p->last[row + r] : last;
    }
    memset(p->out + row * p->head_dim, 0, n_row * p->head_dim * sizeof *p->out);
    for (size_t r = 0; r < n_row; r++)
        add_one_row(p, row, r, p->first[row + r], first < last ? first : p->last[row + r]);
    if (first >= last)
        return;
    add_all_values(p, row, 0, n_row, first, last);
    for (size_t r = 0; r < n_row; r++)
        add_one_row(p, row, r, last, p->last[row + r]);
}

/* ---- The page ---- */

VEC_INLINE void attend_rows(struct page *p, float *max, float *sum, size_t row, size_t n_row, float scale)
{
    for (size_t key = 0; key < LK_KV_PAGE; key += WIDTH)
        score_span(p, row, n_row, key, vec_set1(scale));
    for (size_t r = 0; r < n_row; r++) {
        bend(p, row + r, r);
        soften(p, row + r, r, &max[row + r], &sum[row + r]);
    }
    outputs(p, row, n_row);
}

LK_ATTN_PAGE_FN(LK_ISA(lk_attn_page))
{
    struct page p = {.q = q,
                     .k = k,
                     .v = v,
                     .out = out,
                     .first = first,
                     .last = last,
                     .q_stride = q_stride,
                     .head_dim = head_dim,
                     .cap = cap,
                     .bias = bias};
    size_t i = 0;
    for (; i + ROWS <= n_q; i += ROWS)
        attend_rows(&p, max, sum, i, ROWS, scale);
    for (; i + 2 <= n_q; i += 2)
        attend_rows(&p, max, sum, i, 2, scale);
    for (; i < n_q; i++)
        attend_rows(&p, max, sum, i, 1, scale);
}

/* ---- Merging ---- */

LK_ATTN_MERGE_FN(LK_ISA(lk_attn_merge))
{
    if (pl == 0)
        return;
    if (*l == 0) {
        memcpy(out, pout, head_dim * sizeof *out);
        *m = pm;
        *l = pl;
        return;
    }
    float top = *m > pm ? *m : pm;
    vec old = vec_exp(vec_set1(*m - top)), part = vec_exp(vec_set1(pm - top));
    size_t d = 0;
    for (; d + LANES <= head_dim; d += LANES)
        vec_store(out + d, vec_fma(vec_load(out + d), old, vec_mul(vec_load(pout + d), part)));
    size_t n = head_dim - d;
    if (n)
        vec_store_part(out + d,
                       vec_fma(vec_load_part(out + d, n), old, vec_mul(vec_load_part(pout + d, n), part)), n);
    *l = vec_lane0(vec_fma(vec_set1(*l), old, vec_mul(vec_set1(pl), part)));
    *m = top;
}
