/* The 16-bit floating point types of CUDA, rounded as the device does: the third part of emu.h. */
#pragma once

#include "tests/cuda-emu/emu_ops.h"

/* ---- __half and __nv_bfloat16 -------------------------------------------- */
struct __half {
    uint16_t u;
};
struct __nv_bfloat16 {
    uint16_t u;
};
struct alignas(4) __half2 {
    __half x, y;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

static inline __half __ushort_as_half(unsigned short v)
{
    return {v};
}
static inline float __half2float(__half h)
{
    unsigned s = unsigned(h.u & 0x8000) << 16, e = h.u >> 10 & 31, m = h.u & 1023;
    if (e == 31)
        return __uint_as_float(s | 0x7f800000u | m << 13);
    if (e)
        return __uint_as_float(s | (e + 112) << 23 | m << 13);
    float f = float(m) * (1.0f / 16777216.0f); /* subnormal: m * 2^-24, exact */
    return s ? -f : f;
}
static inline __half __float2half_rn(float f)
{
    unsigned u = __float_as_uint(f), s = u >> 16 & 0x8000, a = u & 0x7fffffffu;
    if (a > 0x7f800000u)
        return {uint16_t(0x7fff)};
    if (a >= 0x477ff000u)
        return {uint16_t(s | 0x7c00)}; /* rounds to infinity */
    if (a < 0x38800000u) {             /* subnormal: let the FPU round at 2^-24 */
        float t = __uint_as_float(a) + 0.5f;
        return {uint16_t(s | (__float_as_uint(t) - 0x3f000000u))};
    }
    a += 0xfffu + (a >> 13 & 1);
    return {uint16_t(s | ((a - 0x38000000u) >> 13))};
}
static inline float __bfloat162float(__nv_bfloat16 b)
{
    return __uint_as_float(unsigned(b.u) << 16);
}
static inline __nv_bfloat16 __float2bfloat16_rn(float f)
{
    unsigned u = __float_as_uint(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return {uint16_t(0x7fff)};
    return {uint16_t((u + 0x7fffu + (u >> 16 & 1)) >> 16)};
}
static inline __half __float2half(float f)
{
    return __float2half_rn(f);
}
static inline __nv_bfloat16 __float2bfloat16(float f)
{
    return __float2bfloat16_rn(f);
}
static inline float __low2float(__half2 v)
{
    return __half2float(v.x);
}
static inline float __high2float(__half2 v)
{
    return __half2float(v.y);
}
static inline float2 __half22float2(__half2 v)
{
    return {__half2float(v.x), __half2float(v.y)};
}
static inline float2 __bfloat1622float2(__nv_bfloat162 v)
{
    return {__bfloat162float(v.x), __bfloat162float(v.y)};
}
static inline __half2 __floats2half2_rn(float a, float b)
{
    return {__float2half_rn(a), __float2half_rn(b)};
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b)
{
    return {__float2bfloat16_rn(a), __float2bfloat16_rn(b)};
}
static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c)
{
    return __floats2half2_rn(fmaf(__half2float(a.x), __half2float(b.x), __half2float(c.x)),
                             fmaf(__half2float(a.y), __half2float(b.y), __half2float(c.y)));
}
