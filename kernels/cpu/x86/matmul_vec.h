/* Matrix products and widening, in the words of vec_avx2.h or vec_avx512.h.
 *
 * Every output of every row is summed in one order, whatever else is computed with it: blocks of LK_BLOCK
 * elements, each in one vector accumulator that starts at zero; the blocks' vectors added in order; vec_sum.
 *
 * One row reads the weights as one stream. The blocks are independent of each other, so a processor that
 * executes out of order runs several of them at a time without our help.
 *
 * Several rows are computed in tiles of TILE_ROW rows by TILE_OUT outputs, whose accumulators fill the
 * registers. Groups of tiles advance together by SPAN_IN elements, so that a tile's rows stay in the
 * first-level cache while they meet all outputs of the group, and the group's weights in the second-level
 * cache; the sums wait on the stack meanwhile. Weights are widened anew for each tile: that takes ports that
 * multiplication leaves free, and half the traffic of a widened copy. */
#pragma once

#include <string.h>

#include "kernels/lk.h"

enum {
    AHEAD_BYTES = 6144,     /* how far ahead of itself one row's stream is fetched, measured */
    GROUP_ROW = LK_CUT_ROW, /* rows and */
    GROUP_OUT = LK_CUT_OUT, /* outputs of a group: multiples of a tile's and of 4 */
    SPAN_IN = 1024,         /* elements by which it advances: a multiple of LK_BLOCK */
};

/* How elements [i, i + LANES) of a row of weights become floats; a part has n < LANES of them. */
struct weight_type {
    enum lk_dtype type;
    size_t line; /* elements that fill a cache line, or nearly: fetched at a time */
    vec (*load)(const void *row, size_t i);
    vec (*load_part)(const void *row, size_t i, size_t n);
};

VEC_INLINE vec load_f32(const void *row, size_t i)
{
    return vec_load((const float *)row + i);
}

VEC_INLINE vec load_part_f32(const void *row, size_t i, size_t n)
{
    return vec_load_part((const float *)row + i, n);
}

VEC_INLINE vec load_f16(const void *row, size_t i)
{
    return vec_from_f16((const uint16_t *)row + i);
}

VEC_INLINE vec load_part_f16(const void *row, size_t i, size_t n)
{
    return vec_from_f16_part((const uint16_t *)row + i, n);
}

VEC_INLINE vec load_bf16(const void *row, size_t i)
{
    return vec_from_bf16((const uint16_t *)row + i);
}

VEC_INLINE vec load_part_bf16(const void *row, size_t i, size_t n)
{
    return vec_from_bf16_part((const uint16_t *)row + i, n);
}

/* A scale from a table comes through a load port. Computed, it comes through the one that permutations need,
 * and one row takes a third longer. */
#define E8M0_4(e) LK_E8M0_BITS(e), LK_E8M0_BITS((e) + 1), LK_E8M0_BITS((e) + 2), LK_E8M0_BITS((e) + 3)
#define E8M0_16(e) E8M0_4(e), E8M0_4((e) + 4), E8M0_4((e) + 8), E8M0_4((e) + 12)
#define E8M0_64(e) E8M0_16(e), E8M0_16((e) + 16), E8M0_16((e) + 32), E8M0_16((e) + 48)
static const uint32_t e8m0_bits[256] = {E8M0_64(0), E8M0_64(64), E8M0_64(128), E8M0_64(192)};

VEC_INLINE vec load_mxfp4(const void *row, size_t i)
{
    const struct lk_mxfp4 *b = (const struct lk_mxfp4 *)row + i / LK_MXFP4_BLOCK;
    const uint8_t *q = b->q + i % sizeof b->q;
    vec unscaled = i % LK_MXFP4_BLOCK < sizeof b->q ? vec_from_low_e2m1(q) : vec_from_high_e2m1(q);
    return vec_mul(unscaled, vec_set1(lk_f32_from_bits(e8m0_bits[b->scale])));
}

