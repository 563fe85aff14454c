/* Normalization of rows: one block a row, 16-byte loads. n is a multiple of 4, rows are aligned to 16 bytes.
 */
#include "kernels/cuda/warp.cuh"

/* y[row][n] = x[row][n] * w[n] / sqrt(mean(x^2) + eps). y may be x. */
extern "C" __global__ void __launch_bounds__(1024)
    rmsnorm(float *y, const float *x, const float *w, int n, float eps)
{
    CU_SHARED(float, part, 32);
    cu_pdl_start();
    const float4 *xr = reinterpret_cast<const float4 *>(x + size_t(blockIdx.x) * n);
    const float4 *wr = reinterpret_cast<const float4 *>(w);
    float4 *yr = reinterpret_cast<float4 *>(y + size_t(blockIdx.x) * n);
    float squares = 0.0f;
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        const float4 v = xr[i];
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    const float r = rsqrtf(cu_block_sum(squares, part) / n + eps);
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        const float4 v = xr[i], g = wr[i];
        yr[i] = make_float4(v.x * r * g.x, v.y * r * g.y, v.z * r * g.z, v.w * r * g.w);
    }
}
CU_EXPORT(rmsnorm);

/* y[row][n] = (x[row][n] - mean) / sqrt(mean((x - mean)^2) + eps) * w[n] + b[n]; b may be NULL. The mean
 * first, then the squares of what is left: their difference would lose the digits of a large mean. y may be
 * x. */
extern "C" __global__ void __launch_bounds__(1024)
    layernorm(float *y, const float *x, const float *w, const float *b, int n, float eps)
{
    CU_SHARED(float, part_sum, 32);
    CU_SHARED(float, part_squares, 32);
    cu_pdl_start();
    const float4 *xr = reinterpret_cast<const float4 *>(x + size_t(blockIdx.x) * n);
    const float4 *wr = reinterpret_cast<const float4 *>(w), *br = reinterpret_cast<const float4 *>(b);
    float4 *yr = reinterpret_cast<float4 *>(y + size_t(blockIdx.x) * n);
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        const float4 v = xr[i];
        sum += v.x + v.y + v.z + v.w;
    }
    const float mean = cu_block_sum(sum, part_sum) / n;
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        const float4 v = xr[i];
        const float p = v.x - mean, q = v.y - mean, r = v.z - mean, s = v.w - mean;
        squares += p * p + q * q + r * r + s * s;
    }
    const float r = rsqrtf(cu_block_sum(squares, part_squares) / n + eps);
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        const float4 v = xr[i], g = wr[i];
        const float4 a = br ? br[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        yr[i] = make_float4((v.x - mean) * r * g.x + a.x, (v.y - mean) * r * g.y + a.y,
                            (v.z - mean) * r * g.z + a.z, (v.w - mean) * r * g.w + a.w);
    }
}
CU_EXPORT(layernorm);
