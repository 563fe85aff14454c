/* Weights in blocks of 32 with one float16 scale: the types Q8_0 and Q4_0 of GGUF files, what they mean, and
 * how they are taken apart for a GPU. n is a multiple of 32 everywhere.
 *
 * Exact: a widened weight is scale * integer, and an 11-bit significand times an 8-bit integer fits a
 * float32. A product with them is, by definition, that of the widened row (LK_MATMUL_FN for float32). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { QUANT_BLOCK = 32 };

struct quant_q8_0 {
    uint16_t scale; /* float16 bits */
    int8_t q[QUANT_BLOCK];
};

/* Byte j has weight j in its low half and weight j + 16 in its high half, each plus 8. */
struct quant_q4_0 {
    uint16_t scale;
    uint8_t q[QUANT_BLOCK / 2];
};

void quant_widen_q8_0(float *y, const struct quant_q8_0 *x, size_t n);
void quant_widen_q4_0(float *y, const struct quant_q4_0 *x, size_t n);

/* Two planes, so that every load is 16 bytes wide: values as they are in the blocks, and n / 32 scales. */
void quant_split_q8_0(int8_t *values, uint16_t *scales, const struct quant_q8_0 *x, size_t n);
void quant_split_q4_0(uint8_t *values, uint16_t *scales, const struct quant_q4_0 *x, size_t n);
