/* Products with 2 to 16 rows of activations on tensor cores. */
#include "kernels/cuda/warp.cuh"

enum {
    GEMM_K = 64,          /* columns a stage */
    GEMM_LD = GEMM_K + 8, /* of a stage's row: 16 bytes of padding, so that ldmatrix meets no bank conflict */
    GEMM_ROWS = 16,       /* outputs of a warp: the side of an mma with 16 rows */
    GEMM_STAGES = 2,
};

template <class T>
static __device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]);
template <>
__device__ __forceinline__ void mma<__half>(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    cu_mma_f16(d, a, b);
}
template <>
__device__ __forceinline__ void mma<__nv_bfloat16>(float (&d)[4], const unsigned (&a)[4],
                                                   const unsigned (&b)[2])
{
    cu_mma_bf16(d, a, b);
}

/* y[n_row][n_out] = x[n_row][n_in] w[n_out][n_in]^T, n_row up to 16, sums in float32. Weights fill the side
 * of 16 rows, sequences one or two blocks of 8 columns, so that each weight is read once. A warp 16 outputs;
 * two stages of cp.async under way; n_in is a multiple of 64. Dynamic shared memory: 4608 bytes a warp. */
template <class T>
static __device__ __forceinline__ void gemm(float *y, const T *__restrict__ w, const T *x, int n_row,
                                            int n_in, int n_out)
{
    CU_DYN_SHARED(T, shared);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int first = (blockIdx.x * (blockDim.x >> 5) + warp) * GEMM_ROWS;
    if (first >= n_out)
        return;
    T *stages = shared + warp * GEMM_STAGES * GEMM_ROWS * GEMM_LD;
    float d[2][4] = {};
    const int n_tile = n_in / GEMM_K;
    for (int tile = -1; tile < n_tile; tile++) {
        if (tile + 1 < n_tile) {
            T *dst = stages + ((tile + 1) & 1) * GEMM_ROWS * GEMM_LD;
            for (int i = lane; i < GEMM_ROWS * GEMM_K / 8; i += 32) {
                /* Beyond the last output: its weights again, for results that nobody stores. */
                const int o = min(first + i / 8, n_out - 1);
                cu_cp_async16(dst + i / 8 * GEMM_LD + i % 8 * 8,
                              w + size_t(o) * n_in + (tile + 1) * GEMM_K + i % 8 * 8);
            }
        }
        cu_cp_async_commit();
        if (tile < 0) {
            cu_pdl_start(); /* weights are under way */
            continue;
        }
        cu_cp_async_wait<1>();
        __syncwarp();
        const T *stage = stages + (tile & 1) * GEMM_ROWS * GEMM_LD;
#pragma unroll
        for (int k = 0; k < GEMM_K; k += 16) {
            unsigned a[4];
            cu_ldmatrix_x4(a, stage + (lane & 15) * GEMM_LD + k + (lane >> 4) * 8);
#pragma unroll
            for (int c = 0; c < 2; c++) {
                const int row = c * 8 + (lane >> 2);
                unsigned b[2] = {0, 0};
                if (c * 8 >= n_row)
                    break;
                if (row < n_row) {
                    const unsigned *xp = reinterpret_cast<const unsigned *>(
                        x + size_t(row) * n_in + tile * GEMM_K + k + (lane & 3) * 2);
                    b[0] = xp[0];
                    b[1] = xp[4];
                }
                mma<T>(d[c], a, b);
            }
        }
        __syncwarp();
    }
    for (int c = 0; c < 2; c++)
        for (int e = 0; e < 4; e++) {
            const int row = c * 8 + (lane & 3) * 2 + (e & 1), o = first + (lane >> 2) + (e >> 1) * 8;
            if (row < n_row && o < n_out)
                y[size_t(row) * n_out + o] = d[c][e];
        }
}

#define GEMM(name, T)                                                                       \
    extern "C" __global__ void __launch_bounds__(128)                                       \
        name(float *y, const T *__restrict__ w, const T *x, int n_row, int n_in, int n_out) \
    {                                                                                       \
        gemm(y, w, x, n_row, n_in, n_out);                                                  \
    }                                                                                       \
    CU_EXPORT(name);
GEMM(gemm_f16, __half)
GEMM(gemm_bf16, __nv_bfloat16)
