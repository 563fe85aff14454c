/* A vector of 8 floats: the words that the kernels of this folder are written in, in AVX2, FMA and F16C.
 *
 * vec_avx512.h has the same words for 16 floats, and says what they mean. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !(defined __AVX2__ && defined __FMA__ && defined __F16C__)
#error "build this file with -mavx2 -mfma -mf16c"
#endif
#include <immintrin.h>
#define LK_ISA(name) name##_avx2

#define VEC_INLINE static inline __attribute__((always_inline))

typedef __m256 vec;

enum {
    LANES = 8,
    TILE_OUT = 2,
    TILE_ROW = 6,
};

VEC_INLINE vec vec_zero(void)
{
    return _mm256_setzero_ps();
}

VEC_INLINE vec vec_set1(float x)
{
    return _mm256_set1_ps(x);
}

VEC_INLINE vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

VEC_INLINE __m256i vec_lane_index(void)
{
    return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
}

VEC_INLINE __m256i vec_first_lanes(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), vec_lane_index());
}

VEC_INLINE vec vec_load_part(const float *p, size_t n)
{
    return _mm256_maskload_ps(p, vec_first_lanes(n));
}

VEC_INLINE void vec_store(float *p, vec a)
{
    _mm256_storeu_ps(p, a);
}

VEC_INLINE void vec_store_part(float *p, vec a, size_t n)
{
    _mm256_maskstore_ps(p, vec_first_lanes(n), a);
}

VEC_INLINE vec vec_from_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

VEC_INLINE vec vec_from_bf16(const uint16_t *p)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

VEC_INLINE vec vec_from_f16_part(const uint16_t *p, size_t n)
{
    uint16_t padded[LANES] = {0};
    memcpy(padded, p, n * sizeof *p);
    return vec_from_f16(padded);
}

VEC_INLINE vec vec_from_bf16_part(const uint16_t *p, size_t n)
{
    uint16_t padded[LANES] = {0};
    memcpy(padded, p, n * sizeof *p);
    return vec_from_bf16(padded);
}

/* The permutation heeds the three low bits of an index, the magnitude; the fourth is the sign. */
VEC_INLINE vec vec_from_e2m1(__m256i index)
{
    vec magnitude = _mm256_permutevar8x32_ps(_mm256_set_ps(6, 4, 3, 2, 1.5f, 1, 0.5f, 0), index);
    __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(index, 3), 31);
    return _mm256_or_ps(magnitude, _mm256_castsi256_ps(sign));
}

VEC_INLINE vec vec_from_low_e2m1(const uint8_t *p)
{
    return vec_from_e2m1(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

VEC_INLINE vec vec_from_high_e2m1(const uint8_t *p)
{
    return vec_from_e2m1(_mm256_srli_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)), 4));
}

VEC_INLINE vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

VEC_INLINE vec vec_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

VEC_INLINE vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

VEC_INLINE vec vec_div(vec a, vec b)
{
    return _mm256_div_ps(a, b);
}

VEC_INLINE vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

VEC_INLINE vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

VEC_INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

VEC_INLINE vec vec_fma_sub_add(vec a, vec b, vec c)
{
    return _mm256_fmaddsub_ps(a, b, c);
}

VEC_INLINE vec vec_minus_abs(vec a)
{
    return _mm256_or_ps(a, _mm256_set1_ps(-0.0f));
}

VEC_INLINE vec vec_if_negative(vec a, vec x, vec y)
{
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_LT_OQ));
}

VEC_INLINE vec vec_in_range(vec a, vec other, int32_t first, int32_t last)
{
    __m256i before = _mm256_cmpgt_epi32(_mm256_set1_epi32(first), vec_lane_index());
    __m256i inside =
        _mm256_andnot_si256(before, _mm256_cmpgt_epi32(_mm256_set1_epi32(last), vec_lane_index()));
    return _mm256_blendv_ps(other, a, _mm256_castsi256_ps(inside));
}

VEC_INLINE vec vec_round(vec a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT);
}

VEC_INLINE vec vec_power_of_2(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

/* In two steps, since 2^n alone need not be a float32. */
VEC_INLINE vec vec_scale2(vec a, vec n)
{
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    a = _mm256_mul_ps(a, vec_power_of_2(half));
    return _mm256_mul_ps(a, vec_power_of_2(_mm256_sub_epi32(whole, half)));
}

VEC_INLINE vec vec_swap_pairs(vec a)
{
    return _mm256_permute_ps(a, 0xb1);
}

VEC_INLINE vec vec_load_twice(const float *p)
{
    __m256i twice = _mm256_set_epi32(3, 3, 2, 2, 1, 1, 0, 0);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), twice);
}

VEC_INLINE float vec_lane0(vec a)
{
    return _mm256_cvtss_f32(a);
}

VEC_INLINE __m128 vec_quarter_sum(vec a)
{
    return _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
}

VEC_INLINE float vec_max_lane(vec a)
{
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}

typedef __m256d vec_squares;

VEC_INLINE vec_squares vec_squares_zero(void)
{
    return _mm256_setzero_pd();
}

VEC_INLINE vec_squares vec_squares_add(vec_squares sum, vec a)
{
    __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(a));
    __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
    return _mm256_fmadd_pd(high, high, _mm256_fmadd_pd(low, low, sum));
}

VEC_INLINE double vec_squares_sum(vec_squares sum)
{
    __m128d half = _mm_add_pd(_mm256_castpd256_pd128(sum), _mm256_extractf128_pd(sum, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

#include "kernels/cpu/x86/vec.h"
