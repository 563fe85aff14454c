/* RoPE fused with the store of keys and values into their pages. */
#include "kernels/cuda/kv.cuh"
#include "kernels/cuda/warp.cuh"

/* Turns q[row][n_head][head_dim] in place, turns k[row][n_kv_head][head_dim] on its way into the pages, and
 * stores v. Grid (n_head + 2 n_kv_head, rows): a block has one head of q, k or v.
 *
 * cos_sin[row][2][n_freq] as rope_angles makes it; layout 0: i and i + n_freq turn together, 1: 2i and 2i +
 * 1; elements from 2 n_freq on stay. slot[row]: page * LK_KV_PAGE + place in it. */
template <class T>
static __device__ __forceinline__ void
rope_kv_head(float *q, const float *k, const float *v, T *k_pool, T *v_pool, const float *cos_sin,
             const int *slot, int n_head, int n_kv_head, int head_dim, int n_freq, int layout)
{
    cu_pdl_start();
    const int row = blockIdx.y, page = slot[row] / LK_KV_PAGE, at = slot[row] % LK_KV_PAGE;
    const float *c = cos_sin + size_t(row) * 2 * n_freq, *s = c + n_freq;
    const int head = int(blockIdx.x) - n_head, kv_head = head % n_kv_head;
    if (head >= n_kv_head) {
        const float *x = v + (size_t(row) * n_kv_head + kv_head) * head_dim;
        T *y = v_pool + cu_kv_at(page, n_kv_head, kv_head, at, head_dim);
        for (int i = threadIdx.x; i < head_dim; i += blockDim.x)
            cu_narrow(&y[i], x[i]);
        return;
    }
    float *in_place = q + (size_t(row) * n_head + blockIdx.x) * head_dim;
    const float *x = head < 0 ? in_place : k + (size_t(row) * n_kv_head + kv_head) * head_dim;
    T *y = k_pool + cu_kv_at(page, n_kv_head, kv_head, at, head_dim);
    for (int i = threadIdx.x; i < head_dim - n_freq; i += blockDim.x) {
        /* The first n_freq threads have a pair, the others an element that stays. */
        const bool turns = i < n_freq;
        const int p = turns ? (layout ? 2 * i : i) : i + n_freq, r = layout ? 2 * i + 1 : i + n_freq;
        float a = x[p], b = turns ? x[r] : 0.0f;
        if (turns) {
            const float old = a;
            a = old * c[i] - b * s[i];
            b = b * c[i] + old * s[i];
        }
        if (head < 0)
            in_place[p] = a;
        else
            cu_narrow(&y[p], a);
        if (turns && head < 0)
            in_place[r] = b;
        if (turns && head >= 0)
            cu_narrow(&y[r], b);
    }
}

#define ROPE_KV(name, T)                                                                                   \
    extern "C" __global__ void name(float *q, const float *k, const float *v, T *k_pool, T *v_pool,        \
                                    const float *cos_sin, const int *slot, int n_head, int n_kv_head,      \
                                    int head_dim, int n_freq, int layout)                                  \
    {                                                                                                      \
        rope_kv_head(q, k, v, k_pool, v_pool, cos_sin, slot, n_head, n_kv_head, head_dim, n_freq, layout); \
    }                                                                                                      \
    CU_EXPORT(name);
ROPE_KV(rope_kv_f16, __half)
ROPE_KV(rope_kv_bf16, __nv_bfloat16)
