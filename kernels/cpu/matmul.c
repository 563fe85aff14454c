/* Matrix products and widening, in C. */
#include "config.h"

#include "kernels/lk.h"

#include "kernels/cpu/families.h"

static void widen_f32_c(float *y, const void *x, size_t n)
{
    memcpy(y, x, n * sizeof *y);
}

static void widen_f16_c(float *y, const void *x, size_t n)
{
    const uint16_t *h = x;
    for (size_t i = 0; i < n; i++)
        y[i] = lk_f32_from_f16(h[i]);
}

static void widen_bf16_c(float *y, const void *x, size_t n)
{
    const uint16_t *h = x;
    for (size_t i = 0; i < n; i++)
        y[i] = lk_f32_from_bf16(h[i]);
}

static void widen_mxfp4_c(float *y, const void *x, size_t n)
{
    static const float magnitude[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const struct lk_mxfp4 *block = x;
    for (size_t i = 0; i < n; i++) {
        const struct lk_mxfp4 *b = &block[i / LK_MXFP4_BLOCK];
        size_t at = i % LK_MXFP4_BLOCK;
        unsigned half = at < sizeof b->q ? b->q[at] & 15u : b->q[at - sizeof b->q] >> 4;
        float scaled = magnitude[half & 7] * lk_f32_from_e8m0(b->scale);
        y[i] = half & 8 ? -scaled : scaled;
    }
}

/* A product of two float32 is exact in double, so each sum is rounded n times there and once on the way out.
 * The weights of an output are widened a block at a time, for all rows that are at hand. */
enum { ROWS_AT_ONCE = 64 };

static void matmul_rows(float *y, size_t y_stride, const void *w, enum lk_dtype type, lk_widen_fn widen,
                        size_t n_in, size_t n_out, const float *bias, const float *x, size_t x_stride,
                        size_t n_row)
{
    for (size_t o = 0; o < n_out; o++) {
        const char *row = (const char *)w + o * lk_dtype_bytes(type, n_in);
        double sum[ROWS_AT_ONCE] = {0};
        for (size_t from = 0; from < n_in; from += LK_BLOCK) {
            size_t n = n_in - from < LK_BLOCK ? n_in - from : LK_BLOCK;
            float wide[LK_BLOCK];
            widen(wide, row + lk_dtype_bytes(type, from), n);
            for (size_t r = 0; r < n_row; r++)
                for (size_t i = 0; i < n; i++)
                    sum[r] += (double)wide[i] * (double)x[r * x_stride + from + i];
        }
        for (size_t r = 0; r < n_row; r++)
            y[r * y_stride + o] = (float)(bias ? sum[r] + (double)bias[o] : sum[r]);
    }
}

static void matmul_any(float *y, size_t y_stride, const void *w, enum lk_dtype type, lk_widen_fn widen,
                       size_t n_in, size_t n_out, const float *bias, const float *x, size_t x_stride,
                       size_t n_row)
{
    for (size_t r = 0; r < n_row; r += ROWS_AT_ONCE)
        matmul_rows(y + r * y_stride, y_stride, w, type, widen, n_in, n_out, bias, x + r * x_stride, x_stride,
                    n_row - r < ROWS_AT_ONCE ? n_row - r : ROWS_AT_ONCE);
}

static LK_MATMUL_FN(matmul_f32_c)
{
    matmul_any(y, y_stride, w, LK_F32, widen_f32_c, n_in, n_out, bias, x, x_stride, n_row);
}

static LK_MATMUL_FN(matmul_f16_c)
{
    matmul_any(y, y_stride, w, LK_F16, widen_f16_c, n_in, n_out, bias, x, x_stride, n_row);
}

static LK_MATMUL_FN(matmul_bf16_c)
{
    matmul_any(y, y_stride, w, LK_BF16, widen_bf16_c, n_in, n_out, bias, x, x_stride, n_row);
}

static LK_MATMUL_FN(matmul_mxfp4_c)
{
    matmul_any(y, y_stride, w, LK_MXFP4, widen_mxfp4_c, n_in, n_out, bias, x, x_stride, n_row);
}

void lk_matmul_init(struct lk_cpu *cpu)
{
    cpu->matmul[LK_F32] = matmul_f32_c;
    cpu->matmul[LK_F16] = matmul_f16_c;
    cpu->matmul[LK_BF16] = matmul_bf16_c;
    cpu->matmul[LK_MXFP4] = matmul_mxfp4_c;
    cpu->widen[LK_F32] = widen_f32_c;
    cpu->widen[LK_F16] = widen_f16_c;
    cpu->widen[LK_BF16] = widen_bf16_c;
    cpu->widen[LK_MXFP4] = widen_mxfp4_c;
}
