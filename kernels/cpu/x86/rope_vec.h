/* Rotary position embedding, in the words of vec_avx2.h or vec_avx512.h. */
#pragma once

#include "kernels/lk.h"

/* (a, b) -> (a cos - b sin, b cos + a sin) */
LK_ROPE_FN(LK_ISA(lk_rope_half))
{
    float *other = x + n_freq;
    size_t i = 0;
    for (; i + LANES <= n_freq; i += LANES) {
        vec a = vec_load(x + i), b = vec_load(other + i), c = vec_load(cos + i), s = vec_load(sin + i);
        vec_store(x + i, vec_fnma(b, s, vec_mul(a, c)));
        vec_store(other + i, vec_fma(a, s, vec_mul(b, c)));
    }
    size_t n = n_freq - i;
    if (n) {
        vec a = vec_load_part(x + i, n), b = vec_load_part(other + i, n);
        vec c = vec_load_part(cos + i, n), s = vec_load_part(sin + i, n);
        vec_store_part(x + i, vec_fnma(b, s, vec_mul(a, c)), n);
        vec_store_part(other + i, vec_fma(a, s, vec_mul(b, c)), n);
    }
}

/* Pairs stay where they are: x cos and the swapped x sin, subtracted in even lanes, added in odd ones. */
VEC_INLINE vec turn_pairs(vec x, vec c, vec s)
{
    return vec_fma_sub_add(x, c, vec_mul(vec_swap_pairs(x), s));
}

LK_ROPE_FN(LK_ISA(lk_rope_pair))
{
    enum { PAIRS = LANES / 2 };
    size_t i = 0;
    for (; i + PAIRS <= n_freq; i += PAIRS)
        vec_store(x + 2 * i,
                  turn_pairs(vec_load(x + 2 * i), vec_load_twice(cos + i), vec_load_twice(sin + i)));
    size_t n = n_freq - i;
    if (n)
        vec_store_part(x + 2 * i,
                       turn_pairs(vec_load_part(x + 2 * i, 2 * n), vec_load_twice_part(cos + i, n),
                                  vec_load_twice_part(sin + i, n)),
                       2 * n);
}
