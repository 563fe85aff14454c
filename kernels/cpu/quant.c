/* Weights in blocks of 32 with one scale: see kernels/quant.h. */
#include "config.h"

#include "kernels/quant.h"

#include <string.h>

#include "kernels/dtype.h"

_Static_assert(sizeof(struct quant_q8_0) == 34 && sizeof(struct quant_q4_0) == 18, "blocks are packed");

void quant_widen_q8_0(float *y, const struct quant_q8_0 *x, size_t n)
{
    for (size_t b = 0; b < n / QUANT_BLOCK; b++, y += QUANT_BLOCK) {
        const float scale = lk_f32_from_f16(x[b].scale);
        for (int i = 0; i < QUANT_BLOCK; i++)
            y[i] = scale * (float)x[b].q[i];
    }
}

void quant_widen_q4_0(float *y, const struct quant_q4_0 *x, size_t n)
{
    for (size_t b = 0; b < n / QUANT_BLOCK; b++, y += QUANT_BLOCK) {
        const float scale = lk_f32_from_f16(x[b].scale);
        for (int i = 0; i < QUANT_BLOCK / 2; i++) {
            y[i] = scale * (float)((x[b].q[i] & 15) - 8);
            y[i + QUANT_BLOCK / 2] = scale * (float)((x[b].q[i] >> 4) - 8);
        }
    }
}

void quant_split_q8_0(int8_t *values, uint16_t *scales, const struct quant_q8_0 *x, size_t n)
{
    for (size_t b = 0; b < n / QUANT_BLOCK; b++) {
        scales[b] = x[b].scale;
        memcpy(values + b * sizeof x->q, x[b].q, sizeof x->q);
    }
}

void quant_split_q4_0(uint8_t *values, uint16_t *scales, const struct quant_q4_0 *x, size_t n)
{
    for (size_t b = 0; b < n / QUANT_BLOCK; b++) {
        scales[b] = x[b].scale;
        memcpy(values + b * sizeof x->q, x[b].q, sizeof x->q);
    }
}
