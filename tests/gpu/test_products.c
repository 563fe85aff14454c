/* Matrix products: one row on ordinary cores, 2 to 16 on tensor cores. */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/cuda/cublas.h"
#include "kernels/quant.h"
#include "tests/gpu/rig_cuda.h"

/* One product: what the definition says, and how far a sum in another order may be from it. */
struct product {
    int n_row, n_in, n_out;
    float *x, *want; /* [n_row][n_in], [n_row][n_out] */
    double *ref, *bound;
};

static void product_init(struct product *p, struct check_rng *rng, int n_row, int n_in, int n_out,
                         enum check_kind kind)
{
    const size_t n = (size_t)n_row * (size_t)n_out;
    *p = (struct product){.n_row = n_row, .n_in = n_in, .n_out = n_out};
    p->x = rig_floats(rng, (size_t)n_row * (size_t)n_in, kind);
    p->want = check_allocate(n, sizeof *p->want);
    p->ref = check_allocate(n, sizeof *p->ref);
    p->bound = check_allocate(n, sizeof *p->bound);
}

static void product_deinit(struct product *p)
{
    free(p->x), free(p->want), free(p->ref), free(p->bound);
}

/* The definition on float32 weights w (widened), and the bound: `chain` roundings of the sum of magnitudes,
 * besides `per_element` (may be NULL) for what the activation of each column may have lost. */
static void product_expect(struct product *p, const float *w, double chain, const float *lost)
{
    const size_t n_in = (size_t)p->n_in, n_out = (size_t)p->n_out;
    rig_c.matmul[LK_F32](p->want, n_out, w, n_in, n_out, NULL, p->x, n_in, (size_t)p->n_row);
    for (size_t r = 0; r < (size_t)p->n_row; r++)
        for (size_t o = 0; o < n_out; o++) {
            double size = 0, loss = 0;
            for (size_t i = 0; i < n_in; i++) {
                const double wi = fabs((double)w[o * n_in + i]);
                size += wi * fabs((double)p->x[r * n_in + i]);
                loss += lost ? wi * (double)lost[r * n_in + i] : 0;
            }
            p->ref[r * n_out + o] = (double)p->want[r * n_out + o];
            p->bound[r * n_out + o] = chain * FLT_EPSILON * (size + loss) + loss + 1e-37;
        }
}

static bool product_check(const struct product *p, CUdeviceptr y)
{
    const size_t n = (size_t)p->n_row * (size_t)p->n_out;
    float *got = rig_get(y, n * sizeof *got);
    bool ok = rig_close_to(got, p->ref, p->bound, n);
    free(got);
    return ok;
}

/* A lane's chain and the tree over lanes. */
static double matvec_chain(int n_in)
{
    return n_in / 32.0 + 16;
}

static struct context_launch matvec_launch(const struct product *p, unsigned n_thread)
{
    const unsigned per_block = n_thread / 32;
    return (struct context_launch){
        .grid = {((unsigned)p->n_out + per_block - 1) / per_block, (unsigned)p->n_row}, .block = {n_thread}};
}

static bool plain_case(const char *name, enum lk_dtype type, int n_row, int n_in, int n_out,
                       unsigned n_thread)
{
    struct check_rng rng = check_rng_for((uint64_t)(n_in * 3 + n_out));
    const size_t n = (size_t)n_in * (size_t)n_out;
    bool ok = true;
    for (int kind = 0; kind < CHECK_N_KIND; kind++) {
        struct product p;
        product_init(&p, &rng, n_row, n_in, n_out, (enum check_kind)kind);
        float *w = rig_floats(&rng, n, CHECK_PLAIN);
        void *stored = check_allocate(n, 4);
        check_store(stored, type, w, n, NULL);
        rig_c.widen[type](w, stored, n);
        product_expect(&p, w, matvec_chain(n_in), NULL);
        CUdeviceptr dw = rig_put(stored, lk_dtype_bytes(type, n)),
                    dx = rig_put(p.x, (size_t)(n_row * n_in) * 4);
        CUdeviceptr dy = rig_new((size_t)(n_row * n_out) * 4);
        struct context_launch launch = matvec_launch(&p, n_thread);
        check_case("%s: %d rows, %d x %d, %u threads, kind %d", name, n_row, n_out, n_in, n_thread, kind);
        rig_run(name, &launch, (void *[]){&dy, &dw, &dx, &n_out, &n_in});
        ok = product_check(&p, dy) && ok;
        product_deinit(&p);
        free(w), free(stored);
        rig_end();
    }
    return ok;
}

