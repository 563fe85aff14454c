/* The greatest of a row of logits. Among equal ones the lowest index comes first. */
#include "kernels/cuda/warp.cuh"

/* Keys in the order of the values, of which none is NaN, and for equal values (-0 and 0 are) against that of
 * the indices. */
static __device__ __forceinline__ unsigned long long sample_key(float v, int i)
{
    const unsigned u = __float_as_uint(v + 0.0f); /* -0 becomes 0 */
    const unsigned order = u & 0x80000000u ? ~u : u | 0x80000000u;
    return static_cast<unsigned long long>(order) << 32 | ~unsigned(i);
}

/* *best = key of the greatest of x[n]; it must be 0 before. Its index is the complement of the low half. */
extern "C" __global__ void argmax(unsigned long long *best, const float *x, int n)
{
    unsigned long long k = 0;
    cu_pdl_start();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned long long c = sample_key(x[i], i);
        k = c > k ? c : k;
    }
    for (int d = 16; d; d >>= 1) {
        const unsigned long long o = __shfl_down_sync(CU_FULL, k, d);
        k = o > k ? o : k;
    }
    if ((threadIdx.x & 31) == 0)
        atomicMax(best, k);
}
CU_EXPORT(argmax);

/* value[k], index[k]: the k greatest of x[n], in order; 1 <= k <= min(n, 256). One block of 256 to 1024
 * threads: keys are all different, so eight passes over 8 bits each find the k-th one exactly; those not
 * below it are collected and sorted. */
extern "C" __global__ void __launch_bounds__(1024)
    topk(float *value, int *index, const float *x, int n, int k)
{
    CU_SHARED(unsigned, histogram, 256);
    CU_SHARED(unsigned long long, keys, 256);
    CU_SHARED(unsigned long long, prefix, 1); /* bits of the k-th key, as far as they are known */
    CU_SHARED(unsigned, wanted, 1); /* how many of the keys with that prefix belong to the k greatest */
    CU_SHARED(unsigned, n_found, 1);
    const int t = threadIdx.x;
    cu_pdl_start();
    if (t == 0) {
        prefix[0] = 0;
        wanted[0] = k;
        n_found[0] = 0;
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
        for (int i = t; i < 256; i += blockDim.x)
            histogram[i] = 0;
        __syncthreads();
        const unsigned long long high = shift == 56 ? 0 : ~0ull << (shift + 8), known = prefix[0];
        for (int i = t; i < n; i += blockDim.x) {
            const unsigned long long key = sample_key(x[i], i);
            if ((key & high) == known)
                atomicAdd(&histogram[key >> shift & 255], 1u);
        }
        __syncthreads();
        if (t == 0) {
            unsigned want = wanted[0];
            int b = 255;
            while (histogram[b] < want)
                want -= histogram[b--];
            prefix[0] = known | static_cast<unsigned long long>(b) << shift;
            wanted[0] = want;
        }
        __syncthreads();
    }
    const unsigned long long last = prefix[0];
    for (int i = t; i < 256; i += blockDim.x)
        keys[i] = 0;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) {
        const unsigned long long key = sample_key(x[i], i);
        if (key >= last)
            keys[atomicAdd(&n_found[0], 1u)] = key;
    }
    __syncthreads();
    for (int size = 2; size <= 256; size <<= 1) /* bitonic, descending */
        for (int stride = size >> 1; stride; stride >>= 1) {
            const int other = t ^ stride;
            if (t < 256 && other > t) {
                const unsigned long long a = keys[t], b = keys[other];
                if ((a < b) == ((t & size) == 0)) {
                    keys[t] = b;
                    keys[other] = a;
                }
            }
            __syncthreads();
        }
    if (t < k) {
        const int i = int(~unsigned(keys[t]));
        index[t] = i;
        value[t] = x[i];
    }
}
CU_EXPORT(topk);
