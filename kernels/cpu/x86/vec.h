/* What both widths of vectors share: sums over the lanes, the exponential function and the
 * hyperbolic tangent.
 *
 * Included by vec_avx2.h and vec_avx512.h, after their own words. */
#pragma once

#include <string.h>

/* Sums over the lanes of four vectors at once. The tree is that of four single sums: halves are folded until
 * four lanes are left, which add up as (0 + 2) + (1 + 3). */
VEC_INLINE __m128 vec_sum4(vec a, vec b, vec c, vec d)
{
    __m128 qa = vec_quarter_sum(a), qb = vec_quarter_sum(b), qc = vec_quarter_sum(c), qd = vec_quarter_sum(d);
    __m128 ab02 = _mm_add_ps(_mm_movelh_ps(qa, qb), _mm_movehl_ps(qb, qa));
    __m128 cd02 = _mm_add_ps(_mm_movelh_ps(qc, qd), _mm_movehl_ps(qd, qc));
    return _mm_add_ps(_mm_shuffle_ps(ab02, cd02, _MM_SHUFFLE(2, 0, 2, 0)),
                      _mm_shuffle_ps(ab02, cd02, _MM_SHUFFLE(3, 1, 3, 1)));
}

VEC_INLINE float vec_sum(vec a)
{
    __m128 q = vec_quarter_sum(a);
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

/* n < LANES / 2 elements, each in two lanes; the other lanes are zero. */
VEC_INLINE vec vec_load_twice_part(const float *p, size_t n)
{
    float padded[LANES / 2] = {0};
    memcpy(padded, p, n * sizeof *p);
    return vec_load_twice(padded);
}

/* e^x within 2 units in the last place. x = n ln 2 + r with |r| <= ln 2 / 2; e^r by Taylor's series up to
 * r^7 / 7!, whose remainder is below 2^-27; ln 2 in two parts, of which n times the first is exact (Cody and
 * Waite 1980). Outside [-104, 89] the result is 0 or infinity; NaN stays NaN. */
VEC_INLINE vec vec_exp(vec x)
{
    x = vec_max(vec_set1(-104), vec_min(vec_set1(89), x));
    vec n = vec_round(vec_mul(x, vec_set1(0x1.715476p+0f)));
    vec r = vec_fma(n, vec_set1(-0x1.62e4p-1f), x);
    r = vec_fma(n, vec_set1(-0x1.7f7d1cp-20f), r);
    vec p = vec_set1(1.0f / 5040);
    p = vec_fma(p, r, vec_set1(1.0f / 720));
    p = vec_fma(p, r, vec_set1(1.0f / 120));
    p = vec_fma(p, r, vec_set1(1.0f / 24));
    p = vec_fma(p, r, vec_set1(1.0f / 6));
    p = vec_fma(p, r, vec_set1(0.5f));
    p = vec_fma(p, r, vec_set1(1));
    p = vec_fma(p, r, vec_set1(1));
    return vec_scale2(p, n);
}

/* tanh x = sign(x) (1 - e) / (1 + e) with e = e^-2|x|. Off by 3 * 2^-24 at most, which near 0 is more than
 * units in the last place: good for a soft cap, whose argument is small where nothing is capped. */
VEC_INLINE vec vec_tanh(vec x)
{
    vec e = vec_exp(vec_mul(vec_minus_abs(x), vec_set1(2)));
    vec t = vec_div(vec_sub(vec_set1(1), e), vec_add(vec_set1(1), e));
    return vec_if_negative(x, vec_sub(vec_zero(), t), t);
}