/* There are whole blocks only. */
VEC_INLINE vec load_part_mxfp4(const void *row, size_t i, size_t n)
{
    (void)n;
    return load_mxfp4(row, i);
}

static const struct weight_type type_f32 = {LK_F32, 16, load_f32, load_part_f32};
static const struct weight_type type_f16 = {LK_F16, 32, load_f16, load_part_f16};
static const struct weight_type type_bf16 = {LK_BF16, 32, load_bf16, load_part_bf16};
static const struct weight_type type_mxfp4 = {LK_MXFP4, 128, load_mxfp4, load_part_mxfp4};

/* Bytes of n elements. */
VEC_INLINE size_t bytes_of(struct weight_type type, size_t n)
{
    return lk_dtype_bytes(type.type, n);
}

/* ---- One row ---- */

/* The last block of a row, n <= LK_BLOCK elements from i. */
VEC_INLINE vec short_block(struct weight_type type, const void *row, const float *x, size_t i, size_t n)
{
    vec sum = vec_zero();
    for (; n >= LANES; i += LANES, n -= LANES)
        sum = vec_fma(type.load(row, i), vec_load(x + i), sum);
    if (n)
        sum = vec_fma(type.load_part(row, i, n), vec_load_part(x + i, n), sum);
    return sum;
}

VEC_INLINE vec row_sum(struct weight_type type, const void *row, const float *x, size_t n_in)
{
    vec sum = vec_zero();
    size_t i = 0;
    for (; i + LK_BLOCK <= n_in; i += LK_BLOCK) {
        vec block = vec_zero();
#pragma GCC unroll 32
        for (size_t j = 0; j < LK_BLOCK; j += LANES) {
            if (j % type.line == 0)
                __builtin_prefetch((const char *)row + bytes_of(type, i + j) + AHEAD_BYTES);
            block = vec_fma(type.load(row, i + j), vec_load(x + i + j), block);
        }
        sum = vec_add(sum, block);
    }
    if (i < n_in)
        sum = vec_add(sum, short_block(type, row, x, i, n_in - i));
    return sum;
}

/* y[n] = sums of n <= 4 outputs, plus bias. */
VEC_INLINE void store_sums(float *y, const float *bias, __m128 sums, size_t n)
{
    float out[4];
    _mm_storeu_ps(out, sums);
    for (size_t o = 0; o < n; o++)
        y[o] = bias ? out[o] + bias[o] : out[o];
}

VEC_INLINE void one_row(struct weight_type type, float *y, const void *w, size_t n_in, size_t n_out,
                        const float *bias, const float *x)
{
    for (size_t from = 0; from < n_out; from += 4) {
        size_t n = n_out - from < 4 ? n_out - from : 4;
        vec sums[4] = {vec_zero(), vec_zero(), vec_zero(), vec_zero()};
        for (size_t o = 0; o < n; o++)
            sums[o] = row_sum(type, (const char *)w + (from + o) * bytes_of(type, n_in), x, n_in);
        store_sums(y + from, bias ? bias + from : NULL, vec_sum4(sums[0], sums[1], sums[2], sums[3]), n);
    }
}

/* ---- Several rows ---- */

/* Sums of a tile's rows and outputs, lane by lane. */
struct tile_sums {
    float of[TILE_ROW][TILE_OUT][LANES];
};

