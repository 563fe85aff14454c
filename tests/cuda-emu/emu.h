/* Compiles a CUDA kernel file as host C++ and runs it on the CPU: the words of the device, without its speed.
 *
 * Every CUDA thread of a block is one fiber; a fiber runs until it reaches a synchronising operation
 * (barrier, warp collective, yield), and the engine then picks the next one, forward, in reverse or in an
 * order drawn from a seed. This header has qualifiers, vector types, barriers and warp collectives; emu_ops.h
 * arithmetic, atomics and loads, emu_half.h the 16-bit types. They are compiled with the sanitizer flags of
 * the kernels, the engine with none.
 *
 * Not a performance model: coalescing, bank conflicts, occupancy and registers are invisible here. */
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

/* ---- qualifiers -------------------------------------------------------- */
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static /* one copy; prefer CU_SHARED, a fresh one per block */
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

#define CUEMU_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* ---- vector types ------------------------------------------------------ */
#define CUEMU_VEC(name, T, al2, al4)                         \
    struct alignas(al2) name##2                              \
    {                                                        \
        T x, y;                                              \
    };                                                       \
    struct name##3                                           \
    {                                                        \
        T x, y, z;                                           \
    };                                                       \
    struct alignas(al4) name##4                              \
    {                                                        \
        T x, y, z, w;                                        \
    };                                                       \
    static inline name##2 make_##name##2(T x, T y)           \
    {                                                        \
        return {x, y};                                       \
    }                                                        \
    static inline name##3 make_##name##3(T x, T y, T z)      \
    {                                                        \
        return {x, y, z};                                    \
    }                                                        \
    static inline name##4 make_##name##4(T x, T y, T z, T w) \
    {                                                        \
        return {x, y, z, w};                                 \
    }
CUEMU_VEC(char, signed char, 2, 4)
CUEMU_VEC(uchar, unsigned char, 2, 4)
CUEMU_VEC(short, short, 4, 8)
CUEMU_VEC(ushort, unsigned short, 4, 8)
CUEMU_VEC(int, int, 8, 16)
CUEMU_VEC(uint, unsigned, 8, 16)
CUEMU_VEC(float, float, 8, 16)
#undef CUEMU_VEC
struct alignas(16) double2 {
    double x, y;
};
struct alignas(16) longlong2 {
    long long x, y;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};

/* ---- interface to the engine ------------------------------------------- */
namespace cuemu
{
struct Ctx { /* what one CUDA thread can see of its own position */
    uint3 tid, bid;
    dim3 bdim, gdim;
    unsigned lin, lane, warp;
    char *dyn_smem;
};
struct Kernel {
    const char *name;
    void *fn;
    void (*thunk)(void *fn, void **args);
    int nargs;
    const size_t *arg_size;
    Kernel *next;
};
extern Ctx *cur;
void register_kernel(Kernel *k);
void *block_shared(const void *key, size_t size);
void block_barrier(int id, unsigned nthreads, const char *file, int line);
int block_vote(int pred, int kind, const char *file, int line);
/* Meet the other lanes of mask; returns their 32 deposited values. */
const uint64_t *warp_meet(unsigned mask, uint64_t v, const char *what, const char *file, int line);
uint64_t warp_absent(unsigned lane, const char *what, const char *file, int line);
void grid_barrier(const char *file, int line);
void predecessor_wait(const char *file, int line);
void yield();
void fence();
void async_copy(void *dst, const void *src, unsigned bytes, unsigned zero_from);
void mma_bf16(float *d, const unsigned *a, const unsigned *b);
void mma_f16(float *d, const unsigned *a, const unsigned *b);
void mma_s8(int *d, const unsigned *a, const unsigned *b);
void async_commit();
void async_wait(unsigned groups_left);
static inline bool lane_in(const uint64_t *snap, unsigned lane)
{
    return snap[32] >> lane & 1;
}

template <class... A> struct Thunk {
    template <size_t... I> static void go(void *fn, [[maybe_unused]] void **p, std::index_sequence<I...>)
    {
        reinterpret_cast<void (*)(A...)>(fn)(*static_cast<std::remove_reference_t<A> *>(p[I])...);
    }
    static void call(void *fn, void **p)
    {
        go(fn, p, std::index_sequence_for<A...>{});
    }
    static constexpr size_t sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
};
struct Registrar {
    Kernel k;
    template <class... A>
    Registrar(const char *name, void (*fn)(A...))
        : k{name,   reinterpret_cast<void *>(fn), Thunk<A...>::call, int(sizeof...(A)), Thunk<A...>::sizes,
            nullptr}
    {
        register_kernel(&k);
    }
};
template <class To, class From> static inline To bits(From v)
{
    static_assert(sizeof(To) == sizeof(From), "size");
    To r;
    memcpy(&r, &v, sizeof r);
    return r;
}
} // namespace cuemu

#define threadIdx (cuemu::cur->tid)
#define blockIdx (cuemu::cur->bid)
#define blockDim (cuemu::cur->bdim)
#define gridDim (cuemu::cur->gdim)
static const int warpSize = 32;

