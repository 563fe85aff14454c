/* Mixtures of experts on the CPU back end: see struct lk_ops. */
#pragma once

#include "kernels/backend.h"

void mix_mix(struct lk_backend *be, float *y, const struct lk_mixture *mixture, const float *logits,
             const float *x, int32_t n_row, void *tmp);
void mix_add_gated(struct lk_backend *be, float *y, const float *x, const float *gate, int32_t n_row,
                   int32_t n);
