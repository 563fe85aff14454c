/* How config.json spells rotary position embedding.
 *
 * Both spellings are read: rope_theta and rope_scaling {rope_type or type, ...}, and rope_parameters
 * {rope_theta, rope_type, ...}, which may hold one such block for each kind of layer. Defaults are those of
 * transformers. An unknown field of these blocks is refused: ignoring one would silently give wrong text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/model/rope_freq.h"

/* What an architecture knows beforehand. */
struct rope_want {
    int32_t head_dim;
    int32_t n_ctx;          /* max_position_embeddings */
    double theta;           /* where config.json names none */
    double part;            /* of a head that is turned, where config.json has no partial_rotary_factor */
    const char *layer_type; /* "full_attention": rope_parameters may have a block of this name; NULL: it has
                               one for all layers */
    bool only_own; /* rope_theta and rope_scaling are about other layers: without a block of their own
                      these have theta and no scaling */
};

/* Lists are in the arena. EX_DATAERR with field and numbers, an unknown kind with the list of known ones;
 * -ENOMEM. */
int rope_config_read(const struct json *config, const struct rope_want *want, struct arena *arena,
                     struct rope_freq *ret_rope, struct why *why);
