/* The CPU back end but for attention (test_attend.c): memory, each operation, fused against plain, abort. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/backend_cpu.h"
#include "tests/kernels/rig.h"

static const int32_t n_threads[] = {1, 2, 3, 4};

enum { N_THREADS = sizeof n_threads / sizeof *n_threads };

static void test_open(void)
{
    struct lk_options options = {.n_thread = 1, .max_row = 1};
    struct lk_backend *be = NULL;
    char why[256] = "";
    check_point(lk_open("abacus", &options, &be, why) == LK_E_NO_DEVICE && strstr(why, "abacus"),
                "an unknown device is refused by name");
    options.level = "mmx";
    check_point(lk_open("cpu", &options, &be, why) == LK_E_NO_DEVICE && strstr(why, "mmx"),
                "an unknown level is refused by name");
    options.level = "c";
    options.n_thread = 0;
    bool refused = lk_open("cpu", &options, &be, why) == -EINVAL;
    options.n_thread = LK_MAX_THREAD + 1;
    refused = refused && lk_open("cpu", &options, &be, why) == -EINVAL;
    options.n_thread = 1;
    options.max_row = 0;
    refused = refused && lk_open("cpu", &options, &be, why) == -EINVAL;
    check_point(refused && !be, "numbers out of range are refused");
    options.max_row = 1;
    bool opened = lk_open("cpu", &options, &be, why) == 0;
    check_point(opened && !strcmp(be->level, "c") && !strcmp(be->ops->name, "cpu"),
                "level c can be asked for");
    if (opened)
        be->ops->close(be);
}

static bool is_zero(const unsigned char *mem, size_t n)
{
    return n == 0 || (mem[0] == 0 && !memcmp(mem, mem + 1, n - 1));
}

static void test_memory(void)
{
    struct rig rig;
    rig_open(&rig, 2, 4, NULL);
    const struct lk_ops *ops = rig.be->ops;
    void *mem = NULL;
    bool ok = ops->alloc(rig.be, 123457, &mem) == 0 && (uintptr_t)mem % 64 == 0 && is_zero(mem, 123457);
    check_point(ok, "memory is aligned and zeroed");
    char back[6] = "";
    const void *weights = NULL;
    ops->upload(rig.be, mem, "token", 6);
    ops->download(rig.be, back, mem, 6);
    check_point(!strcmp(back, "token") && ops->weights(rig.be, back, 6, &weights) == 0 && weights == back,
                "bytes go in and out; weights are used where they are");
    ops->free(rig.be, mem, 123457);
    void *none = NULL;
    check_point(ops->alloc(rig.be, (size_t)1 << 60, &none) == LK_E_NO_MEMORY && !none &&
                    strstr(rig.be->why, "1152921504606846976"),
                "too much memory is refused with the number");
    struct lk_kv_shape shape = {.n_layer = 2, .n_kv_head = 3, .head_dim = 16, .n_page = 5};
    size_t least = (size_t)2 * 3 * 16 * 5 * LK_KV_PAGE * 2 * sizeof(float);
    check_point(ops->kv_bytes(&shape) >= least && ops->kv_bytes(&shape) < 2 * least, "the KV pool's size");
    const int32_t window[] = {0, 100};
    struct lk_kv_shape mixed = shape;
    mixed.window = window;
    mixed.n_window_page = 2;
    check_point(ops->kv_bytes(&shape) - ops->kv_bytes(&mixed) == least / 10 * 3,
                "layers with a window take as much as their pages");
    struct lk_kv_shape huge = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, NULL, 0},
                       empty = {1, 1, 0, 1, NULL, 0};
    check_point(ops->kv_bytes(&huge) == SIZE_MAX && ops->kv_create(rig.be, &huge) == -EINVAL &&
                    ops->kv_create(rig.be, &empty) == -EINVAL,
                "a KV shape that cannot be counted is refused");
    struct lk_kv_shape large = {1024, 1024, 1024, 1024, NULL, 0};
    check_point(ops->kv_create(rig.be, &large) == LK_E_NO_MEMORY && ops->kv_create(rig.be, &shape) == 0 &&
                    ops->kv_create(rig.be, &shape) == -EINVAL,
                "one KV pool, if there is memory for it");
    rig_close(&rig);
}

/* ---- Simple operations against their definitions ---- */

static bool all_close(const float *got, const double *want, double bound, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!check_close(got[i], want[i], bound, i))
            return check_wrong("%s", what);
    return true;
}