/* A float16 of any sign, up to 2. */
static uint16_t random_scale(struct check_rng *rng)
{
    return (uint16_t)(check_u64(rng) % 0x4000 | (check_u64(rng) & 0x8000));
}

static void random_q8_0(struct check_rng *rng, struct quant_q8_0 *blocks, size_t n_block)
{
    for (size_t b = 0; b < n_block; b++) {
        blocks[b].scale = random_scale(rng);
        for (int i = 0; i < QUANT_BLOCK; i++)
            blocks[b].q[i] = (int8_t)check_u64(rng);
    }
}

static void random_q4_0(struct check_rng *rng, struct quant_q4_0 *blocks, size_t n_block)
{
    for (size_t b = 0; b < n_block; b++) {
        blocks[b].scale = random_scale(rng);
        for (int i = 0; i < QUANT_BLOCK / 2; i++)
            blocks[b].q[i] = (uint8_t)check_u64(rng);
    }
}

/* What rounding an activation to a 127th of its block's greatest may lose: half a step, and the rounding of
 * the step. */
static void quantization_loss(float *lost, const float *x, size_t n)
{
    for (size_t b = 0; b < n; b += QUANT_BLOCK) {
        float greatest = 0;
        for (size_t i = b; i < b + QUANT_BLOCK; i++)
            greatest = fmaxf(greatest, fabsf(x[i]));
        for (size_t i = b; i < b + QUANT_BLOCK; i++)
            lost[i] = greatest / 127 * (0.5f + 128 * FLT_EPSILON) + 1e-37f;
    }
}

static bool quantized_case(bool q8, int n_row, int n_in, int n_out, unsigned n_thread)
{
    const char *name = q8 ? "matvec_q8_0" : "matvec_q4_0";
    struct check_rng rng = check_rng_for((uint64_t)(n_in * 5 + n_out + q8));
    const size_t n = (size_t)n_in * (size_t)n_out, n_block = n / QUANT_BLOCK,
                 n_x = (size_t)n_row * (size_t)n_in;
    const size_t value_bytes = q8 ? n : n / 2;
    bool ok = true;
    for (int kind = 0; kind < CHECK_N_KIND; kind++) {
        struct product p;
        product_init(&p, &rng, n_row, n_in, n_out, (enum check_kind)kind);
        void *blocks = check_allocate(n_block, q8 ? sizeof(struct quant_q8_0) : sizeof(struct quant_q4_0));
        float *w = check_allocate(n, sizeof *w), *lost = check_allocate(n_x, sizeof *lost);
        void *values = check_allocate(value_bytes, 1);
        uint16_t *scales = check_allocate(n_block, sizeof *scales);
        if (q8) {
            random_q8_0(&rng, blocks, n_block);
            quant_widen_q8_0(w, blocks, n);
            quant_split_q8_0(values, scales, blocks, n);
        } else {
            random_q4_0(&rng, blocks, n_block);
            quant_widen_q4_0(w, blocks, n);
            quant_split_q4_0(values, scales, blocks, n);
        }
        quantization_loss(lost, p.x, n_x);
        /* Subtracting the eights cancels: what is summed is up to 15 steps where a weight has at most 8. */
        product_expect(&p, w, matvec_chain(n_in) * (q8 ? 1 : 4) + (q8 ? 0 : 64), lost);
        CUdeviceptr dw = rig_put(values, value_bytes), dd = rig_put(scales, n_block * 2),
                    dx = rig_put(p.x, n_x * 4);
        CUdeviceptr xq = rig_new(n_x), xs = rig_new(n_x / QUANT_BLOCK * 8),
                    dy = rig_new((size_t)(n_row * n_out) * 4);
        int n_all = (int)n_x;
        check_case("%s: %d rows, %d x %d, %u threads, kind %d", name, n_row, n_out, n_in, n_thread, kind);
        rig_run("quantize_rows",
                &(struct context_launch){.grid = {(unsigned)(n_x + 127) / 128}, .block = {128}},
                (void *[]){&xq, &xs, &dx, &n_all});
        struct context_launch launch = matvec_launch(&p, n_thread);
        rig_run(name, &launch, (void *[]){&dy, &dw, &dd, &xq, &xs, &n_out, &n_in});
        ok = product_check(&p, dy) && ok;
        product_deinit(&p);
        free(blocks), free(w), free(lost), free(values), free(scales);
        rig_end();
    }
    return ok;
}

