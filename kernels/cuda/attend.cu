/* Attention of decoding: one row a sequence, over KV pages, split along the keys. */
#include "kernels/cuda/kv.cuh"
#include "kernels/cuda/warp.cuh"

enum {
    ATTEND_TILE = 32, /* keys at a time: a lane each */
    ATTEND_GROUP = 8, /* query heads that share a block, at most: their outputs are in registers */
    ATTEND_SPLIT = 4, /* pages of a split. Fixed, and splits begin at absolute positions, so that a row's
                         result does not depend on the device or on what else is computed */
};

struct attend_args {
    const float *q;    /* [row][n_head][head_dim] */
    const int *pages;  /* [row][max_pages] */
    const int *length; /* [row]: keys, the row's own included */
    int max_pages, n_head, n_kv_head, head_dim;
    int window;       /* only the last so many keys; 0: all */
    float scale, cap; /* of scores; cap: cap * tanh(score / cap), 0: none */
};

/* One tile of keys or values of a head into shared memory, widened, rows of head_dim + 1. */
template <class T>
static __device__ __forceinline__ void attend_load(float *dst, const T *pool, int page, int n_kv_head,
                                                   int head, int at, int n, int head_dim)
{
    constexpr int width = cu_vector<T>::n;
    const int n_vector = head_dim / width;
    const T *src = pool + cu_kv_at(page, n_kv_head, head, at, head_dim);
    for (int i = threadIdx.x; i < n * n_vector; i += blockDim.x) {
        float v[width];
        const int key = i / n_vector, d = i % n_vector * width;
        cu_vector<T>::load(v, src + size_t(key) * head_dim + d);
#pragma unroll
        for (int k = 0; k < width; k++)
            dst[key * (head_dim + 1) + d + k] = v[k];
    }
}

/* part[row][n_head][n_split]{maximum, sum, head_dim outputs} of the keys of one split. Grid (n_kv_head *
 * groups, n_split, rows), where groups = ceil(n_head / n_kv_head / 8); a thread a column of the output,
 * blockDim.x = head_dim rounded up to 32; head_dim is a multiple of 8. Dynamic shared memory: attend_bytes of
 * the host. */
