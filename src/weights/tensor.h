/* A named tensor inside a mapped file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"

enum { TENSOR_MAX_DIM = 8 };

struct tensor {
    const char *name;      /* owned by the file it came from */
    const char *type_name; /* as the file spells it, e.g. "BF16", "I64" */
    int type;              /* enum lk_dtype, or -1: a type that kernels do not take */
    int n_dim;
    uint64_t dim[TENSOR_MAX_DIM]; /* outermost first */
    const void *data;             /* in the map; aligned to its element type or copied by the file's owner */
    uint64_t n_byte;
};

/* An element, widened exactly. The type must be one of F32, F16 and BF16. */
static inline float tensor_value(const struct tensor *t, size_t i)
{
    switch ((enum lk_dtype)t->type) {
    case LK_F16:
        return lk_f32_from_f16(((const uint16_t *)t->data)[i]);
    case LK_BF16:
        return lk_f32_from_bf16(((const uint16_t *)t->data)[i]);
    default:
        return ((const float *)t->data)[i];
    }
}
