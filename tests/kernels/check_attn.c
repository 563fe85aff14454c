/* Attention of struct lk_cpu against plain double arithmetic. */
#include "config.h"

#include "tests/kernels/check_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/cases.h"

enum { MAX_QUERY = 64 };

struct page {
    size_t head_dim, n_q, q_stride;
    int32_t first[MAX_QUERY], last[MAX_QUERY];
    float *q, *k, *v, *max, *sum, *out, scale, cap;
    float *bias; /* [n_q][LK_KV_PAGE], NULL: none */
};

/* What scores and weights of one query row should be, and how far off each weight may be. */
static void weigh(const struct page *p, size_t i, double top, double *ret_weight, double *ret_error,
                  double *ret_size)
{
    *ret_size = 0;
    for (int32_t t = p->first[i]; t < p->last[i]; t++) {
        double dot = 0, size = 0;
        for (size_t d = 0; d < p->head_dim; d++) {
            double term = (double)p->q[i * p->q_stride + d] * (double)p->k[d * LK_KV_PAGE + (size_t)t];
            dot += term;
            size += fabs(term);
        }
        double score = dot * (double)p->scale;
        /* Each lane adds head_dim products; then the scale. */
        double score_error = ((double)p->head_dim + 3) * 1.05 * U * size * (double)p->scale;
        if (p->cap > 0) { /* whose slope is at most 1; tanh is off by 3 U, and rounded before and after */
            score_error += (2 * fabs(score) + 5 * (double)p->cap) * U;
            score = (double)p->cap * tanh(score / (double)p->cap);
        }
        if (p->bias) {
            score += (double)p->bias[i * LK_KV_PAGE + (size_t)t];
            score_error += (fabs(score) + 1) * U;
        }
        ret_weight[t] = exp(score - top);
        /* The difference and the exponential's own argument reduction round with the size of the difference.
         */
        ret_error[t] = expm1(score_error + (fabs(score - top) + 8) * U) * ret_weight[t] + TINY;
        *ret_size = fmax(*ret_size, score_error);
    }
}

static bool query_is_right(const struct page *p, size_t i)
{
    double weight[LK_KV_PAGE] = {0}, error[LK_KV_PAGE] = {0}, score_error, top = (double)p->max[i];
    if (p->first[i] == p->last[i]) {
        bool empty = p->max[i] == -INFINITY && p->sum[i] == 0;
        for (size_t d = 0; d < p->head_dim; d++)
            empty = empty && p->out[i * p->head_dim + d] == 0;
        return empty || check_wrong("query %zu without keys: max %g, sum %g", i, top, (double)p->sum[i]);
    }
    weigh(p, i, top, weight, error, &score_error);
    double sum = 0, off = 0, greatest = 0;
    for (int t = 0; t < LK_KV_PAGE; t++) {
        sum += weight[t];
        off += error[t];
        greatest = fmax(greatest, weight[t]);
    }
    /* The greatest weight is exp(0): max is the greatest score as computed. */
    double max_error = score_error + fabs(top) * U * 2 + 4 * U;
    if (!(fabs(log(greatest)) <= max_error))
        return check_wrong("query %zu: max is off by %.3g, allowed %.3g", i, log(greatest), max_error);
    if (!check_close(p->sum[i], sum, off + LK_KV_PAGE * U * sum, i))
        return false;
    for (size_t d = 0; d < p->head_dim; d++) {
        double want = 0, bound = 0;
        for (int32_t t = p->first[i]; t < p->last[i]; t++) {
            double v = (double)p->v[(size_t)t * p->head_dim + d];
            want += weight[t] * v;
            bound += (error[t] + LK_KV_PAGE * U * weight[t]) * fabs(v);
        }
        if (!check_close(p->out[i * p->head_dim + d], want, bound * 1.05 + TINY, i * p->head_dim + d))
            return false;
    }
    return true;
}

