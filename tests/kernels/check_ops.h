/* What the checks of single operations share.
 *
 * Bounds follow from the operands: U is the unit roundoff of float32, and a sum that is rounded `depth` times
 * on the way to each result is off by at most depth * U * sum|terms| (Higham 2002, 3.1, first order; the
 * bounds are a few per cent wider than that to cover the higher ones). */
#pragma once

#include "tests/kernels/check.h"

#define U 0x1p-24
#define TINY 0x1p-126 /* below this results lose relative accuracy or become 0 */

/* Operands of a case. */
enum { Y, W, X, BIAS, Z, AUX, OTHER, MAX, SUM };

int check_attn_page(const struct lk_cpu *got);
int check_attn_merge(const struct lk_cpu *got);