static bool embed_is_right(struct rig *rig, enum lk_dtype type)
{
    enum { DIM = 37, VOCAB = 50, ROWS = 11 };
    double value[VOCAB * DIM], want[ROWS * DIM];
    struct lk_mat table = rig_matrix(rig, type, VOCAB, DIM, value);
    int32_t token[ROWS];
    for (int r = 0; r < ROWS; r++)
        token[r] = check_range(&rig->rng, 0, VOCAB - 1);
    for (int i = 0; i < ROWS * DIM; i++)
        want[i] = value[token[i / DIM] * DIM + i % DIM];
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(rig, &batch, &span, token, ROWS, 0);
    float *y = rig_floats(rig, ROWS * DIM);
    rig->be->ops->embed(rig->be, y, &table);
    return rig->be->ops->run(rig->be, NULL) == 0 && all_close(y, want, 0, ROWS * DIM, lk_dtype_name(type));
}

static bool rows_are_right(struct rig *rig, int32_t n_row, int32_t n)
{
    const struct lk_ops *ops = rig->be->ops;
    size_t all = (size_t)n_row * (size_t)n;
    float *x = rig_random(rig, all), *y = rig_floats(rig, all), *w = rig_random(rig, (size_t)n);
    float *sum = rig_random(rig, all), *norm = rig_floats(rig, all), *act = rig_floats(rig, all);
    double *want = check_allocate(4 * all, sizeof *want);
    int32_t *rows = check_allocate((size_t)n_row, sizeof *rows);
    for (int32_t r = 0; r < n_row; r++)
        rows[r] = check_range(&rig->rng, 0, n_row - 1);
    for (size_t i = 0; i < all; i++) {
        size_t r = i / (size_t)n, at = i % (size_t)n;
        double square = 0, v = (double)x[i];
        for (size_t k = 0; k < (size_t)n; k++)
            square += (double)x[r * (size_t)n + k] * (double)x[r * (size_t)n + k];
        want[i] = (double)(x[(size_t)rows[r] * (size_t)n + at] * 0.3f);
        want[all + i] = (double)(sum[i] + x[i]);
        want[2 * all + i] = v / sqrt(square / n + (double)1e-5f) * (double)w[at];
        want[3 * all + i] = v / (1 + exp(-v)) * (double)want[all + i];
    }
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(rig, &batch, &span, NULL, n_row, 0);
    ops->gather(rig->be, y, x, rows, n_row, n);
    ops->scale(rig->be, y, all, 0.3f);
    ops->add(rig->be, sum, x, all);
    ops->rmsnorm(rig->be, norm, x, w, n_row, n, 1e-5f);
    ops->act_mul(rig->be, act, x, sum, all, LK_ACT_SILU);
    bool ok = ops->run(rig->be, NULL) == 0 && all_close(y, want, 0, all, "gather, scale") &&
              all_close(sum, want + all, 0, all, "add") &&
              all_close(norm, want + 2 * all, 2e-5, all, "rmsnorm") &&
              all_close(act, want + 3 * all, 1e-6, all, "act_mul");
    free(want);
    free(rows);
    return ok;
}

/* Two norms of every second stretch of n floats, activations without a partner, and a soft cap. */
static bool other_rows_are_right(struct rig *rig, int32_t n_row, int32_t n)
{
    const struct lk_ops *ops = rig->be->ops;
    size_t all = (size_t)n_row * (size_t)n * 2;
    float *x = rig_random(rig, all), *y = rig_floats(rig, all), *w = rig_random(rig, (size_t)n),
          *b = rig_random(rig, (size_t)n), *act = rig_floats(rig, all), *cap = rig_floats(rig, all);
    double *want = check_allocate(3 * all, sizeof *want);
    memcpy(cap, x, all * sizeof *x);
    for (size_t i = 0; i < all; i++) {
        size_t row = i / (size_t)n, at = i % (size_t)n;
        double mean = 0, square = 0, v = (double)x[i];
        for (size_t k = 0; k < (size_t)n; k++)
            mean += (double)x[row * (size_t)n + k] / n;
        for (size_t k = 0; k < (size_t)n; k++)
            square += ((double)x[row * (size_t)n + k] - mean) * ((double)x[row * (size_t)n + k] - mean);
        want[i] = row % 2 ? 0 : (v - mean) / sqrt(square / n + (double)1e-5f) * (double)w[at] + (double)b[at];
        want[all + i] = v * 0.5 * erfc(-v * sqrt(0.5));
        want[2 * all + i] = 0.5 * tanh(v / 0.5);
    }
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(rig, &batch, &span, NULL, n_row, 0);
    ops->layernorm(rig->be, y, x, w, b, n_row, n, 2 * n, 1e-5f);
    ops->act_mul(rig->be, act, x, NULL, all, LK_ACT_GELU);
    ops->soft_cap(rig->be, cap, all, 0.5f);
    bool ok = ops->run(rig->be, NULL) == 0 && all_close(y, want, 2e-6, all, "layernorm") &&
              all_close(act, want + all, 1e-6, all, "act_mul alone") &&
              all_close(cap, want + 2 * all, 1e-6, all, "soft_cap");
    free(want);
    return ok;
}