/* Without rounding of activations: integers that fit a byte go through exactly. */
static bool quantized_exact_case(bool q8)
{
    enum { N_IN = 256, N_OUT = 9 };
    struct check_rng rng = check_rng_for(q8);
    struct quant_q8_0 b8[N_IN * N_OUT / QUANT_BLOCK];
    struct quant_q4_0 b4[N_IN * N_OUT / QUANT_BLOCK];
    float *w = check_allocate(N_IN * N_OUT, sizeof *w), x[N_IN], want[N_OUT];
    int8_t values[N_IN * N_OUT];
    uint16_t scales[N_IN * N_OUT / QUANT_BLOCK];
    int n_in = N_IN, n_out = N_OUT;
    random_q8_0(&rng, b8, N_IN * N_OUT / QUANT_BLOCK);
    random_q4_0(&rng, b4, N_IN * N_OUT / QUANT_BLOCK);
    for (int i = 0; i < N_IN * N_OUT / QUANT_BLOCK; i++)
        b8[i].scale = b4[i].scale = 0x3c00; /* 1 */
    for (int i = 0; i < N_IN; i++)
        x[i] = i % QUANT_BLOCK ? (float)check_range(&rng, -127, 127) : 127;
    if (q8)
        quant_widen_q8_0(w, b8, N_IN * N_OUT), quant_split_q8_0(values, scales, b8, N_IN * N_OUT);
    else
        quant_widen_q4_0(w, b4, N_IN * N_OUT), quant_split_q4_0((uint8_t *)values, scales, b4, N_IN * N_OUT);
    rig_c.matmul[LK_F32](want, N_OUT, w, N_IN, N_OUT, NULL, x, N_IN, 1);
    CUdeviceptr dw = rig_put(values, sizeof values), dd = rig_put(scales, sizeof scales),
                dx = rig_put(x, sizeof x);
    CUdeviceptr xq = rig_new(N_IN), xs = rig_new(N_IN / QUANT_BLOCK * 8), dy = rig_new(sizeof want);
    check_case("whole numbers, %s", q8 ? "Q8_0" : "Q4_0");
    rig_run("quantize_rows", &(struct context_launch){.grid = {2}, .block = {128}},
            (void *[]){&xq, &xs, &dx, &n_in});
    rig_run(q8 ? "matvec_q8_0" : "matvec_q4_0", &(struct context_launch){.grid = {3}, .block = {96}},
            (void *[]){&dy, &dw, &dd, &xq, &xs, &n_out, &n_in});
    float *got = rig_get(dy, sizeof want);
    bool ok = check_same(want, got, N_OUT, "the product");
    free(w), free(got);
    rig_end();
    return ok;
}

static bool gemm_case(bool bf16, int n_row, int n_in, int n_out)
{
    const char *name = bf16 ? "gemm_bf16" : "gemm_f16";
    const enum lk_dtype type = bf16 ? LK_BF16 : LK_F16;
    struct check_rng rng = check_rng_for((uint64_t)(n_in * 7 + n_out + n_row));
    const size_t n = (size_t)n_in * (size_t)n_out, n_x = (size_t)n_row * (size_t)n_in;
    struct product p;
    product_init(&p, &rng, n_row, n_in, n_out, CHECK_PLAIN);
    float *w = rig_floats(&rng, n, CHECK_PLAIN), *lost = check_allocate(n_x, sizeof *lost);
    uint16_t *stored = check_allocate(n, sizeof *stored);
    int n_all = (int)n_x;
    check_store(stored, type, w, n, NULL);
    rig_c.widen[type](w, stored, n);
    /* Activations are rounded to the type: half of its last bit. */
    for (size_t i = 0; i < n_x; i++)
        lost[i] = fabsf(p.x[i]) / (bf16 ? 256 : 2048) + 1e-7f;
    product_expect(&p, w, n_in / 8.0 + 16, lost);
    CUdeviceptr dw = rig_put(stored, n * 2), dx = rig_put(p.x, n_x * 4), xn = rig_new(n_x * 2);
    CUdeviceptr dy = rig_new((size_t)(n_row * n_out) * 4);
    check_case("%s: %d rows, %d x %d", name, n_row, n_out, n_in);
    rig_run(bf16 ? "narrow_bf16" : "narrow_f16",
            &(struct context_launch){.grid = {(unsigned)(n_x + 127) / 128}, .block = {128}},
            (void *[]){&xn, &dx, &n_all});
    rig_run(name,
            &(struct context_launch){
                .grid = {(unsigned)(n_out + 63) / 64}, .block = {128}, .shared_bytes = 4 * 4608},
            (void *[]){&dy, &dw, &xn, &n_row, &n_in, &n_out});
    bool ok = product_check(&p, dy);
    product_deinit(&p);
    free(w), free(lost), free(stored);
    rig_end();
    return ok;
}

