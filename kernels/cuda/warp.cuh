/* What kernels of every family use: sums and maxima over a warp and a block, widening of stored types. */
#pragma once

#include "kernels/cuda/port.cuh"

#define CU_FULL 0xffffffffu /* all lanes of a warp */

static __device__ __forceinline__ float cu_warp_sum(float v)
{
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(CU_FULL, v, d);
    return v;
}

static __device__ __forceinline__ float cu_warp_max(float v)
{
    for (int d = 16; d; d >>= 1)
        v = fmaxf(v, __shfl_xor_sync(CU_FULL, v, d));
    return v;
}

/* Sum over the block, the result in every thread. part has 32 floats of shared memory and is used for one sum
 * only: nothing keeps the next one from overwriting it. */
static __device__ __forceinline__ float cu_block_sum(float v, float *part)
{
    const int lane = threadIdx.x & 31, n_warp = (blockDim.x + 31) >> 5;
    v = cu_warp_sum(v);
    if (lane == 0)
        part[threadIdx.x >> 5] = v;
    __syncthreads();
    return cu_warp_sum(lane < n_warp ? part[lane] : 0.0f);
}

/* To the nearest, ties to even. */
static __device__ __forceinline__ void cu_narrow(__half *y, float v)
{
    *y = __float2half_rn(v);
}
static __device__ __forceinline__ void cu_narrow(__nv_bfloat16 *y, float v)
{
    *y = __float2bfloat16_rn(v);
}

/* The elements in one word, widened; the last argument only names the type. */
static __device__ __forceinline__ void cu_unpack(float *y, unsigned word, float)
{
    y[0] = __uint_as_float(word);
}
static __device__ __forceinline__ void cu_unpack(float *y, unsigned word, __half)
{
    y[0] = __half2float(__ushort_as_half(static_cast<unsigned short>(word)));
    y[1] = __half2float(__ushort_as_half(static_cast<unsigned short>(word >> 16)));
}
static __device__ __forceinline__ void cu_unpack(float *y, unsigned word, __nv_bfloat16)
{
    y[0] = __uint_as_float(word << 16);
    y[1] = __uint_as_float(word & 0xffff0000u);
}

/* The elements that one 16-byte load brings, taken apart word by word: nvcc loads what is copied as bytes in
 * bytes. */
template <class T> struct cu_vector {
    static constexpr int n = 16 / int(sizeof(T));
    static __device__ __forceinline__ void widen(float (&y)[n], const uint4 &bits)
    {
        cu_unpack(y, bits.x, T());
        cu_unpack(y + n / 4, bits.y, T());
        cu_unpack(y + n / 2, bits.z, T());
        cu_unpack(y + n / 4 * 3, bits.w, T());
    }
    static __device__ __forceinline__ void load(float (&y)[n], const T *x)
    {
        widen(y, cu_load16(x));
    }
};
