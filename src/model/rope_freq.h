/* The frequencies of rotary position embedding, and how config.json spells them.
 *
 * Sources: Su et al. 2021 (RoPE); Chen et al. 2023 (linear position interpolation); Peng et al. 2023 (YaRN,
 * and NTK-aware scaling by length, "dynamic"); the Llama 3.1 report (llama3). Defaults and order of rounding
 * follow the implementation in transformers, which published models were made with: the plain frequencies are
 * rounded to float32 at each step there (exponent, power, reciprocal), scaled ones are computed from those,
 * here in double and rounded once.
 *
 * Both spellings are read: rope_theta and rope_scaling {rope_type or type, ...}, and rope_parameters
 * {rope_theta, rope_type,
 * ...}. An unknown field of these blocks is refused: ignoring one would silently give wrong text. */
#pragma once

#include <stdint.h>

#include "src/base/err.h"
#include "src/base/json.h"

enum rope_kind {
    ROPE_KIND_DEFAULT,
    ROPE_KIND_LINEAR,
    ROPE_KIND_DYNAMIC, /* used within its original length only, where it equals default */
    ROPE_KIND_LLAMA3,
    ROPE_KIND_YARN,
};

struct rope_freq {
    enum rope_kind kind;
    int32_t n_rot; /* elements of a head that are turned, even */
    int32_t n_ctx; /* positions that these frequencies are good for */
    double theta;
    double factor;       /* not default: how much longer than original_ctx */
    double original_ctx; /* llama3, yarn */
    double low, high;    /* llama3: low_freq_factor, high_freq_factor; yarn: beta_slow, beta_fast */
    bool truncate;       /* yarn: the ramp begins and ends at whole indexes */
    float scale;         /* of cosines and sines: yarn's attention factor, else 1 */
};

/* n_ctx: max_position_embeddings. default_theta: where config.json names none. n_rot becomes head_dim times
 * partial_rotary_factor. EX_DATAERR with field and numbers; an unknown kind with the list of known ones. */
int rope_freq_read(const struct json *config, int32_t head_dim, int32_t n_ctx, double default_theta,
                   struct rope_freq *ret_rope, struct why *why);

/* ret_inv_freq[n_rot / 2]: radians a position. */
void rope_freq_fill(const struct rope_freq *rope, float *ret_inv_freq);