/* The library's product: right, or the reason why there is none. */
static bool library_case(bool bf16, char why[DRIVER_WHY])
{
    enum { N_ROW = 20, N_IN = 64, N_OUT = 24 };
    const enum lk_dtype type = bf16 ? LK_BF16 : LK_F16;
    struct check_rng rng = check_rng_for(bf16);
    struct cublas blas = CUBLAS_NULL;
    struct product p;
    uint16_t w_bits[N_OUT * N_IN], x_bits[N_ROW * N_IN];
    product_init(&p, &rng, N_ROW, N_IN, N_OUT, CHECK_PLAIN);
    float *w = rig_floats(&rng, N_OUT * N_IN, CHECK_PLAIN);
    check_store(w_bits, type, w, N_OUT * N_IN, NULL);
    check_store(x_bits, type, p.x, N_ROW * N_IN, NULL);
    rig_c.widen[type](w, w_bits, N_OUT * N_IN);
    rig_c.widen[type](p.x, x_bits, N_ROW * N_IN);
    product_expect(&p, w, N_IN, NULL);
    CUdeviceptr dw = rig_put(w_bits, sizeof w_bits), dx = rig_put(x_bits, sizeof x_bits);
    CUdeviceptr dy = rig_new(N_ROW * N_OUT * sizeof(float));
    int r = cublas_matmul(&blas, rig_context(), dy, dw, dx, type, N_ROW, N_IN, N_OUT, why);
    bool ok = r == LK_E_NO_DEVICE || (r == 0 && product_check(&p, dy)) || check_wrong("%s", why);
    cublas_close(&blas, rig_context());
    product_deinit(&p);
    free(w);
    rig_end();
    return ok;
}

void test_products(void)
{
    static const struct {
        const char *name;
        enum lk_dtype type;
    } plain[] = {{"matvec_f32", LK_F32}, {"matvec_f16", LK_F16}, {"matvec_bf16", LK_BF16}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        check_point(plain_case(plain[i].name, plain[i].type, 1, 8, 5, 32) &&
                        plain_case(plain[i].name, plain[i].type, 1, 1032, 37, 128) &&
                        plain_case(plain[i].name, plain[i].type, 2, 2048, 9, 256),
                    "%s", plain[i].name);
    for (int q8 = 1; q8 >= 0; q8--) {
        check_point(quantized_case(q8, 1, 32, 5, 32) && quantized_case(q8, 1, 1056, 37, 128) &&
                        quantized_case(q8, 2, 4096, 6, 256),
                    "quantize_rows and matvec_%s", q8 ? "q8_0" : "q4_0");
        check_point(quantized_exact_case(q8), "matvec_%s of whole numbers is exact", q8 ? "q8_0" : "q4_0");
    }
    for (int bf16 = 0; bf16 < 2; bf16++) {
        bool ok = true;
        for (int n_row = 2; n_row <= 16; n_row += rig_quick ? 7 : 1)
            ok = gemm_case(bf16, n_row, 128, 40) && ok;
        check_point(ok && gemm_case(bf16, 8, 64, 16) && gemm_case(bf16, 5, 512, 150),
                    "narrow and gemm_%s, 2 to 16 rows", bf16 ? "bf16" : "f16");
    }
    char why[DRIVER_WHY] = "";
    bool ok = library_case(false, why) && library_case(true, why);
    check_point(ok, ok && *why ? "cuBLAS # SKIP %s" : "cuBLAS%s", ok ? why : "");
}
