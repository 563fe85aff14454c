/* AVX-512 intrinsics for processors without AVX-512: SIMDe, and in plain C those that its version 0.7.4
 * lacks.
 *
 * Included before kernels/cpu/x86/vec_avx512.h, with LK_SIMDE defined: the kernels for AVX-512 are then built
 * from the same lines under other names. Tests only; nothing of it enters a program that is installed. Every
 * function here is compared with the real instruction where there is one (test_simde.c). */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>

#include "kernels/dtype.h"

typedef simde__mmask16 __mmask16;

#define LK_SIMDE
#define LK_ISA(name) name##_simde

static inline __m512 gap_maskz_loadu_ps(__mmask16 mask, const void *p)
{
    float lanes[16] = {0};
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy(&lanes[i], (const char *)p + (size_t)i * sizeof *lanes, sizeof *lanes);
    return _mm512_loadu_ps(lanes);
}

static inline void gap_mask_storeu_ps(void *p, __mmask16 mask, __m512 a)
{
    float lanes[16];
    _mm512_storeu_ps(lanes, a);
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy((char *)p + (size_t)i * sizeof *lanes, &lanes[i], sizeof *lanes);
}

static inline __m256i gap_maskz_loadu_epi16(__mmask16 mask, const void *p)
{
    uint16_t lanes[16] = {0};
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy(&lanes[i], (const char *)p + (size_t)i * sizeof *lanes, sizeof *lanes);
    return _mm256_loadu_si256((const __m256i *)lanes);
}

static inline __m512i gap_cvtepu8_epi32(__m128i a)
{
    uint8_t narrow[16];
    uint32_t wide[16];
    memcpy(narrow, &a, sizeof narrow);
    for (int i = 0; i < 16; i++)
        wide[i] = narrow[i];
    return _mm512_loadu_si512(wide);
}

static inline __m512i gap_cvtepu16_epi32(__m256i a)
{
    uint16_t narrow[16];
    uint32_t wide[16];
    memcpy(narrow, &a, sizeof narrow);
    for (int i = 0; i < 16; i++)
        wide[i] = narrow[i];
    return _mm512_loadu_si512(wide);
}

static inline __m512 gap_cvtph_ps(__m256i a)
{
    uint16_t narrow[16];
    float wide[16];
    memcpy(narrow, &a, sizeof narrow);
    for (int i = 0; i < 16; i++)
        wide[i] = lk_f32_from_f16(narrow[i]);
    return _mm512_loadu_ps(wide);
}

static inline __m512d gap_cvtps_pd(__m256 a)
{
    float narrow[8];
    double wide[8];
    memcpy(narrow, &a, sizeof narrow);
    for (int i = 0; i < 8; i++)
        wide[i] = (double)narrow[i];
    return _mm512_loadu_pd(wide);
}

static inline __m512 gap_fmaddsub_ps(__m512 a, __m512 b, __m512 c)
{
    float x[16], y[16], z[16];
    _mm512_storeu_ps(x, a);
    _mm512_storeu_ps(y, b);
    _mm512_storeu_ps(z, c);
    for (int i = 0; i < 16; i++)
        z[i] = fmaf(x[i], y[i], i % 2 ? z[i] : -z[i]);
    return _mm512_loadu_ps(z);
}

/* Each group of four lanes takes those that the pairs of bits in `order` name. */
static inline __m512 gap_permute_ps(__m512 a, int order)
{
    float from[16], to[16];
    _mm512_storeu_ps(from, a);
    for (int i = 0; i < 16; i++)
        to[i] = from[i / 4 * 4 + (order >> i % 4 * 2 & 3)];
    return _mm512_loadu_ps(to);
}

#define _mm512_maskz_loadu_ps gap_maskz_loadu_ps
#define _mm512_mask_storeu_ps gap_mask_storeu_ps
#define _mm256_maskz_loadu_epi16 gap_maskz_loadu_epi16
#define _mm512_cvtepu8_epi32 gap_cvtepu8_epi32
#define _mm512_cvtepu16_epi32 gap_cvtepu16_epi32
#define _mm512_cvtph_ps gap_cvtph_ps
#define _mm512_cvtps_pd gap_cvtps_pd
#define _mm512_fmaddsub_ps gap_fmaddsub_ps
#define _mm512_permute_ps gap_permute_ps
