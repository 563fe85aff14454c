/* Normalization of rows. */
#include "kernels/cuda/port.cuh"

static __device__ __forceinline__ float warp_sum(float v)
{
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

/* Sum over the block, the result in every thread. Called once in a kernel. */
static __device__ __forceinline__ float block_sum(float v)
{
    CU_SHARED(float, part, 32);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n_warp = (blockDim.x + 31) >> 5;
    v = warp_sum(v);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    return warp_sum(lane < n_warp ? part[lane] : 0.0f);
}

/* y[n] = x[n] * w[n] / sqrt(mean(x^2) + eps), one block a row. y may be x; n is a multiple of 4, rows are aligned to
 * 16 bytes. */
extern "C" __global__ void __launch_bounds__(1024) rmsnorm(float *y, const float *x, const float *w, int n, float eps)
{
    const float4 *xr = reinterpret_cast<const float4 *>(x + size_t(blockIdx.x) * n);
    const float4 *wr = reinterpret_cast<const float4 *>(w);
    float4 *yr = reinterpret_cast<float4 *>(y + size_t(blockIdx.x) * n);
    float squares = 0.0f;
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        const float4 v = xr[i];
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    const float r = rsqrtf(block_sum(squares) / n + eps);
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        const float4 v = xr[i], g = wr[i];
        yr[i] = make_float4(v.x * r * g.x, v.y * r * g.y, v.z * r * g.z, v.w * r * g.w);
    }
}
CU_EXPORT(rmsnorm);
