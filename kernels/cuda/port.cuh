/* The few words in which a .cu file differs between nvcc and the host emulator, and wrappers for what exists
 * as PTX only, each with its emulation beside it. Kernels include this header instead of CUDA's own. */
#pragma once

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define CU_SHARED(T, name, n) __shared__ T name[n]
#define CU_DYN_SHARED(T, name)                                    \
    extern __shared__ __align__(128) unsigned char cu_dyn_smem[]; \
    T *name = reinterpret_cast<T *>(cu_dyn_smem)
#define CU_EXPORT(kernel)
#else
#include "tests/cuda-emu/emu.h"
#define CU_SHARED(T, name, n)  \
    static char cu_key_##name; \
    T(&name)[n] = *static_cast<T(*)[n]>(cuemu::block_shared(&cu_key_##name, sizeof(T[n])))
#define CU_DYN_SHARED(T, name) T *name = reinterpret_cast<T *>(cuemu::cur->dyn_smem)
#define CU_EXPORT(kernel) static cuemu::Registrar cu_reg_##kernel(#kernel, kernel)
#endif

#define CU_INF __int_as_float(0x7f800000)

/* ---- 16 bytes of global memory in one load ----
 * nvcc makes four of a plain one whose words are used one by one. It keeps its place after cu_pdl_wait. */
#ifdef __CUDACC__
static __device__ __forceinline__ uint4 cu_load16(const void *global)
{
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(__cvta_generic_to_global(global))
                 : "memory");
    return v;
}
#else
static inline uint4 cu_load16(const void *global)
{
    return *static_cast<const uint4 *>(global);
}
#endif

/* ---- Asynchronous copies from global to shared memory (sm_80) ----
 * 16 bytes; done when their group has been waited for: all but the last N groups that were committed. */
#ifdef __CUDACC__
static __device__ __forceinline__ unsigned cu_shared_address(const void *p)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
static __device__ __forceinline__ void cu_cp_async16(void *shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(cu_shared_address(shared)), "l"(global)
                 : "memory");
}
static __device__ __forceinline__ void cu_cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void cu_cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
#else
static inline void cu_cp_async16(void *shared, const void *global)
{
    cuemu::async_copy(shared, global, 16, 16);
}
static inline void cu_cp_async_commit()
{
    cuemu::async_commit();
}
template <int N> static inline void cu_cp_async_wait()
{
    cuemu::async_wait(N);
}
#endif

/* ---- Tensor cores (sm_80) ----
 * d += a * b on one warp, m16n8k16: a has 16 rows, b 8 columns, fragments as in the PTX manual.
 * cu_ldmatrix_x4: four 8x8 matrices of 16-bit elements from shared memory, one row a lane. */
#ifdef __CUDACC__
static __device__ __forceinline__ void cu_mma_bf16(float (&d)[4], const unsigned (&a)[4],
                                                   const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ void cu_mma_f16(float (&d)[4], const unsigned (&a)[4],
                                                  const unsigned (&b)[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ void cu_ldmatrix_x4(unsigned (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(cu_shared_address(row))
                 : "memory");
}
#else
static inline void cu_mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    cuemu::mma_bf16(d, a, b);
}
static inline void cu_mma_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    cuemu::mma_f16(d, a, b);
}
static inline void cu_ldmatrix_x4(unsigned (&r)[4], const void *row)
{
    struct alignas(16) matrix_row { /* lets UBSan see a misaligned row */
        unsigned w[4];
    };
    const uint64_t *s =
        cuemu::warp_meet(0xffffffffu, reinterpret_cast<uint64_t>(row), "ldmatrix", __FILE__, __LINE__);
    for (unsigned m = 0; m < 4; m++)
        r[m] =
            reinterpret_cast<const matrix_row *>(s[m * 8 + (cuemu::cur->lane >> 2)])->w[cuemu::cur->lane & 3];
}
#endif

/* ---- Overlap of a kernel's start with its predecessor's end (PDL, sm_90) ----
 * A kernel launched with overlap may run before those ahead of it in the stream have ended: nothing that
 * they write may be read, and nothing written at all, before cu_pdl_wait. Every kernel calls it once, so that
 * the end of one is the end of all before it. cu_pdl_release lets the successor start. What a predecessor
 * writes must not be read as constant data (const __restrict__, __ldg): such loads may move up over the wait.
 * Below sm_90 kernels do not overlap; in the emulator they begin as early as they can. */
#ifdef __CUDACC__
static __device__ __forceinline__ void cu_pdl_wait()
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void cu_pdl_release()
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#else
static inline void cu_pdl_wait(CUEMU_SITE)
{
    cuemu::predecessor_wait(file, line);
}
static inline void cu_pdl_release()
{
}
#endif

/* For kernels that have nothing to do before their predecessor's end. */
static __device__ __forceinline__ void cu_pdl_start()
{
    cu_pdl_release();
    cu_pdl_wait();
}

/* ---- Barrier over the grid ----
 * counter: a word of global memory that was 0 at the launch; epoch: 0 at first, the caller's own. Every block
 * has to be resident (a cooperative launch). */
static __device__ __forceinline__ void cu_grid_barrier(unsigned *counter, unsigned n_block, unsigned *epoch)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned want = ++*epoch * n_block;
        __threadfence();
        atomicAdd(counter, 1u);
        while (atomicAdd(counter, 0u) < want)
            __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}
