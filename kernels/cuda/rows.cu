/* Element by element: embedding rows, activations, the residual. */
#include "kernels/cuda/warp.cuh"

/* y[row][n] = table[token[row]][n], widened exactly. Grid: rows. n is a multiple of 16 bytes of the table's
 * type. */
template <class T>
static __device__ __forceinline__ void embed_row(float *y, const T *__restrict__ table, const int *token,
                                                 int n)
{
    cu_pdl_start();
    constexpr int width = cu_vector<T>::n;
    const T *x = table + size_t(token[blockIdx.x]) * n;
    y += size_t(blockIdx.x) * n;
    for (int i = threadIdx.x * width; i < n; i += blockDim.x * width) {
        float v[width];
        cu_vector<T>::load(v, x + i);
#pragma unroll
        for (int k = 0; k < width; k++)
            y[i + k] = v[k];
    }
}

#define EMBED(name, T)                                                                              \
    extern "C" __global__ void name(float *y, const T *__restrict__ table, const int *token, int n) \
    {                                                                                               \
        embed_row(y, table, token, n);                                                              \
    }                                                                                               \
    CU_EXPORT(name);
EMBED(embed_f32, float)
EMBED(embed_f16, __half)
EMBED(embed_bf16, __nv_bfloat16)

static __device__ __forceinline__ float silu(float v)
{
    return v / (1.0f + expf(-v));
}

static __device__ __forceinline__ float gelu(float v)
{
    return 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
}

/* The approximation by tanh, 0.5 v (1 + tanh(z)), as v / (1 + exp(-2 z)). */
static __device__ __forceinline__ float gelu_tanh(float v)
{
    const float z = 0.79788456080286536f * (v + 0.044715f * v * v * v);
    return v / (1.0f + expf(-2.0f * z));
}

/* y[i] = act(g[i]) * u[i], 4 * n4 elements. y may be g or u. */
#define ACT_MUL(name, act)                                                                           \
    extern "C" __global__ void name(float *y, const float *g, const float *u, unsigned long long n4) \
    {                                                                                                \
        cu_pdl_start();                                                                              \
        for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n4;                               \
             i += size_t(gridDim.x) * blockDim.x) {                                                  \
            const float4 a = reinterpret_cast<const float4 *>(g)[i],                                 \
                         b = reinterpret_cast<const float4 *>(u)[i];                                 \
            reinterpret_cast<float4 *>(y)[i] =                                                       \
                make_float4(act(a.x) * b.x, act(a.y) * b.y, act(a.z) * b.z, act(a.w) * b.w);         \
        }                                                                                            \
    }                                                                                                \
    CU_EXPORT(name);
ACT_MUL(silu_mul, silu)
ACT_MUL(gelu_mul, gelu)
ACT_MUL(gelu_tanh_mul, gelu_tanh)

/* y += x, 4 * n4 elements. */
extern "C" __global__ void add(float *y, const float *x, unsigned long long n4)
{
    cu_pdl_start();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += size_t(gridDim.x) * blockDim.x) {
        const float4 a = reinterpret_cast<const float4 *>(x)[i], b = reinterpret_cast<float4 *>(y)[i];
        reinterpret_cast<float4 *>(y)[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}
CU_EXPORT(add);
