/* Storage types of weights: sizes, names and exact conversions to float32.
 *
 * Defined once here and nowhere else. A float32 is the host's; float16 is IEEE 754 binary16; bfloat16 is
 * the upper half of a float32. MXFP4 is that of the OCP Microscaling Formats (MX) Specification 1.0: blocks
 * of 32 E2M1 values with one E8M0 scale; its elements come in whole blocks, wherever they are counted. All
 * widenings are exact. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum lk_dtype {
    LK_F32,
    LK_F16,
    LK_BF16,
    LK_MXFP4,
    LK_N_DTYPE,
};

enum { LK_MXFP4_BLOCK = 32 };

/* Element i is the low half of q[i], element i + 16 the high half of q[i]. A half is a sign and one of 0,
 * 0.5, 1, 1.5, 2, 3, 4, 6. */
struct lk_mxfp4 {
    uint8_t scale;
    uint8_t q[LK_MXFP4_BLOCK / 2];
};

/* Bytes of n elements of this type. */
static inline size_t lk_dtype_bytes(enum lk_dtype type, size_t n)
{
    if (type == LK_MXFP4)
        return n / LK_MXFP4_BLOCK * sizeof(struct lk_mxfp4);
    return type == LK_F32 ? 4 * n : 2 * n;
}

static inline const char *lk_dtype_name(enum lk_dtype type)
{
    static const char *const names[LK_N_DTYPE] = {"F32", "F16", "BF16", "MXFP4"};
    return type < LK_N_DTYPE ? names[type] : "?";
}

static inline float lk_f32_from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline float lk_f32_from_bf16(uint16_t h)
{
    return lk_f32_from_bits((uint32_t)h << 16);
}

/* 2^(e - 127), which for 0 is subnormal; 255 is NaN. The bits, also for tables. */
#define LK_E8M0_BITS(e) ((uint32_t)(e) << 23 | (uint32_t)((e) == 0 || (e) == 255) << 22)

static inline float lk_f32_from_e8m0(uint8_t e)
{
    return lk_f32_from_bits(LK_E8M0_BITS(e));
}

/* The nearest bfloat16, ties to even; not for NaN. */
static inline float lk_round_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return lk_f32_from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

/* Subnormals are scaled by a power of two, which is exact. */
static inline float lk_f32_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    if (magnitude >= 0x7c00)
        return lk_f32_from_bits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude < 0x400) {
        float f = (float)magnitude * 0x1p-24f;
        return sign ? -f : f;
    }
    return lk_f32_from_bits(sign | ((magnitude << 13) + (112u << 23)));
}
