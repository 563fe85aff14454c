/* Matrix times vector, and activations as the quantized ones want them. Four loads under way a lane: picked,
 * to be measured (tests/on-gpu). */
#include "kernels/cuda/matvec.cuh"

MATVEC_PLAIN(matvec_f32, float, 4)
MATVEC_PLAIN(matvec_f16, __half, 4)
MATVEC_PLAIN(matvec_bf16, __nv_bfloat16, 4)
MATVEC_QUANTIZED(matvec_q8_0, matvec_q8, signed char, 4)
MATVEC_QUANTIZED(matvec_q4_0, matvec_q4, unsigned char, 4)

/* Blocks of 32 values of x, n in all, as 8-bit integers q and {scale, scale * sum of the integers}. A lane a
 * value; n is a multiple of 32. */
extern "C" __global__ void quantize_rows(signed char *q, float2 *scale, const float *x, int n)
{
    cu_pdl_start();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float v = x[i], d = cu_warp_max(fabsf(v)) / 127.0f;
    const int k = d > 0.0f ? __float2int_rn(v / d) : 0;
    const float sum = cu_warp_sum(float(k));
    q[i] = static_cast<signed char>(k);
    if ((threadIdx.x & 31) == 0)
        scale[i / 32] = make_float2(d, d * sum);
}
CU_EXPORT(quantize_rows);

/* y[i] = x[i] in 16 bits, n elements: activations for the tensor cores. */
#define NARROW(name, T)                                          \
    extern "C" __global__ void name(T *y, const float *x, int n) \
    {                                                            \
        cu_pdl_start();                                          \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;     \
        if (i < n)                                               \
            cu_narrow(&y[i], x[i]);                              \
    }                                                            \
    CU_EXPORT(name);
NARROW(narrow_f16, __half)
NARROW(narrow_bf16, __nv_bfloat16)