template <class T>
static __device__ __forceinline__ void attend_split(float *part, const T *k_pool, const T *v_pool,
                                                    const attend_args &a)
{
    CU_DYN_SHARED(float, shared);
    cu_pdl_start();
    const int group = a.n_head / a.n_kv_head, n_group = (group + ATTEND_GROUP - 1) / ATTEND_GROUP,
              dim = a.head_dim;
    const int kv_head = blockIdx.x / n_group, first = blockIdx.x % n_group * ATTEND_GROUP;
    const int n_q = min(ATTEND_GROUP, group - first), head = kv_head * group + first, row = blockIdx.z;
    float *qs = shared;                          /* [8][dim] */
    float *tile = qs + ATTEND_GROUP * dim;       /* [32][dim + 1], padded against bank conflicts */
    float *ps = tile + ATTEND_TILE * (dim + 1);  /* [8][32] */
    float *st = ps + ATTEND_GROUP * ATTEND_TILE; /* [8]{maximum, sum, rescale} */
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, n_warp = blockDim.x >> 5;
    const int length = a.length[row], from = a.window > 0 ? max(0, length - a.window) : 0;
    const int split_from = blockIdx.y * ATTEND_SPLIT * LK_KV_PAGE;
    const int split_to = min(length, split_from + ATTEND_SPLIT * LK_KV_PAGE);
    float acc[ATTEND_GROUP] = {};
    for (int i = t; i < n_q * dim; i += blockDim.x)
        qs[i] = a.q[(size_t(row) * a.n_head + head) * dim + i] * a.scale;
    if (t < n_q) {
        st[3 * t] = -CU_INF;
        st[3 * t + 1] = 0.0f;
    }
    /* Whole tiles, also where the window begins inside one: masked keys count as absent. */
    for (int base = max(split_from, from / ATTEND_TILE * ATTEND_TILE); base < split_to; base += ATTEND_TILE) {
        const int page = a.pages[size_t(row) * a.max_pages + base / LK_KV_PAGE], at = base % LK_KV_PAGE;
        const int n = min(int(ATTEND_TILE), split_to - base), skip = max(0, from - base);
        attend_load(tile, k_pool, page, a.n_kv_head, kv_head, at, n, dim);
        __syncthreads();
        for (int g = warp; g < n_q; g += n_warp) { /* a warp a query head, a lane a key */
            const bool sees = lane < n && lane >= skip;
            float s = -CU_INF;
            if (sees) {
                s = 0.0f;
                for (int d = 0; d < dim; d++)
                    s += qs[g * dim + d] * tile[lane * (dim + 1) + d];
                if (a.cap > 0.0f)
                    s = a.cap * tanhf(s / a.cap);
            }
            const float old = st[3 * g], m = fmaxf(old, cu_warp_max(s));
            const float p = sees ? expf(s - m) : 0.0f, sum = cu_warp_sum(p);
            ps[g * ATTEND_TILE + lane] = p;
            __syncwarp(); /* all lanes have read st: a shuffle orders no memory */
            if (lane == 0) {
                const float r = expf(old - m);
                st[3 * g] = m;
                st[3 * g + 1] = st[3 * g + 1] * r + sum;
                st[3 * g + 2] = r;
            }
        }
        __syncthreads(); /* the keys have been read, ps and st are written */
        attend_load(tile, v_pool, page, a.n_kv_head, kv_head, at, n, dim);
        __syncthreads();
        if (t < dim) {
#pragma unroll /* so that acc stays in registers */
            for (int g = 0; g < ATTEND_GROUP; g++)
                if (g < n_q)
                    acc[g] *= st[3 * g + 2];
            for (int j = skip; j < n; j++) { /* masked values are not touched: they may be no numbers */
                const float v = tile[j * (dim + 1) + t];
#pragma unroll
                for (int g = 0; g < ATTEND_GROUP; g++)
                    if (g < n_q)
                        acc[g] += ps[g * ATTEND_TILE + j] * v;
            }
        }
        __syncthreads(); /* the values have been read: the next keys may come */
    }
    /* A split without keys has passed no barrier: st is its own threads' to read. */
#pragma unroll
    for (int g = 0; g < ATTEND_GROUP; g++) {
        if (g >= n_q)
            break;
        float *out = part + ((size_t(row) * a.n_head + head + g) * gridDim.y + blockIdx.y) * (dim + 2);
        if (t == g) {
            out[0] = st[3 * g];
            out[1] = st[3 * g + 1];
        }
        if (t < dim)
            out[2 + t] = acc[g];
    }
}

#define ATTEND(name, T)                                                                                 \
    extern "C" __global__ void name(float *part, const T *k_pool, const T *v_pool, const float *q,      \
                                    const int *pages, const int *length, int max_pages, int n_head,     \
                                    int n_kv_head, int head_dim, int window, float scale, float cap)    \
    {                                                                                                   \
        attend_split(                                                                                   \
            part, k_pool, v_pool,                                                                       \
            attend_args{q, pages, length, max_pages, n_head, n_kv_head, head_dim, window, scale, cap}); \
    }                                                                                                   \
    CU_EXPORT(name);
ATTEND(attend_split_f16, __half)
ATTEND(attend_split_bf16, __nv_bfloat16)

/* y[row][n_head][head_dim] from the parts of all splits, merged in order. Grid (n_head, rows), blockDim.x >=
 * head_dim. */
extern "C" __global__ void attend_join(float *y, const float *part, int n_split, int head_dim)
{
    cu_pdl_start();
    const size_t head = size_t(blockIdx.y) * gridDim.x + blockIdx.x;
    const float *p = part + head * n_split * (head_dim + 2);
    float m = -CU_INF, sum = 0.0f, acc = 0.0f;
    if (int(threadIdx.x) >= head_dim)
        return;
    for (int s = 0; s < n_split; s++)
        m = fmaxf(m, p[s * (head_dim + 2)]);
    for (int s = 0; s < n_split; s++) {
        const float *o = p + s * (head_dim + 2);
        if (o[1] == 0.0f)
            continue; /* no keys */
        const float r = expf(o[0] - m);
        sum += o[1] * r;
        acc += o[2 + threadIdx.x] * r;
    }
    y[head * head_dim + threadIdx.x] = acc / sum;
}
CU_EXPORT(attend_join);