/* Numbered elements go where the definition says. */
static bool split_is_right(struct rig *rig)
{
    enum { ROWS = 3, KV = 2, SHARE = 3, DIM = 5, GROUP = (SHARE + 2) * DIM };
    float *x = rig_floats(rig, ROWS * KV * GROUP), *q = rig_floats(rig, ROWS * KV * SHARE * DIM),
          *k = rig_floats(rig, ROWS * KV * DIM), *v = rig_floats(rig, ROWS * KV * DIM);
    for (int i = 0; i < ROWS * KV * GROUP; i++)
        x[i] = (float)i;
    struct lk_attn attn = {.n_head = KV * SHARE, .n_kv_head = KV, .head_dim = DIM};
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(rig, &batch, &span, NULL, ROWS, 0);
    rig->be->ops->qkv_split(rig->be, &attn, q, k, v, x, ROWS);
    bool ok = rig->be->ops->run(rig->be, NULL) == 0;
    for (int g = 0; g < ROWS * KV; g++)
        for (int d = 0; d < DIM; d++) {
            for (int h = 0; h < SHARE; h++)
                ok = ok && q[(g * SHARE + h) * DIM + d] == (float)(g * GROUP + h * DIM + d);
            ok = ok && k[g * DIM + d] == (float)(g * GROUP + SHARE * DIM + d) &&
                 v[g * DIM + d] == (float)(g * GROUP + (SHARE + 1) * DIM + d);
        }
    return ok;
}

static bool rope_is_right(struct rig *rig, enum lk_rope_layout layout, int32_t pos)
{
    enum { ROWS = 7, HEADS = 3, DIM = 20, ROT = 12, FREQ = ROT / 2 };
    const struct lk_ops *ops = rig->be->ops;
    float *x = rig_random(rig, ROWS * HEADS * DIM), *cos_sin = rig_floats(rig, ROWS * 2 * FREQ),
          inv_freq[FREQ];
    double want[ROWS * HEADS * DIM], angles[ROWS * 2 * FREQ];
    for (int i = 0; i < FREQ; i++)
        inv_freq[i] = (float)pow(10000, -2.0 * i / ROT);
    for (int i = 0; i < ROWS * HEADS * DIM; i++)
        want[i] = (double)x[i];
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < FREQ; i++) {
            double angle = (double)(pos + r) * (double)inv_freq[i];
            double c = angles[r * 2 * FREQ + i] = (double)((float)cos(angle) * 1.25f);
            double s = angles[r * 2 * FREQ + FREQ + i] = (double)((float)sin(angle) * 1.25f);
            for (int h = 0; h < HEADS; h++) {
                double *head = want + (r * HEADS + h) * DIM;
                double *a = head + (layout == LK_ROPE_HALF ? i : 2 * i);
                double *b = head + (layout == LK_ROPE_HALF ? i + FREQ : 2 * i + 1), old = *a;
                *a = old * c - *b * s;
                *b = *b * c + old * s;
            }
        }
    struct lk_batch batch;
    struct lk_span span;
    struct lk_rope rope = {.inv_freq = inv_freq, .n_freq = FREQ, .scale = 1.25f};
    rig_begin(rig, &batch, &span, NULL, ROWS, pos);
    ops->rope_angles(rig->be, cos_sin, &rope);
    ops->rope(rig->be, x, cos_sin, HEADS, DIM, ROT, layout);
    return ops->run(rig->be, NULL) == 0 && all_close(cos_sin, angles, 0, ROWS * 2 * FREQ, "angles") &&
           all_close(x, want, 4e-7, ROWS * HEADS * DIM, "rope");
}

