/* Activations times a gate's partner, addition, scaling and soft caps, in the words of vec_avx2.h or
 * vec_avx512.h. */
#pragma once

#include "kernels/lk.h"

/* g / (1 + e^-x), for negative x as g e^x / (1 + e^x): neither form overflows where it is used. */
VEC_INLINE vec gated_by(vec g, vec x)
{
    vec e = vec_exp(vec_minus_abs(x));
    return vec_div(vec_if_negative(x, vec_mul(g, e), g), vec_add(vec_set1(1), e));
}

VEC_INLINE vec silu(vec g)
{
    return gated_by(g, g);
}

/* g / 2 (1 + tanh(x)) is g / (1 + e^-2x). */
VEC_INLINE vec gelu_tanh(vec g)
{
    vec cubic = vec_fma(vec_mul(g, g), vec_set1(0.044715f), vec_set1(1));
    return gated_by(g, vec_mul(vec_mul(g, vec_set1(0x1.988454p+0f)), cubic)); /* 2 sqrt(2 / pi) */
}

/* g Phi(g). The tail Phi(-t) of a normal distribution is e^(-t^2 / 2) / 2 times a function that falls slowly
 * and is u P(u) with u = 1 / (1 + 0.35 t) here, as in Abramowitz and Stegun 7.1.26; P was fitted to erfc in
 * double over t <= 14, for the least greatest relative error: 1.3e-7 with these coefficients in float32. */
VEC_INLINE vec gelu(vec g)
{
    static const float coefficients[] = {-0.058292279f, 0.28794542f,   -0.51143264f,
                                         0.31835299f,   -0.046222837f, 0.21101733f,
                                         0.239665407f,  0.279723784f,  0.279242806f};
    vec minus_t = vec_minus_abs(g);
    vec u = vec_div(vec_set1(1), vec_fnma(minus_t, vec_set1(0.35f), vec_set1(1)));
    vec p = vec_set1(coefficients[0]);
    for (size_t i = 1; i < sizeof coefficients / sizeof *coefficients; i++)
        p = vec_fma(p, u, vec_set1(coefficients[i]));
    vec e = vec_exp(vec_mul(vec_mul(g, g), vec_set1(-0.5f)));
    vec tail = vec_mul(vec_mul(minus_t, vec_set1(0.5f)), vec_mul(vec_mul(u, p), e)); /* -t Phi(-t) */
    return vec_if_negative(g, tail, vec_add(g, tail));
}

VEC_INLINE vec swiglu_clamped(vec g)
{
    vec x = vec_min(vec_set1(7), g);
    return gated_by(x, vec_mul(x, vec_set1(1.702f)));
}

/* What u becomes before it multiplies. */
VEC_INLINE vec as_it_is(vec u)
{
    return u;
}

VEC_INLINE vec clamped_plus_1(vec u)
{
    return vec_add(vec_max(vec_set1(-7), vec_min(vec_set1(7), u)), vec_set1(1));
}

/* y = act(g) partner(u). */
#define ACT_MUL(act, partner)                                                               \
    do {                                                                                    \
        size_t i = 0;                                                                       \
        for (; u && i + LANES <= n; i += LANES)                                             \
            vec_store(y + i, vec_mul(act(vec_load(g + i)), partner(vec_load(u + i))));      \
        for (; i + LANES <= n; i += LANES)                                                  \
            vec_store(y + i, act(vec_load(g + i)));                                         \
        if (i < n) {                                                                        \
            vec other = u ? partner(vec_load_part(u + i, n - i)) : vec_set1(1);             \
            vec_store_part(y + i, vec_mul(act(vec_load_part(g + i, n - i)), other), n - i); \
        }                                                                                   \
    } while (0)

LK_ACT_MUL_FN(LK_ISA(lk_silu_mul))
{
    ACT_MUL(silu, as_it_is);
}

LK_ACT_MUL_FN(LK_ISA(lk_gelu_mul))
{
    ACT_MUL(gelu, as_it_is);
}

LK_ACT_MUL_FN(LK_ISA(lk_gelu_tanh_mul))
{
    ACT_MUL(gelu_tanh, as_it_is);
}

LK_ACT_MUL_FN(LK_ISA(lk_swiglu_clamped))
{
    ACT_MUL(swiglu_clamped, clamped_plus_1);
}

LK_ADD_FN(LK_ISA(lk_add))
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, vec_add(vec_load(y + i), vec_load(x + i)));
    if (i < n)
        vec_store_part(y + i, vec_add(vec_load_part(y + i, n - i), vec_load_part(x + i, n - i)), n - i);
}

LK_SCALE_FN(LK_ISA(lk_scale))
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, vec_mul(vec_load(y + i), vec_set1(factor)));
    if (i < n)
        vec_store_part(y + i, vec_mul(vec_load_part(y + i, n - i), vec_set1(factor)), n - i);
}

/* x - x is 0, or NaN where x is infinite. */
VEC_INLINE vec soft_cap(vec x, vec cap, vec one_over)
{
    return vec_add(vec_mul(cap, vec_tanh(vec_mul(x, one_over))), vec_sub(x, x));
}

LK_SOFT_CAP_FN(LK_ISA(lk_soft_cap))
{
    vec c = vec_set1(cap), one_over = vec_set1(1 / cap);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, soft_cap(vec_load(y + i), c, one_over));
    if (i < n)
        vec_store_part(y + i, soft_cap(vec_load_part(y + i, n - i), c, one_over), n - i);
}
