/* Memory by purpose, and the context length that fits: decided before anything is allocated. */
#pragma once

#include <stdint.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/model/arch.h"

/* What is known beforehand. */
struct plan_ask {
    const struct arch_shape *shape;
    size_t (*kv_bytes)(const struct lk_kv_shape *shape); /* the back end's */
    int32_t n_ctx;                                       /* wanted; 0: the default rule */
    uint64_t available_bytes;                            /* before anything is loaded */
    uint64_t weight_bytes, scratch_bytes;
    int32_t max_row; /* rows of a step at most */
};

struct plan {
    int32_t n_ctx;
    struct lk_kv_shape kv; /* of one sequence of n_ctx positions; window is the shape's */
    uint64_t kv_bytes;
};

/* The default is the model's own length, at most MODEL_DEFAULT_CONTEXT, lowered in pages until its keys and
 * values fit into half of what the weights leave. A length that was asked for may take all of it, up to the
 * model's own. EX_CONFIG with both numbers. */
int plan_make(const struct plan_ask *ask, struct plan *ret_plan, struct why *why);