/* Two frequencies each: the span that may reach one position more than short_ctx takes the second pair. */
static bool angles_follow_length(struct rig *rig)
{
    const struct lk_ops *ops = rig->be->ops;
    float near[] = {0.5f, 0.25f}, far[] = {0.125f, 0.0625f};
    float *cos_sin = rig_floats(rig, 3 * 4);
    struct lk_rope rope = {.inv_freq = near, .long_inv_freq = far, .n_freq = 2, .short_ctx = 32, .scale = 1};
    struct lk_span spans[] = {{.row = 0, .n_row = 2, .pos = 7, .length = 32},
                              {.row = 2, .n_row = 1, .pos = 7, .length = 33}};
    struct lk_batch batch = {.n_row = 3, .span = spans, .n_span = 2};
    ops->begin(rig->be, &batch);
    ops->rope_angles(rig->be, cos_sin, &rope);
    const double want[] = {cos(3.5),   cos(1.75),   sin(3.5),   sin(1.75),    /* position 7 */
                           cos(4.0),   cos(2.0),    sin(4.0),   sin(2.0),     /* position 8 */
                           cos(0.875), cos(0.4375), sin(0.875), sin(0.4375)}; /* position 7 of the other */
    return ops->run(rig->be, NULL) == 0 && all_close(cos_sin, want, 1e-7, 12, "angles");
}

static void test_simple(int32_t n_thread)
{
    struct rig rig;
    rig_open(&rig, n_thread, 600, NULL);
    check_case("%d threads", n_thread);
    check_point(embed_is_right(&rig, LK_F32) && embed_is_right(&rig, LK_F16) && embed_is_right(&rig, LK_BF16),
                "%d threads: embed", n_thread);
    check_point(rows_are_right(&rig, 1, 5000) && rows_are_right(&rig, 530, 40) &&
                    rows_are_right(&rig, 5, 4099),
                "%d threads: gather, scale, add, rmsnorm, act_mul", n_thread);
    check_point(other_rows_are_right(&rig, 1, 3000) && other_rows_are_right(&rig, 130, 40),
                "%d threads: layernorm, act_mul alone, soft_cap", n_thread);
    check_point(split_is_right(&rig), "%d threads: qkv_split", n_thread);
    check_point(rope_is_right(&rig, LK_ROPE_HALF, 0) && rope_is_right(&rig, LK_ROPE_HALF, 100003) &&
                    rope_is_right(&rig, LK_ROPE_INTERLEAVED, 77),
                "%d threads: rope", n_thread);
    check_point(angles_follow_length(&rig), "%d threads: angles by length", n_thread);
    rig_close(&rig);
}

/* ---- Products: any split gives the bits of the kernel on one row ---- */

static bool product_is_right(struct rig *rig, enum lk_dtype type, int32_t n_in, int32_t n_out, int32_t n_row)
{
    check_case("%s [%d][%d] x %d", lk_dtype_name(type), n_out, n_in, n_row);
    size_t n = (size_t)n_row * (size_t)n_out;
    n_in = (int32_t)check_whole(type, (size_t)n_in);
    struct lk_mat w = rig_matrix(rig, type, n_out, n_in, NULL);
    float *x = rig_random(rig, (size_t)n_row * (size_t)n_in), *bias = rig_random(rig, (size_t)n_out);
    float *y = rig_floats(rig, n), *want = rig_floats(rig, n);
    struct lk_cpu cpu; /* of the same level */
    lk_cpu_init(&cpu, lk_cpu_flags());
    for (size_t r = 0; r < (size_t)n_row; r++)
        cpu.matmul[type](want + r * (size_t)n_out, (size_t)n_out, w.data, (size_t)n_in, (size_t)n_out, bias,
                         x + r * (size_t)n_in, (size_t)n_in, 1);
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(rig, &batch, &span, NULL, n_row, 0);
    rig->be->ops->matmul(rig->be, y, &w, bias, x, n_row);
    /* Random sums are never all zero. */
    return rig->be->ops->run(rig->be, NULL) == 0 && y[0] != 0 && check_same(want, y, n, "matmul");
}

static void test_matmul(int32_t n_thread)
{
    static const int32_t shapes[][3] = {{300, 1001, 1}, {64, 5, 3},      {300, 700, 100},
                                        {2048, 40, 70}, {4097, 130, 33}, {1, 1, 1}};
    bool ok = true;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && ok; i++)
        for (int type = 0; type < LK_N_DTYPE && ok; type++) {
            struct rig rig;
            rig_open(&rig, n_thread, 128, NULL);
            ok = product_is_right(&rig, (enum lk_dtype)type, shapes[i][0], shapes[i][1], shapes[i][2]);
            rig_close(&rig);
        }
    check_point(ok, "%d threads: matmul has the bits of the kernel row by row", n_thread);
}