struct group {
    struct tile_sums sums[GROUP_ROW / TILE_ROW][GROUP_OUT / TILE_OUT] __attribute__((aligned(64)));
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What a tile reads: rows of weights and of activations, and what to fetch meanwhile for a later tile. */
struct tile {
    const char *w[TILE_OUT];
    const float *x;
    size_t x_stride;
    size_t tile_bytes; /* from these weights to those of the next tile; 0 where they have been read before */
    const float *next_x;
};

/* acc[r][o] += w[o] * x[r], over LANES elements from i, or n of them. */
VEC_INLINE void tile_step(struct weight_type type, vec acc[TILE_ROW][TILE_OUT], const struct tile *t,
                          size_t i, size_t n, size_t n_row)
{
    vec wide[TILE_OUT];
#pragma GCC unroll 8
    for (size_t o = 0; o < TILE_OUT; o++)
        wide[o] = n == LANES ? type.load(t->w[o], i) : type.load_part(t->w[o], i, n);
#pragma GCC unroll 8
    for (size_t r = 0; r < n_row; r++) {
        const float *x = t->x + r * t->x_stride + i;
        vec in = n == LANES ? vec_load(x) : vec_load_part(x, n);
#pragma GCC unroll 8
        for (size_t o = 0; o < TILE_OUT; o++)
            acc[r][o] = vec_fma(wide[o], in, acc[r][o]);
    }
}

/* Adds the block [from, end) to the sums. n_row is a constant. */
VEC_INLINE void tile_block(struct weight_type type, struct tile_sums *sums, const struct tile *t, size_t from,
                           size_t end, size_t n_row)
{
    vec acc[TILE_ROW][TILE_OUT];
#pragma GCC unroll 8
    for (size_t r = 0; r < n_row; r++)
#pragma GCC unroll 8
        for (size_t o = 0; o < TILE_OUT; o++)
            acc[r][o] = vec_zero();
    size_t i = from;
    for (; i + LANES <= end; i += LANES) {
#pragma GCC unroll 8
        for (size_t o = 0; o < TILE_OUT; o++)
            __builtin_prefetch(t->w[o] + bytes_of(type, i) + t->tile_bytes, 0, 2);
        __builtin_prefetch(t->next_x + i, 0, 2);
        tile_step(type, acc, t, i, LANES, n_row);
    }
    if (i < end)
        tile_step(type, acc, t, i, end - i, n_row);
#pragma GCC unroll 8
    for (size_t r = 0; r < n_row; r++)
#pragma GCC unroll 8
        for (size_t o = 0; o < TILE_OUT; o++)
            vec_store(sums->of[r][o], vec_add(vec_load(sums->of[r][o]), acc[r][o]));
}

VEC_INLINE void tile_rows(struct weight_type type, struct tile_sums *sums, const struct tile *t, size_t from,
                          size_t end, size_t n_row)
{
    for (size_t i = from; i < end; i += LK_BLOCK)
        tile_block(type, sums, t, i, min_size(i + LK_BLOCK, end), n_row);
}

/* Adds the elements [from, end) to the sums. */
VEC_INLINE void tile_span(struct weight_type type, struct tile_sums *sums, const struct tile *t, size_t from,
                          size_t end, size_t n_row)
{
    switch (n_row) {
    case 1:
        tile_rows(type, sums, t, from, end, 1);
        break;
    case 2:
        tile_rows(type, sums, t, from, end, 2);
        break;
    case 3:
        tile_rows(type, sums, t, from, end, 3);
        break;
    case 4:
        tile_rows(type, sums, t, from, end, 4);
        break;
    case 5:
        tile_rows(type, sums, t, from, end, 5);
        break;
    default:
        tile_rows(type, sums, t, from, end, TILE_ROW);
    }
}

/* Operands of a group's products. */
struct operands {
    const char *w;
    const float *x;
    size_t row_bytes, x_stride, n_out, n_row;
};

/* The tile from this row and output on. Outputs that are missing repeat the last one. The first tiles of
 * outputs fetch one of the next rows each, for processors do not guess them: they are far apart. */
VEC_INLINE struct tile tile_at(const struct operands *a, size_t row, size_t out)
{
    struct tile t = {.x = a->x + row * a->x_stride, .x_stride = a->x_stride};
    for (size_t o = 0; o < TILE_OUT; o++)
        t.w[o] = a->w + min_size(out + o, a->n_out - 1) * a->row_bytes;
    size_t next = row + TILE_ROW + out / TILE_OUT;
    t.next_x = out / TILE_OUT < TILE_ROW && next < a->n_row ? a->x + next * a->x_stride : t.x;
    t.tile_bytes = row ? 0 : TILE_OUT * a->row_bytes;
    return t;
}

static void store_group(float *y, size_t y_stride, const struct group *g, const float *bias, size_t n_out,
                        size_t n_row)
{
    for (size_t r = 0; r < n_row; r++)
        for (size_t o = 0; o < n_out; o += 4) {
            vec sums[4];
            for (size_t i = 0; i < 4; i++)
                sums[i] =
                    vec_load(g->sums[r / TILE_ROW][(o + i) / TILE_OUT].of[r % TILE_ROW][(o + i) % TILE_OUT]);
            store_sums(y + r * y_stride + o, bias ? bias + o : NULL,
                       vec_sum4(sums[0], sums[1], sums[2], sums[3]), min_size(4, n_out - o));
        }
}

/* Sums of a group. One tile of rows needs no spans: it reads whole rows of weights. */
VEC_INLINE void group_sums(struct weight_type type, struct group *g, const struct operands *a, size_t n_in)
{
    size_t span = a->n_row <= TILE_ROW ? n_in : SPAN_IN;
    memset(g->sums, 0, (a->n_row + TILE_ROW - 1) / TILE_ROW * sizeof *g->sums);
    for (size_t from = 0; from < n_in; from += span)
        for (size_t r = 0; r < a->n_row; r += TILE_ROW)
            for (size_t o = 0; o < a->n_out; o += TILE_OUT) {
                struct tile t = tile_at(a, r, o);
                tile_span(type, &g->sums[r / TILE_ROW][o / TILE_OUT], &t, from, min_size(from + span, n_in),
                          min_size(TILE_ROW, a->n_row - r));
            }
}

VEC_INLINE void matmul(struct weight_type type, float *y, size_t y_stride, const void *w, size_t n_in,
                       size_t n_out, const float *bias, const float *x, size_t x_stride, size_t n_row)
{
    if (n_row == 1) {
        one_row(type, y, w, n_in, n_out, bias, x);
        return;
    }
    struct group g;
    for (size_t o = 0; o < n_out; o += GROUP_OUT)
        for (size_t r = 0; r < n_row; r += GROUP_ROW) {
            struct operands a = {
                .w = (const char *)w + o * bytes_of(type, n_in),
                .x = x + r * x_stride,
                .row_bytes = bytes_of(type, n_in),
                .x_stride = x_stride,
                .n_out = min_size(GROUP_OUT, n_out - o),
                .n_row = min_size(GROUP_ROW, n_row - r),
            };
            group_sums(type, &g, &a, n_in);
            store_group(y + r * y_stride + o, y_stride, &g, bias ? bias + o : NULL, a.n_out, a.n_row);
        }
}

#define MATMUL(type)                                                                \
    LK_MATMUL_FN(LK_ISA(lk_matmul_##type))                                          \
    {                                                                               \
        matmul(type_##type, y, y_stride, w, n_in, n_out, bias, x, x_stride, n_row); \
    }
MATMUL(f32)
MATMUL(f16)
MATMUL(bf16)
MATMUL(mxfp4)

/* ---- Widening ---- */

VEC_INLINE void widen(struct weight_type type, float *y, const void *x, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, type.load(x, i));
    if (i < n)
        vec_store_part(y + i, type.load_part(x, i, n - i), n - i);
}

LK_WIDEN_FN(LK_ISA(lk_widen_f16))
{
    widen(type_f16, y, x, n);
}

LK_WIDEN_FN(LK_ISA(lk_widen_bf16))
{
    widen(type_bf16, y, x, n);
}

LK_WIDEN_FN(LK_ISA(lk_widen_mxfp4))
{
    widen(type_mxfp4, y, x, n);
}