/* Puts a value where no query of the page may look. */
static void spoil(const struct page *p, float junk)
{
    int32_t first = LK_KV_PAGE, last = 0;
    for (size_t i = 0; i < p->n_q; i++)
        if (p->first[i] < p->last[i]) {
            first = p->first[i] < first ? p->first[i] : first;
            last = p->last[i] > last ? p->last[i] : last;
        }
    for (int32_t t = 0; t < LK_KV_PAGE; t++)
        for (size_t d = 0; d < p->head_dim && (t < first || t >= last); d++)
            p->k[d * LK_KV_PAGE + (size_t)t] = p->v[(size_t)t * p->head_dim + d] = junk;
}

/* Each query alone, with something else outside its own range: the same bits. */
static bool page_is_independent(const struct lk_cpu *got, const struct page *p)
{
    static const float junk[] = {NAN, INFINITY, 0, 1e30f};
    size_t n = LK_KV_PAGE * p->head_dim;
    float *k = check_allocate(n, sizeof *k), *v = check_allocate(n, sizeof *v),
          *out = check_allocate(p->head_dim, sizeof *out);
    bool ok = true;
    for (size_t i = 0; i < p->n_q && ok; i++) {
        struct page one = *p;
        one.n_q = 1;
        one.first[0] = p->first[i];
        one.last[0] = p->last[i];
        one.k = memcpy(k, p->k, n * sizeof *k);
        one.v = memcpy(v, p->v, n * sizeof *v);
        spoil(&one, junk[i % 4]);
        float max, sum;
        got->attn_page(&max, &sum, out, p->q + i * p->q_stride, 1, 1, one.first, one.last, k, v, p->head_dim,
                       p->scale, p->cap, p->bias ? p->bias + i * LK_KV_PAGE : NULL);
        ok = check_same(&p->max[i], &max, 1, "max of a query alone") &&
             check_same(&p->sum[i], &sum, 1, "sum of a query alone") &&
             check_same(p->out + i * p->head_dim, out, p->head_dim, "a query alone");
    }
    free(k);
    free(v);
    free(out);
    return ok;
}

static void draw_range(struct check_rng *rng, int32_t *first, int32_t *last)
{
    switch (check_range(rng, 0, 4)) {
    case 0: /* nothing */
        *first = *last = check_range(rng, 0, LK_KV_PAGE);
        return;
    case 1: /* all */
        *first = 0;
        *last = LK_KV_PAGE;
        return;
    case 2: /* as causal attention */
        *first = 0;
        *last = check_range(rng, 1, LK_KV_PAGE);
        return;
    default:
        *first = check_range(rng, 0, LK_KV_PAGE - 1);
        *last = check_range(rng, *first + 1, LK_KV_PAGE);
    }
}

static int page_case(const struct lk_cpu *got, int32_t head_dim, int32_t n_q, float spread,
                     struct check_rng *rng)
{
    check_case("attn_page head_dim %d, %d queries, spread %g", head_dim, n_q, (double)spread);
    bool at_end = check_range(rng, 0, 3) != 0;
    struct page p = {
        .head_dim = (size_t)head_dim, .n_q = (size_t)n_q, .scale = spread / sqrtf((float)head_dim)};
    p.cap = check_range(rng, 0, 2) ? 0 : 3;
    p.q_stride = p.head_dim + (size_t)check_range(rng, 0, 1) * 3;
    size_t n_page = LK_KV_PAGE * p.head_dim, n_out = p.n_q * p.head_dim;
    p.q = check_floats(rng, X, (p.n_q - 1) * p.q_stride + p.head_dim, CHECK_PLAIN, at_end);
    p.k = check_floats(rng, W, n_page, CHECK_PLAIN, at_end);
    p.v = check_floats(rng, Z, n_page, CHECK_PLAIN, at_end);
    if (!check_range(rng, 0, 2))
        p.bias = check_floats(rng, BIAS, p.n_q * LK_KV_PAGE, CHECK_PLAIN, at_end);
    p.out = check_memory(Y, n_out * sizeof(float), at_end);
    p.max = check_memory(MAX, p.n_q * sizeof(float), at_end);
    p.sum = check_memory(SUM, p.n_q * sizeof(float), at_end);
    memset(p.out, 0xff, n_out * sizeof(float));
    for (int32_t i = 0; i < n_q; i++)
        draw_range(rng, &p.first[i], &p.last[i]);
    spoil(&p, NAN);
    got->attn_page(p.max, p.sum, p.out, p.q, p.q_stride, p.n_q, p.first, p.last, p.k, p.v, p.head_dim,
                   p.scale, p.cap, p.bias);
    bool ok = check_intact(Y) && check_intact(MAX) && check_intact(SUM);
    for (size_t i = 0; i < p.n_q && ok; i++)
        ok = query_is_right(&p, i);
    return !(ok && page_is_independent(got, &p));
}