/* ---- Fused against plain ---- */

static bool qkv_is_plain(struct rig *rig, int32_t n_row)
{
    enum { IN = 200, Q = 170, KV = 33 };
    const struct lk_ops *ops = rig->be->ops;
    struct lk_mat w[] = {rig_matrix(rig, LK_BF16, Q, IN, NULL), rig_matrix(rig, LK_F32, KV, IN, NULL),
                         rig_matrix(rig, LK_F16, KV, IN, NULL)};
    float *bias[] = {rig_random(rig, Q), NULL, rig_random(rig, KV)}, *fused[3], *plain[3];
    float *x = rig_random(rig, (size_t)n_row * IN);
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(rig, &batch, &span, NULL, n_row, 0);
    for (int i = 0; i < 3; i++) {
        fused[i] = rig_floats(rig, (size_t)n_row * Q);
        plain[i] = rig_floats(rig, (size_t)n_row * Q);
        ops->matmul(rig->be, plain[i], &w[i], bias[i], x, n_row);
    }
    ops->qkv(rig->be, fused[0], fused[1], fused[2], &w[0], &w[1], &w[2], bias[0], bias[1], bias[2], x, n_row);
    bool ok = ops->run(rig->be, NULL) == 0;
    for (int i = 0; i < 3; i++)
        ok = ok && plain[i][0] != 0 && check_same(plain[i], fused[i], (size_t)n_row * Q, "qkv");
    return ok;
}

static bool gate_up_act_is_plain(struct rig *rig, int32_t n_row, enum lk_dtype type)
{
    enum { IN = 500, OUT = 1030 };
    const struct lk_ops *ops = rig->be->ops;
    size_t n = (size_t)n_row * OUT;
    struct lk_mat gate = rig_matrix(rig, type, OUT, IN, NULL), up = rig_matrix(rig, type, OUT, IN, NULL);
    float *x = rig_random(rig, (size_t)n_row * IN), *bias = rig_random(rig, OUT);
    float *fused = rig_floats(rig, n), *tmp = rig_floats(rig, n), *g = rig_floats(rig, n),
          *u = rig_floats(rig, n);
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(rig, &batch, &span, NULL, n_row, 0);
    ops->matmul(rig->be, g, &gate, NULL, x, n_row);
    ops->matmul(rig->be, u, &up, bias, x, n_row);
    ops->act_mul(rig->be, g, g, u, n, LK_ACT_SILU);
    ops->gate_up_act(rig->be, fused, tmp, &gate, &up, NULL, bias, x, n_row, LK_ACT_SILU);
    return ops->run(rig->be, NULL) == 0 && g[0] != 0 && check_same(g, fused, n, "gate_up_act");
}

static void test_fused(int32_t n_thread)
{
    struct rig rig;
    rig_open(&rig, n_thread, 64, NULL);
    check_case("%d threads", n_thread);
    check_point(qkv_is_plain(&rig, 1) && qkv_is_plain(&rig, 39), "%d threads: qkv is three products",
                n_thread);
    check_point(gate_up_act_is_plain(&rig, 1, LK_BF16) && gate_up_act_is_plain(&rig, 45, LK_F32),
                "%d threads: gate_up_act is two products and act_mul", n_thread);
    rig_close(&rig);
}

/* ---- Running ---- */

struct trace_log {
    int n;
    float seen[4]; /* x[0] at each call */
    const char *name;
    int32_t layer, n_row, n_column;
    atomic_bool *abort; /* set by the second call */
};

static void on_trace(void *ctx, const char *name, int32_t layer, const float *x, int32_t n_row, int32_t n)
{
    struct trace_log *log = ctx;
    log->name = name;
    log->layer = layer;
    log->n_row = n_row;
    log->n_column = n;
    log->seen[log->n++ % 4] = x[0];
    if (log->abort && log->n == 2)
        atomic_store(log->abort, true);
}

/* Records: trace, add, trace, add, trace. */
static void record_traced(struct rig *rig, float *y, const float *one)
{
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(rig, &batch, &span, NULL, 1, 0);
    for (int i = 0; i < 3; i++) {
        if (i)
            rig->be->ops->add(rig->be, y, one, 4);
        rig->be->ops->trace(rig->be, "sum", 5, y, 2, 2);
    }
}

