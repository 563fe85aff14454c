/* The frequencies of rotary position embedding.
 *
 * Sources: Su et al. 2021 (RoPE); Chen et al. 2023 (linear position interpolation); Peng et al. 2023 (YaRN,
 * and NTK-aware scaling by length, "dynamic"); the Llama 3.1 report (llama3); Ding et al. 2024 (LongRoPE).
 * The order of rounding follows the implementation in transformers, which published models were made with:
 * the plain frequencies are rounded to float32 at each step there (exponent, power, reciprocal), scaled ones
 * are computed from those, here in double and rounded once.
 *
 * LongRoPE has two sets, for sequences within the original length and beyond it. Keys turned by one do not
 * fit queries turned by the other, so a sequence keeps the set that what it may reach asks for: see struct
 * lk_rope. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/backend.h"
#include "src/base/arena.h"

enum rope_kind {
    ROPE_KIND_DEFAULT,
    ROPE_KIND_LINEAR,
    ROPE_KIND_DYNAMIC, /* used within its original length only, where it equals default */
    ROPE_KIND_LLAMA3,
    ROPE_KIND_YARN,
    ROPE_KIND_LONGROPE,
};

/* What src/model/rope_config.h makes of a config.json. */
struct rope_freq {
    enum rope_kind kind;
    int32_t n_rot; /* elements of a head that are turned, even */
    int32_t n_ctx; /* positions that these frequencies are good for */
    double theta;
    double factor;       /* not default: how much longer than original_ctx */
    double original_ctx; /* llama3, yarn, longrope */
    double low, high;    /* llama3: low_freq_factor, high_freq_factor; yarn: beta_slow, beta_fast */
    bool truncate;       /* yarn: the ramp begins and ends at whole indexes */
    float scale;         /* of cosines and sines: yarn's and longrope's attention factor, else 1 */
    const float *short_factor, *long_factor; /* longrope: [n_rot / 2] */
};

/* The tables, in the arena. 0, -ENOMEM. */
int rope_freq_make(const struct rope_freq *rope, struct arena *arena, struct lk_rope *ret_rope);
