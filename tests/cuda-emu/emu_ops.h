/* Atomics, loads and arithmetic of a CUDA thread: the second part of emu.h. */
#pragma once

#include "tests/cuda-emu/emu.h"

/* ---- atomics (relaxed, as on the device) -------------------------------- */
template <class T, class F> static inline T cuemu_rmw(T *p, F f)
{
    T o, n;
    __atomic_load(p, &o, __ATOMIC_RELAXED);
    do
        n = f(o);
    while (!__atomic_compare_exchange(p, &o, &n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return o;
}
#define CUEMU_SAME(T) std::common_type_t<T>
template <class T> static inline T atomicAdd(T *p, CUEMU_SAME(T) v)
{
    return cuemu_rmw(p, [=](T o) { return T(o + v); });
}
template <class T> static inline T atomicSub(T *p, CUEMU_SAME(T) v)
{
    return cuemu_rmw(p, [=](T o) { return T(o - v); });
}
template <class T> static inline T atomicMax(T *p, CUEMU_SAME(T) v)
{
    return cuemu_rmw(p, [=](T o) { return o > v ? o : v; });
}
template <class T> static inline T atomicMin(T *p, CUEMU_SAME(T) v)
{
    return cuemu_rmw(p, [=](T o) { return o < v ? o : v; });
}
template <class T> static inline T atomicOr(T *p, CUEMU_SAME(T) v)
{
    return cuemu_rmw(p, [=](T o) { return T(o | v); });
}
template <class T> static inline T atomicAnd(T *p, CUEMU_SAME(T) v)
{
    return cuemu_rmw(p, [=](T o) { return T(o & v); });
}
template <class T> static inline T atomicExch(T *p, CUEMU_SAME(T) v)
{
    return cuemu_rmw(p, [=](T) { return v; });
}
template <class T> static inline T atomicCAS(T *p, CUEMU_SAME(T) c, CUEMU_SAME(T) v)
{
    __atomic_compare_exchange(p, &c, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return c;
}

/* ---- loads and stores with cache hints ----------------------------------- */
template <class T> static inline T __ldg(const T *p)
{
    return *p;
}
template <class T> static inline T __ldcs(const T *p)
{
    return *p;
}
template <class T> static inline T __ldcg(const T *p)
{
    return *p;
}
template <class T> static inline void __stcs(T *p, T v)
{
    *p = v;
}
template <class T> static inline void __stcg(T *p, T v)
{
    *p = v;
}

/* ---- integer and float intrinsics ---------------------------------------- */
static inline int __popc(unsigned v)
{
    return __builtin_popcount(v);
}
static inline int __clz(int v)
{
    return v ? __builtin_clz(unsigned(v)) : 32;
}
static inline int __ffs(int v)
{
    return __builtin_ffs(v);
}
static inline float __int_as_float(int v)
{
    return cuemu::bits<float>(v);
}
static inline int __float_as_int(float v)
{
    return cuemu::bits<int>(v);
}
static inline float __uint_as_float(unsigned v)
{
    return cuemu::bits<float>(v);
}
static inline unsigned __float_as_uint(float v)
{
    return cuemu::bits<unsigned>(v);
}
static inline int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 32; i += 8)
        c += int(int8_t(unsigned(a) >> i)) * int(int8_t(unsigned(b) >> i));
    return c;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 32; i += 8)
        c += (a >> i & 255) * (b >> i & 255);
    return c;
}
static inline unsigned __vsub4(unsigned a, unsigned b)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i += 8)
        r |= (((a >> i) - (b >> i)) & 255u) << i;
    return r;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
    uint64_t ab = uint64_t(b) << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned sel = s >> (4 * i) & 15, byte = unsigned(ab >> (8 * (sel & 7))) & 255;
        r |= (sel & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return r;
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s)
{
    return unsigned((uint64_t(hi) << 32 | lo) >> (s & 31));
}
static inline int __float2int_rn(float v)
{
    return int(rintf(v));
}
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline float __frcp_rn(float a)
{
    return 1.0f / a;
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline float rsqrtf(float a)
{
    return 1.0f / sqrtf(a);
}
/* glibc declares __expf and friends for itself; macros keep clear of those. */
#define __expf(a) expf(a)
#define __logf(a) logf(a)
#define __sinf(a) sinf(a)
#define __cosf(a) cosf(a)
#define __powf(a, b) powf(a, b)
static inline int min(int a, int b)
{
    return a < b ? a : b;
}
static inline int max(int a, int b)
{
    return a > b ? a : b;
}
static inline unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}
static inline unsigned max(unsigned a, unsigned b)
{
    return a > b ? a : b;
}