static void test_trace(void)
{
    struct rig rig;
    rig_open(&rig, 2, 4, NULL);
    struct trace_log log = {0};
    float *y = rig_floats(&rig, 4), *one = rig_floats(&rig, 4);
    for (int i = 0; i < 4; i++)
        one[i] = 1;
    record_traced(&rig, y, one);
    bool silent = rig.be->ops->run(rig.be, NULL) == 0 && y[0] == 2;
    rig.be->trace = on_trace;
    rig.be->trace_ctx = &log;
    record_traced(&rig, y, one);
    bool ok = rig.be->ops->run(rig.be, NULL) == 0 && log.n == 3 && log.seen[0] == 2 && log.seen[1] == 3 &&
              log.seen[2] == 4 && !strcmp(log.name, "sum") && log.layer == 5 && log.n_row == 2 &&
              log.n_column == 2;
    check_point(silent && ok, "a trace sees what stands there at its point of the step");

    atomic_bool abort = false;
    log = (struct trace_log){.abort = &abort};
    record_traced(&rig, y, one);
    bool aborted = rig.be->ops->run(rig.be, &abort) == LK_E_ABORTED && log.n == 2 && y[0] == 5;
    check_point(aborted, "abort leaves out what follows, traces included");
    atomic_store(&abort, false);
    log = (struct trace_log){0};
    record_traced(&rig, y, one);
    check_point(rig.be->ops->run(rig.be, &abort) == 0 && y[0] == 7, "a step after an abort");
    rig_close(&rig);
}

static void *set_soon(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
    return NULL;
}

/* Another thread sets the flag inside a step that would take minutes. */
static void test_abort(int32_t n_thread)
{
    enum { DIM = 1024, ROWS = 64, PRODUCTS = 4000 };
    struct rig rig;
    rig_open(&rig, n_thread, ROWS, NULL);
    struct lk_mat w = rig_matrix(&rig, LK_F32, DIM, DIM, NULL);
    float *x = rig_random(&rig, ROWS * DIM), *y = rig_floats(&rig, ROWS * DIM),
          *last = rig_floats(&rig, ROWS * DIM);
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(&rig, &batch, &span, NULL, ROWS, 0);
    for (int i = 0; i < PRODUCTS; i++)
        rig.be->ops->matmul(rig.be, y, &w, NULL, x, ROWS);
    rig.be->ops->matmul(rig.be, last, &w, NULL, x, ROWS);
    atomic_bool abort = false;
    pthread_t thread;
    bool ok = pthread_create(&thread, NULL, set_soon, &abort) == 0;
    ok = ok && rig.be->ops->run(rig.be, &abort) == LK_E_ABORTED;
    pthread_join(thread, NULL);
    for (int i = 0; i < ROWS * DIM && ok; i++)
        ok = last[i] == 0;
    check_point(ok, "%d threads: abort from another thread", n_thread);
    rig_close(&rig);
}

/* More operations than the list holds. */
static void test_long_list(void)
{
    struct rig rig;
    rig_open(&rig, 3, 1, NULL);
    float *y = rig_floats(&rig, 10), *one = rig_floats(&rig, 10);
    for (int i = 0; i < 10; i++)
        one[i] = 1;
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(&rig, &batch, &span, NULL, 1, 0);
    for (int i = 0; i < 2 * CPU_MAX_NODE + 7; i++)
        rig.be->ops->add(rig.be, y, one, 10);
    check_point(rig.be->ops->run(rig.be, NULL) == 0 && y[0] == 2 * CPU_MAX_NODE + 7 && y[9] == y[0],
                "a step of more operations than the list holds");
    rig_begin(&rig, &batch, &span, NULL, 1, 0);
    rig.be->ops->add(rig.be, y, one, 10);
    rig_begin(&rig, &batch, &span, NULL, 1, 0);
    check_point(rig.be->ops->run(rig.be, NULL) == 0 && y[0] == 2 * CPU_MAX_NODE + 7,
                "begin forgets what was not run");
    rig_close(&rig);
}

int main(void)
{
    test_open();
    test_memory();
    for (int i = 0; i < N_THREADS; i++) {
        test_simple(n_threads[i]);
        test_matmul(n_threads[i]);
        test_fused(n_threads[i]);
        test_abort(n_threads[i]);
    }
    test_trace();
    test_long_list();
    return check_done();
}
