/* Products of a matrix and one vector: a warp an output, weights read once in 16-byte loads, FLIGHT of them
 * under way a lane. What bounds them is reading the weights (n_out * n_in * bytes of the type), so everything
 * else only has to hide behind it.
 *
 * The first weights are under way before the kernel before ends. Grid (n_out / warps of a block, rows);
 * x[row][n_in], y[row][n_out]. */
#pragma once

#include "kernels/cuda/warp.cuh"

/* The warp's output, or -1 where there is none left. */
static __device__ __forceinline__ int matvec_output(int n_out)
{
    const int o = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    return o < n_out ? o : -1;
}

/* The 16-byte loads that a lane has under way: weights from `at` on, 32 apart, zero from n on (all in units
 * of w). */
template <class Vector, int FLIGHT>
static __device__ __forceinline__ void matvec_load(Vector (&raw)[FLIGHT], const Vector *__restrict__ w,
                                                   int at, int n)
{
#pragma unroll
    for (int f = 0; f < FLIGHT; f++)
        raw[f] = at + f * 32 < n ? w[at + f * 32] : Vector{0, 0, 0, 0};
}

/* Weights of a type that is widened; n_in is a multiple of 16 bytes of it. */
template <class T, int FLIGHT>
static __device__ __forceinline__ void matvec_plain(float *y, const T *__restrict__ w, const float *x,
                                                    int n_out, int n_in)
{
    constexpr int width = cu_vector<T>::n;
    const int o = matvec_output(n_out), lane = threadIdx.x & 31, n = n_in / width;
    if (o < 0)
        return;
    const uint4 *wr = reinterpret_cast<const uint4 *>(w + size_t(o) * n_in);
    const float4 *xr = reinterpret_cast<const float4 *>(x + size_t(blockIdx.y) * n_in);
    float sum = 0.0f;
    uint4 raw[FLIGHT];
    matvec_load(raw, wr, lane, n);
    cu_pdl_start();
    for (int i = lane; i < n; i += FLIGHT * 32) {
        if (i != lane)
            matvec_load(raw, wr, i, n);
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            const int at = i + f * 32;
            if (at >= n)
                break;
            float v[width];
            cu_vector<T>::widen(v, raw[f]);
#pragma unroll
            for (int k = 0; k < width; k += 4) {
                const float4 a = xr[at * (width / 4) + k / 4];
                sum += v[k] * a.x + v[k + 1] * a.y + v[k + 2] * a.z + v[k + 3] * a.w;
            }
        }
    }
    sum = cu_warp_sum(sum);
    if (lane == 0)
        y[size_t(blockIdx.y) * n_out + o] = sum;
}

/* Weights in blocks of 32 with one scale, repacked in two planes: values[n_out][n_in] (Q8_0: a byte each;
 * Q4_0: 16 bytes a block, byte j has column j in its low and column j + 16 in its high half, plus 8) and
 * scales[n_out][n_in / 32]. Activations as quantize_rows leaves them. n_in is a multiple of 32. */
template <int FLIGHT>
static __device__ __forceinline__ void matvec_q8(float *y, const signed char *__restrict__ w,
                                                 const __half *__restrict__ scale, const signed char *x,
                                                 const float2 *x_scale, int n_out, int n_in)
{
    const int o = matvec_output(n_out), lane = threadIdx.x & 31, n = n_in / 16;
    if (o < 0)
        return;
    const int4 *wr = reinterpret_cast<const int4 *>(w + size_t(o) * n_in);
    const int4 *xr = reinterpret_cast<const int4 *>(x + size_t(blockIdx.y) * n_in);
    const __half *dr = scale + size_t(o) * (n_in / 32);
    const float2 *er = x_scale + size_t(blockIdx.y) * (n_in / 32);
    float sum = 0.0f;
    int4 raw[FLIGHT];
    matvec_load(raw, wr, lane, n);
    cu_pdl_start();
    for (int i = lane; i < n; i += FLIGHT * 32) {
        if (i != lane)
            matvec_load(raw, wr, i, n);
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            const int at = i + f * 32;
            if (at >= n)
                break;
            const int4 a = xr[at];
            int s = __dp4a(raw[f].x, a.x, 0);
            s = __dp4a(raw[f].y, a.y, s);
            s = __dp4a(raw[f].z, a.z, s);
            s = __dp4a(raw[f].w, a.w, s);
            sum += float(s) * (__half2float(dr[at / 2]) * er[at / 2].x);
        }
    }
    sum = cu_warp_sum(sum);
    if (lane == 0)
        y[size_t(blockIdx.y) * n_out + o] = sum;
}

template <int FLIGHT>
static __device__ __forceinline__ void matvec_q4(float *y, const unsigned char *__restrict__ w,
                                                 const __half *__restrict__ scale, const signed char *x,
                                                 const float2 *x_scale, int n_out, int n_in)
{
    const int o = matvec_output(n_out), lane = threadIdx.x & 31, n = n_in / 32;
    if (o < 0)
        return;
    const int4 *wr = reinterpret_cast<const int4 *>(w + size_t(o) * (n_in / 2));
    const int4 *xr = reinterpret_cast<const int4 *>(x + size_t(blockIdx.y) * n_in);
    const __half *dr = scale + size_t(o) * n;
    const float2 *er = x_scale + size_t(blockIdx.y) * n;
    float sum = 0.0f;
    int4 raw[FLIGHT];
    matvec_load(raw, wr, lane, n);
    cu_pdl_start();
    for (int i = lane; i < n; i += FLIGHT * 32) {
        if (i != lane)
            matvec_load(raw, wr, i, n);
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            const int at = i + f * 32;
            if (at >= n)
                break;
            const int4 low = xr[2 * at], high = xr[2 * at + 1];
            const int v[4] = {raw[f].x, raw[f].y, raw[f].z, raw[f].w};
            const int l[4] = {low.x, low.y, low.z, low.w}, h[4] = {high.x, high.y, high.z, high.w};
            int s = 0;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                s = __dp4a(v[j] & 0x0f0f0f0f, l[j], s);
                s = __dp4a((v[j] >> 4) & 0x0f0f0f0f, h[j], s);
            }
            /* The 8 that is in every weight: 8 times the sum of the activations. */
            const float2 e = er[at];
            sum += __half2float(dr[at]) * (e.x * float(s) - 8.0f * e.y);
        }
    }
    sum = cu_warp_sum(sum);
    if (lane == 0)
        y[size_t(blockIdx.y) * n_out + o] = sum;
}

/* The kernels of one number of loads under way. */
#define MATVEC_PLAIN(name, T, FLIGHT)                                                \
    extern "C" __global__ void __launch_bounds__(256, 1)                             \
        name(float *y, const T *__restrict__ w, const float *x, int n_out, int n_in) \
    {                                                                                \
        matvec_plain<T, FLIGHT>(y, w, x, n_out, n_in);                               \
    }                                                                                \
    CU_EXPORT(name);
#define MATVEC_QUANTIZED(name, body, T, FLIGHT)                                                         \
    extern "C" __global__ void __launch_bounds__(256, 1)                                                \
        name(float *y, const T *__restrict__ w, const __half *__restrict__ scale, const signed char *x, \
             const float2 *x_scale, int n_out, int n_in)                                                \
    {                                                                                                   \
        body<FLIGHT>(y, w, scale, x, x_scale, n_out, n_in);                                             \
    }                                                                                                   \
    CU_EXPORT(name);
