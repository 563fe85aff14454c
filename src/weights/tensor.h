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
