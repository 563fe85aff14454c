/* SiLU times a gate's partner, addition and scaling, in the words of vec_avx2.h or vec_avx512.h. */
#pragma once

#include "kernels/lk.h"

/* g / (1 + e^-g), for negative g as g e^g / (1 + e^g): neither form overflows where it is used. */
VEC_INLINE vec silu(vec g)
{
    vec e = vec_exp(vec_minus_abs(g));
    return vec_div(vec_if_negative(g, vec_mul(g, e), g), vec_add(vec_set1(1), e));
}

LK_ACT_MUL_FN(LK_ISA(lk_silu_mul))
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, vec_mul(silu(vec_load(g + i)), vec_load(u + i)));
    if (i < n)
        vec_store_part(y + i, vec_mul(silu(vec_load_part(g + i, n - i)), vec_load_part(u + i, n - i)), n - i);
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
