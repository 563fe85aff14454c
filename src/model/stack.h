/* Experts whose weights lie in one tensor a layer, as gpt-oss has them: copied into rows.
 *
 * "<prefix>.gate_up_proj" is [n_expert][dim][2 * ff_dim], gate and up taking turns, "<prefix>.down_proj"
 * [n_expert][ff_dim][dim]; their biases are "<prefix>.gate_up_proj_bias" [n_expert][2 * ff_dim] and
 * "<prefix>.down_proj_bias" [n_expert][dim].
 *
 * Or MXFP4, outputs first: "<prefix>.gate_up_proj_blocks" [n_expert][2 * ff_dim][dim / 32][16], each byte two
 * neighbours with the low half first, and "<prefix>.gate_up_proj_scales" [n_expert][2 * ff_dim][dim / 32];
 * likewise "<prefix>.down_proj_blocks" and "<prefix>.down_proj_scales". */
#pragma once

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/model/bind.h"

/* Claims all of that for experts[n_expert] of the mixture: with "model.layers.<layer>.<block>." before the
 * names. EX_DATAERR, -ENOMEM. */
int stack_bind(struct bind *bind, struct lk_expert *experts, const struct lk_mixture *mixture, int32_t layer,
               const char *block, struct why *why);
