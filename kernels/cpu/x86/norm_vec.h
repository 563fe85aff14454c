/* Root mean square normalisation, in the words of vec_avx2.h or vec_avx512.h. */
#pragma once

#include <math.h>

#include "kernels/lk.h"

static double square_sum(const float *x, size_t n)
{
    vec_squares sum = vec_squares_zero();
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sum = vec_squares_add(sum, vec_load(x + i));
    if (i < n)
        sum = vec_squares_add(sum, vec_load_part(x + i, n - i));
    return vec_squares_sum(sum);
}

LK_RMSNORM_FN(LK_ISA(lk_rmsnorm))
{
    vec factor = vec_set1((float)(1 / sqrt(square_sum(x, n) / (double)n + (double)eps)));
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, vec_mul(vec_mul(vec_load(x + i), factor), vec_load(w + i)));
    if (i < n)
        vec_store_part(
            y + i, vec_mul(vec_mul(vec_load_part(x + i, n - i), factor), vec_load_part(w + i, n - i)), n - i);
}
