/* Mixtures of experts: what config.json says about them, and their weights. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/backend.h"
#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/model/arch.h"
#include "src/model/bind.h"

enum {
    MIXTURE_MAX_EXPERT = 1024, /* of a layer */
    MIXTURE_MAX_CHOSEN = 64,   /* of a row */
};

/* num_experts or num_local_experts, num_experts_per_tok, and the experts' width, ff_key; all are required.
 * norm_topk_prob, where the architecture has it, is the caller's. The rest of *ret is filled in but for
 * `experts`. EX_DATAERR with both numbers. */
int mixture_read(const struct json *config, const char *ff_key, int32_t dim, struct lk_mixture *ret,
                 struct why *why);

/* Which layers are mixtures, as Qwen says it: every decoder_sparse_step-th, but not those of mlp_only_layers.
 * ret_is_mixture[n_layer]. EX_DATAERR. */
int mixture_read_layers(const struct json *config, bool *ret_is_mixture, int32_t n_layer, struct why *why);

/* Notes in the shape that n_layer layers are such mixtures. */
void mixture_note(const struct lk_mixture *mixture, int32_t n_layer, struct arch_shape *shape);

/* A layer's own: this mixture, with experts[n_expert] in the arena, which are returned for binding. NULL: out
 * of memory. */
struct lk_expert *mixture_of_layer(const struct lk_mixture *mixture, struct arena *arena,
                                   struct lk_mixture *ret);

/* Names of an expert's three matrices. */
struct mixture_names {
    const char *gate, *up, *down;
};

/* Claims experts[n_expert] of a layer: "model.layers.<layer>.<block>.experts.<expert>.<name>.weight".
 * EX_DATAERR. */
int mixture_bind(struct bind *bind, struct lk_expert *experts, const struct lk_mixture *mixture,
                 int32_t layer, const char *block, const struct mixture_names *names, struct why *why);
