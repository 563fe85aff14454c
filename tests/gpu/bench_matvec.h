/* How near the matrix-vector products come to the speed of reading. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tests/gpu/gauge.h"

/* Prints GB/s of weights by type, for a matrix of 4096 rows of 14336 whose copies rotate through `bytes` of
 * `data`, more than a cache holds. best: GB/s of a read sweep in the same run. */
void bench_matvec(struct context *c, CUdeviceptr data, size_t bytes, double best, bool small);
