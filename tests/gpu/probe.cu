/* Kernels that do nothing but meet one limit of a GPU, beside those that are measured against them. */
#include "kernels/cuda/kernels.cu"

/* *sum += the 32-bit words of x, n vectors of 16 bytes, modulo 2^32. A thread has FLIGHT loads under way at a
 * time; n is a multiple of FLIGHT * blockDim.x. */
template <int FLIGHT>
static __device__ __forceinline__ void read_sum(unsigned *sum, const uint4 *__restrict__ x, size_t n)
{
    const size_t tile = size_t(FLIGHT) * blockDim.x;
    unsigned s = 0;
    for (size_t i = blockIdx.x * tile + threadIdx.x; i < n; i += gridDim.x * tile) {
        uint4 v[FLIGHT];
#pragma unroll
        for (int k = 0; k < FLIGHT; k++)
            v[k] = x[i + size_t(k) * blockDim.x];
#pragma unroll
        for (int k = 0; k < FLIGHT; k++)
            s += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    for (int d = 16; d; d >>= 1)
        s += __shfl_xor_sync(0xffffffffu, s, d);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(sum, s);
}

#define PROBE_READ(FLIGHT)                                                                    \
    extern "C" __global__ void __launch_bounds__(512)                                         \
        probe_read_##FLIGHT(unsigned *sum, const uint4 *__restrict__ x, unsigned long long n) \
    {                                                                                         \
        read_sum<FLIGHT>(sum, x, n);                                                          \
    }                                                                                         \
    CU_EXPORT(probe_read_##FLIGHT);
PROBE_READ(1)
PROBE_READ(2)
PROBE_READ(4)
PROBE_READ(8)

extern "C" __global__ void probe_empty()
{
}
CU_EXPORT(probe_empty);

/* The same, letting its successor start at once and waiting for its predecessor by itself. */
extern "C" __global__ void probe_empty_overlap()
{
    cu_pdl_release();
    cu_pdl_wait();
}
CU_EXPORT(probe_empty_overlap);

/* y[i] = x[i] + 1, one block of n threads, as a link of a chain whose kernels overlap. */
extern "C" __global__ void probe_link(float *y, const float *x)
{
    cu_pdl_release();
    cu_pdl_wait();
    y[threadIdx.x] = x[threadIdx.x] + 1.0f;
}
CU_EXPORT(probe_link);

/* n barriers over the whole grid, which is resident; *counter is 0 at first and n * gridDim.x at the end. */
extern "C" __global__ void probe_barrier(unsigned *counter, int n)
{
    unsigned epoch = 0;
    for (int i = 0; i < n; i++)
        cu_grid_barrier(counter, gridDim.x, &epoch);
}
CU_EXPORT(probe_barrier);

/* n times: every thread leaves a value in data[grid][block], and after a barrier takes the next block's;
 * *wrong counts those that are not what was left. */
extern "C" __global__ void probe_exchange(unsigned *counter, int *data, int *wrong, int n)
{
    const unsigned next = (blockIdx.x + 1) % gridDim.x;
    unsigned epoch = 0;
    for (int i = 0; i < n; i++) {
        data[blockIdx.x * blockDim.x + threadIdx.x] = int(threadIdx.x) + i;
        cu_grid_barrier(counter, gridDim.x, &epoch);
        if (data[next * blockDim.x + threadIdx.x] != int(threadIdx.x) + i)
            atomicAdd(wrong, 1);
        cu_grid_barrier(counter, gridDim.x, &epoch);
    }
}
CU_EXPORT(probe_exchange);

/* Every word of n of dynamic shared memory is written by one thread and read by another; *wrong counts what
 * is not as it was left. One block. */
extern "C" __global__ void probe_shared(unsigned *wrong, unsigned n)
{
    CU_DYN_SHARED(unsigned, words);
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        words[i] = ~i;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        if (words[n - 1 - i] != ~(n - 1 - i))
            atomicAdd(wrong, 1u);
}
CU_EXPORT(probe_shared);

/* Matrix times vector with other numbers of loads under way than kernels/cuda/matvec.cu picks. */
#define PROBE_MATVEC(FLIGHT)                                                     \
    MATVEC_PLAIN(probe_matvec_f32_##FLIGHT, float, FLIGHT)                       \
    MATVEC_PLAIN(probe_matvec_f16_##FLIGHT, __half, FLIGHT)                      \
    MATVEC_PLAIN(probe_matvec_bf16_##FLIGHT, __nv_bfloat16, FLIGHT)              \
    MATVEC_QUANTIZED(probe_matvec_q8_0_##FLIGHT, matvec_q8, signed char, FLIGHT) \
    MATVEC_QUANTIZED(probe_matvec_q4_0_##FLIGHT, matvec_q4, unsigned char, FLIGHT)
PROBE_MATVEC(1)
PROBE_MATVEC(2)
PROBE_MATVEC(4)
PROBE_MATVEC(8)
