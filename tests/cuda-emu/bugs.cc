/* Kernels with one deliberate mistake each; the emulator, or the sanitizer named beside it, must stop every
 * one.
 *
 *   bugs NUMBER      prints the bug's name and the build that has to see it; 99 if there is no such bug
 *
 * Built with AddressSanitizer and UBSan, or with ThreadSanitizer. An unnoticed bug ends with 0. */
#include <cstdio>

#include "kernels/cuda/port.cuh"
#include "tests/cuda-emu/engine.h"

static __global__ void k_oob_shared(float *out)
{ /* ASan */
    CU_SHARED(float, s, 33);
    int i = int(threadIdx.x) + 1 + (out[0] == 0.0f);
    float *p = s;
    p[i] = 1.0f;
}
static __global__ void k_oob_dynamic(float *out)
{ /* ASan */
    CU_DYN_SHARED(float, s);
    s[threadIdx.x + 1] = out[0];
}
static __global__ void k_oob_global(float *out)
{
    out[threadIdx.x * 4] = 1.0f;
} /* ASan */
static __global__ void k_misaligned(float *out)
{ /* UBSan */
    *reinterpret_cast<float4 *>(out + 1) = make_float4(1, 2, 3, 4);
}
static __global__ void k_divergent_barrier(float *out)
{ /* engine */
    if (threadIdx.x < 16) {
        out[0] = 1.0f;
        __syncthreads();
    } else
        __syncthreads();
}
static __global__ void k_shuffle_absent(float *out)
{ /* engine */
    if (threadIdx.x >= 16)
        return;
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 16);
}
static __global__ void k_shuffle_masks(float *out)
{ /* engine: deadlock */
    unsigned m = threadIdx.x & 1 ? 0xffffffffu : 0x55555555u;
    out[threadIdx.x] = __shfl_xor_sync(m, 1.0f, 2);
    __syncthreads();
}
static __global__ void k_not_in_mask(float *out)
{ /* engine */
    out[threadIdx.x] = __shfl_xor_sync(0xffffu, 1.0f, 1);
}
static __global__ void k_livelock(float *out)
{ /* engine: nobody sets the flag */
    while (atomicAdd(reinterpret_cast<int *>(out), 0) == 0)
        __nanosleep(10);
}
static __global__ void k_race_shared(float *out)
{ /* TSan */
    CU_SHARED(float, s, 32);
    s[threadIdx.x] = float(threadIdx.x);
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}
static __global__ void k_race_shuffle(float *out)
{ /* TSan: a shuffle orders no memory */
    CU_SHARED(float, s, 32);
    s[threadIdx.x] = float(threadIdx.x);
    float v = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
    out[threadIdx.x] = s[threadIdx.x ^ 1] + v;
}
static __global__ void k_race_blocks(float *out)
{ /* TSan: not atomic across blocks */
    if (threadIdx.x == 0)
        out[0] += 1.0f;
}

static __global__ void k_write(float *out)
{
    cu_pdl_wait();
    out[threadIdx.x] = 1.0f;
}
static __global__ void k_pass(float *)
{
    cu_pdl_wait();
}
static __global__ void k_too_early(float *out)
{ /* TSan: reads what a kernel ahead of it writes before waiting for the end of that */
    const float v = out[threadIdx.x ^ 1];
    cu_pdl_wait();
    out[threadIdx.x] = v;
}

static const struct {
    const char *name;
    void (*fn)(float *);
    unsigned blocks, smem;
    bool tsan;
    unsigned n_ahead; /* kernels that have begun and not ended: one that writes, then others */
} bugs[] = {
    {"oob_shared", k_oob_shared, 1, 0, false, 0},
    {"oob_dynamic", k_oob_dynamic, 1, 128, false, 0},
    {"oob_global", k_oob_global, 1, 0, false, 0},
    {"misaligned", k_misaligned, 1, 0, false, 0},
    {"divergent_barrier", k_divergent_barrier, 1, 0, false, 0},
    {"shuffle_absent", k_shuffle_absent, 1, 0, false, 0},
    {"shuffle_masks", k_shuffle_masks, 1, 0, false, 0},
    {"not_in_mask", k_not_in_mask, 1, 0, false, 0},
    {"livelock", k_livelock, 1, 0, false, 0},
    {"race_shared", k_race_shared, 1, 0, true, 0},
    {"race_shuffle", k_race_shuffle, 1, 0, true, 0},
    {"race_blocks", k_race_blocks, 2, 0, true, 0},
    {"too_early", k_too_early, 1, 0, true, 1},
    {"too_early_by_two", k_too_early, 1, 0, true, 2},
};

int main(int argc, char **argv)
{
    size_t i = argc > 1 ? size_t(atoi(argv[1])) : 0;
    if (i >= sizeof bugs / sizeof *bugs)
        return 99;
    printf("%s %s\n", bugs[i].name, bugs[i].tsan ? "tsan" : "asan");
    fflush(stdout);
    float *out = static_cast<float *>(calloc(32, sizeof(float)));
    cuemu::Registrar r(bugs[i].name, bugs[i].fn);
    void *args[] = {&out};
    cuemu::Registrar write("write", k_write), pass("pass", k_pass);
    cuemu::Launch *begun[cuemu::MAX_AHEAD + 1];
    const unsigned n = bugs[i].n_ahead;
    for (unsigned k = 0; k <= n; k++) {
        const cuemu::Kernel *kernel = k == n ? &r.k : k == 0 ? &write.k : &pass.k;
        begun[k] = cuemu::begin(kernel, dim3(k == n ? bugs[i].blocks : 1), dim3(32), bugs[i].smem, args,
                                false, k ? begun[k - 1] : nullptr);
    }
    for (unsigned k = 0; k <= n; k++)
        cuemu::finish(begun[k]);
    free(out);
    return 0;
}
