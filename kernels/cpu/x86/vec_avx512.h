/* A vector of 16 floats: the words that the kernels of this folder are written in, in AVX-512 F, BW, DQ and
 * VL.
 *
 * vec_avx2.h has the same words for 8 floats. The functions that take a count n < LANES read and write n
 * elements and no byte beyond; the other lanes are zero. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifndef LK_SIMDE /* the tests' build for processors without AVX-512, which brings its own intrinsics */
#if !(defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512DQ__ && defined __AVX512VL__)
#error "build this file with -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl"
#endif
#include <immintrin.h>
#define LK_ISA(name) name##_avx512
#endif

#define VEC_INLINE static inline __attribute__((always_inline))

typedef __m512 vec;

enum {
    LANES = 16,
    TILE_OUT = 4, /* outputs and */
    TILE_ROW = 6, /* rows whose accumulators, with their operands, fill the 32 registers */
};

VEC_INLINE vec vec_zero(void)
{
    return _mm512_setzero_ps();
}

VEC_INLINE vec vec_set1(float x)
{
    return _mm512_set1_ps(x);
}

VEC_INLINE vec vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

VEC_INLINE __mmask16 vec_first_lanes(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}

VEC_INLINE vec vec_load_part(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps(vec_first_lanes(n), p);
}

VEC_INLINE void vec_store(float *p, vec a)
{
    _mm512_storeu_ps(p, a);
}

VEC_INLINE void vec_store_part(float *p, vec a, size_t n)
{
    _mm512_mask_storeu_ps(p, vec_first_lanes(n), a);
}

VEC_INLINE vec vec_from_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

VEC_INLINE vec vec_from_f16_part(const uint16_t *p, size_t n)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(vec_first_lanes(n), p));
}

VEC_INLINE vec vec_widen_bf16(__m256i halves)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

VEC_INLINE vec vec_from_bf16(const uint16_t *p)
{
    return vec_widen_bf16(_mm256_loadu_si256((const __m256i *)p));
}

VEC_INLINE vec vec_from_bf16_part(const uint16_t *p, size_t n)
{
    return vec_widen_bf16(_mm256_maskz_loadu_epi16(vec_first_lanes(n), p));
}

/* E2M1 values, unscaled: the low halves of LANES bytes. The permutation heeds the four low bits of an index.
 */
VEC_INLINE vec vec_from_e2m1(__m512i index)
{
    const vec values = _mm512_set_ps(-6, -4, -3, -2, -1.5f, -1, -0.5f, -0.0f, 6, 4, 3, 2, 1.5f, 1, 0.5f, 0);
    return _mm512_permutexvar_ps(index, values);
}

VEC_INLINE vec vec_from_low_e2m1(const uint8_t *p)
{
    return vec_from_e2m1(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

VEC_INLINE vec vec_from_high_e2m1(const uint8_t *p)
{
    return vec_from_e2m1(_mm512_srli_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)), 4));
}

VEC_INLINE vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

VEC_INLINE vec vec_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

VEC_INLINE vec vec_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

VEC_INLINE vec vec_div(vec a, vec b)
{
    return _mm512_div_ps(a, b);
}

/* If either is NaN, b. */
VEC_INLINE vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

/* If either is NaN, b. */
VEC_INLINE vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

/* a * b + c, rounded once. */
VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* c - a * b, rounded once. */
VEC_INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return _mm512_fnmadd_ps(a, b, c);
}

/* a * b - c in even lanes, a * b + c in odd ones. */
VEC_INLINE vec vec_fma_sub_add(vec a, vec b, vec c)
{
    return _mm512_fmaddsub_ps(a, b, c);
}

VEC_INLINE vec vec_minus_abs(vec a)
{
    return _mm512_or_ps(a, _mm512_set1_ps(-0.0f));
}

/* x in lanes where a < 0, else y. */
VEC_INLINE vec vec_if_negative(vec a, vec x, vec y)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_LT_OQ), y, x);
}

/* a in lanes [first, last), else `other`; bounds outside [0, LANES] are allowed. */
VEC_INLINE vec vec_in_range(vec a, vec other, int32_t first, int32_t last)
{
    first = first < 0 ? 0 : first > LANES ? LANES : first;
    last = last < first ? first : last > LANES ? LANES : last;
    return _mm512_mask_blend_ps((__mmask16)((1u << last) - (1u << first)), other, a);
}

/* To the nearest integer, ties to even. */
VEC_INLINE vec vec_round(vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT);
}

/* a * 2^n for integers n with |n| <= 252. */
VEC_INLINE vec vec_scale2(vec a, vec n)
{
    return _mm512_scalef_ps(a, n);
}

/* Neighbours of an even and an odd lane change places. */
VEC_INLINE vec vec_swap_pairs(vec a)
{
    return _mm512_permute_ps(a, 0xb1);
}

/* LANES / 2 elements, each in two lanes. */
VEC_INLINE vec vec_load_twice(const float *p)
{
    __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    return _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
}

VEC_INLINE float vec_lane0(vec a)
{
    return _mm_cvtss_f32(_mm512_castps512_ps128(a));
}

VEC_INLINE __m128 vec_quarter_sum(vec a)
{
    __m256 half = _mm256_add_ps(_mm512_castps512_ps256(a),
                                _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1)));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

VEC_INLINE float vec_max_lane(vec a)
{
    __m256 half = _mm256_max_ps(_mm512_castps512_ps256(a),
                                _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1)));
    __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    quarter = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_max_ss(quarter, _mm_movehdup_ps(quarter)));
}

/* Sums of squares in double: in float32 they would overflow from 2^64 on. */
typedef __m512d vec_squares;

VEC_INLINE vec_squares vec_squares_zero(void)
{
    return _mm512_setzero_pd();
}

VEC_INLINE vec_squares vec_squares_add(vec_squares sum, vec a)
{
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    __m512d high = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1)));
    return _mm512_fmadd_pd(high, high, _mm512_fmadd_pd(low, low, sum));
}

VEC_INLINE double vec_squares_sum(vec_squares sum)
{
    __m256d half = _mm256_add_pd(_mm512_castpd512_pd256(sum), _mm512_extractf64x4_pd(sum, 1));
    __m128d quarter = _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
    return _mm_cvtsd_f64(_mm_add_sd(quarter, _mm_unpackhi_pd(quarter, quarter)));
}

#include "kernels/cpu/x86/vec.h"