/* ---- barriers, fences --------------------------------------------------- */
static inline void __syncthreads(CUEMU_SITE)
{
    cuemu::block_barrier(0, 0, file, line);
}
static inline int __syncthreads_count(int p, CUEMU_SITE)
{
    return cuemu::block_vote(p, 0, file, line);
}
static inline int __syncthreads_and(int p, CUEMU_SITE)
{
    return cuemu::block_vote(p, 1, file, line);
}
static inline int __syncthreads_or(int p, CUEMU_SITE)
{
    return cuemu::block_vote(p, 2, file, line);
}
static inline void __threadfence()
{
    cuemu::fence();
}
static inline void __threadfence_block()
{
    cuemu::fence();
}
static inline void __threadfence_system()
{
    cuemu::fence();
}
static inline void __nanosleep(unsigned)
{
    cuemu::yield();
}

/* ---- warp collectives --------------------------------------------------- */
namespace cuemu
{
template <class T> static inline uint64_t pack(T v)
{
    static_assert(sizeof(T) <= 8, "warp value too large");
    uint64_t r = 0;
    memcpy(&r, &v, sizeof v);
    return r;
}
template <class T>
static inline T shfl(unsigned mask, T v, int src, bool ok, const char *what, const char *file, int line)
{
    const uint64_t *s = warp_meet(mask, pack(v), what, file, line);
    if (!ok)
        return v;
    uint64_t r = lane_in(s, unsigned(src)) ? s[src] : warp_absent(unsigned(src), what, file, line);
    T t;
    memcpy(&t, &r, sizeof t);
    return t;
}
} // namespace cuemu
template <class T> static inline T __shfl_sync(unsigned m, T v, int src, int w = 32, CUEMU_SITE)
{
    int l = int(cuemu::cur->lane), base = l & ~(w - 1);
    return cuemu::shfl(m, v, base + (src & (w - 1)), true, "__shfl_sync", file, line);
}
template <class T> static inline T __shfl_xor_sync(unsigned m, T v, int x, int w = 32, CUEMU_SITE)
{
    int l = int(cuemu::cur->lane), j = l ^ x;
    return cuemu::shfl(m, v, j, j < (l & ~(w - 1)) + w, "__shfl_xor_sync", file, line);
}
template <class T> static inline T __shfl_down_sync(unsigned m, T v, unsigned d, int w = 32, CUEMU_SITE)
{
    int l = int(cuemu::cur->lane), j = l + int(d);
    return cuemu::shfl(m, v, j, j < (l & ~(w - 1)) + w, "__shfl_down_sync", file, line);
}
template <class T> static inline T __shfl_up_sync(unsigned m, T v, unsigned d, int w = 32, CUEMU_SITE)
{
    int l = int(cuemu::cur->lane), j = l - int(d);
    return cuemu::shfl(m, v, j, j >= (l & ~(w - 1)), "__shfl_up_sync", file, line);
}
static inline void __syncwarp(unsigned m = 0xffffffffu, CUEMU_SITE)
{
    cuemu::warp_meet(m, 0, "__syncwarp", file, line);
}
static inline unsigned __ballot_sync(unsigned m, int p, CUEMU_SITE)
{
    const uint64_t *s = cuemu::warp_meet(m, p != 0, "__ballot_sync", file, line);
    unsigned r = 0;
    for (unsigned i = 0; i < 32; i++)
        if ((m >> i & 1) && cuemu::lane_in(s, i) && s[i])
            r |= 1u << i;
    return r;
}
static inline int __any_sync(unsigned m, int p, CUEMU_SITE)
{
    return __ballot_sync(m, p, file, line) != 0;
}
static inline int __all_sync(unsigned m, int p, CUEMU_SITE)
{
    return __ballot_sync(m, !p, file, line) == 0;
}
template <class T, class F>
static inline T cuemu_reduce(unsigned m, T v, F f, const char *what, const char *file, int line)
{
    const uint64_t *s = cuemu::warp_meet(m, cuemu::pack(v), what, file, line);
    T r = v;
    for (unsigned i = 0; i < 32; i++)
        if (i != cuemu::cur->lane && (m >> i & 1) && cuemu::lane_in(s, i)) {
            T t;
            memcpy(&t, &s[i], sizeof t);
            r = f(r, t);
        }
    return r;
}
template <class T> static inline T __reduce_add_sync(unsigned m, T v, CUEMU_SITE)
{
    return cuemu_reduce(
        m, v, [](T a, T b) { return T(a + b); }, "__reduce_add_sync", file, line);
}
template <class T> static inline T __reduce_max_sync(unsigned m, T v, CUEMU_SITE)
{
    return cuemu_reduce(
        m, v, [](T a, T b) { return a > b ? a : b; }, "__reduce_max_sync", file, line);
}
template <class T> static inline T __reduce_min_sync(unsigned m, T v, CUEMU_SITE)
{
    return cuemu_reduce(
        m, v, [](T a, T b) { return a < b ? a : b; }, "__reduce_min_sync", file, line);
}
template <class T> static inline unsigned __match_any_sync(unsigned m, T v, CUEMU_SITE)
{
    const uint64_t *s = cuemu::warp_meet(m, cuemu::pack(v), "__match_any_sync", file, line);
    unsigned r = 0;
    for (unsigned i = 0; i < 32; i++)
        if ((m >> i & 1) && cuemu::lane_in(s, i) && s[i] == cuemu::pack(v))
            r |= 1u << i;
    return r;
}

#include "tests/cuda-emu/emu_ops.h"
#include "tests/cuda-emu/emu_half.h"