int check_attn_page(const struct lk_cpu *got)
{
    struct check_rng rng = check_rng_for(700);
    static const float spreads[] = {1, 8, 200}; /* the last makes most weights underflow */
    int n = 0;
    for (int i = 0; i < CASE_COUNT(case_head_dim); i++)
        for (int k = 0; k < CASE_COUNT(spreads); k++)
            for (int32_t n_q = 1; n_q <= MAX_QUERY; n_q = n_q < 20 ? n_q + 1 + n_q / 5 : n_q * 3 + 1)
                n += page_case(got, case_head_dim[i], n_q, spreads[k], &rng);
    return n;
}

/* Two weights, two products and a sum, each factor off by a few U and by the rounding of its exponent. */
static int merge_case(const struct lk_cpu *got, int32_t head_dim, float m, float l, float pm, float pl,
                      struct check_rng *rng)
{
    check_case("attn_merge head_dim %d, (%g, %g) and (%g, %g)", head_dim, (double)m, (double)l, (double)pm,
               (double)pl);
    bool at_end = check_range(rng, 0, 3) != 0;
    size_t n = (size_t)head_dim, bytes = n * sizeof(float);
    float *before = check_floats(rng, X, n, CHECK_PLAIN, at_end),
          *part = check_floats(rng, W, n, CHECK_PLAIN, at_end);
    float *out = check_memory(Y, bytes, at_end), new_m = m, new_l = l;
    memcpy(out, before, bytes);
    got->attn_merge(&new_m, &new_l, out, pm, pl, part, n);
    if (!check_intact(Y))
        return 1;
    if (pl == 0)
        return !(new_m == m && new_l == l && check_same(before, out, n, "an empty part"));
    if (l == 0)
        return !(new_m == pm && new_l == pl && check_same(part, out, n, "into nothing"));
    if (new_m != fmaxf(m, pm))
        return 1 + check_wrong("max is %g", (double)new_m);
    double a = exp((double)m - (double)new_m), b = exp((double)pm - (double)new_m);
    double error = (fabs((double)m - (double)pm) + 8) * U;
    bool ok = check_close(new_l, a * (double)l + b * (double)pl,
                          error * (a * (double)l + b * (double)pl) + 2 * TINY, 0);
    for (size_t d = 0; d < n && ok; d++) {
        double x = a * (double)before[d], y = b * (double)part[d];
        ok = check_close(out[d], x + y, error * (fabs(x) + fabs(y)) + 2 * TINY, d);
    }
    return !ok;
}

int check_attn_merge(const struct lk_cpu *got)
{
    struct check_rng rng = check_rng_for(800);
    int n = 0;
    for (int i = 0; i < CASE_COUNT(case_head_dim); i++) {
        int32_t head_dim = case_head_dim[i];
        for (int k = 0; k < 12; k++) {
            float spread = k % 3 == 0 ? 1 : k % 3 == 1 ? 30 : 300;
            n += merge_case(got, head_dim, check_uniform(&rng, spread), 1 + fabsf(check_uniform(&rng, 60)),
                            check_uniform(&rng, spread), 1 + fabsf(check_uniform(&rng, 60)), &rng);
        }
        n += merge_case(got, head_dim, 3, 2, 3, 5, &rng);
        n += merge_case(got, head_dim, -INFINITY, 0, 1.5f, 2, &rng);
        n += merge_case(got, head_dim, 1.5f, 2, -INFINITY, 0, &rng);
        n += merge_case(got, head_dim, -INFINITY, 0, -INFINITY, 0, &rng);
    }
    return n;
}
