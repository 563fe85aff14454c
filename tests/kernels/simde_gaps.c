/* The intrinsics that simde_avx512.h supplies, each as a function on memory. Built twice: with that header,
 * and for a processor that has them. */
#include "config.h"

#include "tests/kernels/simde_kernels.h"

#ifdef WITH_SIMDE
#include "tests/kernels/simde_avx512.h"
#endif
#include "kernels/cpu/x86/vec_avx512.h"

static void maskz_loadu_ps(void *ret, const void *in, size_t n)
{
    _mm512_storeu_ps(ret, _mm512_maskz_loadu_ps(vec_first_lanes(n), in));
}

/* Lanes without a bit keep what was there. */
static void mask_storeu_ps(void *ret, const void *in, size_t n)
{
    _mm512_mask_storeu_ps(ret, (__mmask16)~vec_first_lanes(n), _mm512_loadu_ps(in));
}

static void maskz_loadu_epi16(void *ret, const void *in, size_t n)
{
    _mm256_storeu_si256(ret, _mm256_maskz_loadu_epi16(vec_first_lanes(n), in));
}

static void cvtepu8_epi32(void *ret, const void *in, size_t n)
{
    (void)n;
    _mm512_storeu_si512(ret, _mm512_cvtepu8_epi32(_mm_loadu_si128(in)));
}

static void cvtepu16_epi32(void *ret, const void *in, size_t n)
{
    (void)n;
    _mm512_storeu_si512(ret, _mm512_cvtepu16_epi32(_mm256_loadu_si256(in)));
}

static void cvtph_ps(void *ret, const void *in, size_t n)
{
    (void)n;
    _mm512_storeu_ps(ret, _mm512_cvtph_ps(_mm256_loadu_si256(in)));
}

static void cvtps_pd(void *ret, const void *in, size_t n)
{
    (void)n;
    _mm512_storeu_pd(ret, _mm512_cvtps_pd(_mm256_loadu_ps(in)));
}

static void fmaddsub_ps(void *ret, const void *in, size_t n)
{
    (void)n;
    const float *x = in;
    _mm512_storeu_ps(
        ret, _mm512_fmaddsub_ps(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16), _mm512_loadu_ps(x + 32)));
}

static void permute_ps(void *ret, const void *in, size_t n)
{
    (void)n;
    _mm512_storeu_ps(ret, _mm512_permute_ps(_mm512_loadu_ps(in), 0xb1));
}

const struct simde_gap LK_ISA(simde_gaps)[SIMDE_N_GAP] = {
    {"_mm512_maskz_loadu_ps", maskz_loadu_ps, 4},
    {"_mm512_mask_storeu_ps", mask_storeu_ps, 0},
    {"_mm256_maskz_loadu_epi16", maskz_loadu_epi16, 2},
    {"_mm512_cvtepu8_epi32", cvtepu8_epi32, 0},
    {"_mm512_cvtepu16_epi32", cvtepu16_epi32, 0},
    {"_mm512_cvtph_ps", cvtph_ps, 0},
    {"_mm512_cvtps_pd", cvtps_pd, 0},
    {"_mm512_fmaddsub_ps", fmaddsub_ps, 0},
    {"_mm512_permute_ps", permute_ps, 0},
};
