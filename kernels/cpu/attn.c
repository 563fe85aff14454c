/* Attention over one page of keys, and merging of parts (Milakov and Gimelshein 2018), in C. */
#include "config.h"

#include "kernels/lk.h"

#include <math.h>

#include "kernels/cpu/families.h"

/* One query row. Scores are rounded to float32, as their maximum is handed out in that type. */
static void attend_row(float *ret_max, float *ret_sum, float *out, const float *q, int32_t first,
                       int32_t last, const float *k, const float *v, size_t head_dim, float scale, float cap,
                       const float *bias)
{
    float score[LK_KV_PAGE], max = -INFINITY;
    for (int32_t t = first; t < last; t++) {
        double dot = 0;
        for (size_t d = 0; d < head_dim; d++)
            dot += (double)q[d] * (double)k[d * LK_KV_PAGE + (size_t)t];
        dot *= (double)scale;
        dot = cap > 0 ? (double)cap * tanh(dot / (double)cap) : dot;
        score[t] = (float)(dot + (bias ? (double)bias[t] : 0));
        max = score[t] > max ? score[t] : max;
    }
    double sum = 0, weight[LK_KV_PAGE];
    for (int32_t t = first; t < last; t++)
        sum += weight[t] = exp((double)score[t] - (double)max);
    for (size_t d = 0; d < head_dim; d++) {
        double x = 0;
        for (int32_t t = first; t < last; t++)
            x += weight[t] * (double)v[(size_t)t * head_dim + d];
        out[d] = (float)x;
    }
    *ret_max = max;
    *ret_sum = (float)sum;
}

static LK_ATTN_PAGE_FN(attn_page_c)
{
    for (size_t i = 0; i < n_q; i++)
        attend_row(&max[i], &sum[i], out + i * head_dim, q + i * q_stride, first[i], last[i], k, v, head_dim,
                   scale, cap, bias ? bias + i * LK_KV_PAGE : NULL);
}

static LK_ATTN_MERGE_FN(attn_merge_c)
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
    double old = exp((double)*m - (double)top), part = exp((double)pm - (double)top);
    for (size_t d = 0; d < head_dim; d++)
        out[d] = (float)((double)out[d] * old + (double)pout[d] * part);
    *l = (float)((double)*l * old + (double)pl * part);
    *m = top;
}

void lk_attn_init(struct lk_cpu *cpu)
{
    cpu->attn_page = attn_page_c;
    cpu->attn_merge = attn_merge_c;
}
