/* Operations of the CPU back end but for attention: how each is cut into chunks, and what a chunk does.
 *
 * Products are cut into chunks of consecutive outputs, so that each thread reads one stream of weights; many
 * rows are cut as well, so that both panels of a chunk stay in a core's own cache. Everything else is cut by
 * rows or elements. Every chunk computes whole outputs, so no cut can change a bit. */
#include "config.h"

#include "kernels/cpu/nodes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/backend_cpu.h"

enum {
    CHUNK_BYTES = 64 * 1024,  /* of weights, few rows: 16 KiB reads a quarter slower, measured */
    PANEL_BYTES = 256 * 1024, /* of weights, many rows: about 100 us of arithmetic with LK_CUT_ROW rows */
    MANY_ROWS = 16,           /* from here on a chunk computes longer than it reads */
    CHUNK_ELEMENTS = 8192,    /* of cheap loops: a few microseconds */
    CHUNK_ANGLES = 64,
};

static int32_t min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t n_steps(int64_t n, int64_t step)
{
    return (int32_t)((n + step - 1) / step);
}

/* How many of these sizes fill a chunk, rounded up to a multiple; at least that multiple, at most `all`. */
static int32_t step_of(size_t chunk_bytes, size_t bytes, int32_t multiple, int32_t all)
{
    int64_t n = (int64_t)(chunk_bytes / (bytes ? bytes : 1));
    n = (n + multiple - 1) / multiple * multiple;
    return (int32_t)(n < multiple ? multiple : n < all ? n : all > 0 ? all : 1);
}

int32_t nodes_product_step(const struct lk_mat *w, int32_t n_row)
{
    size_t row_bytes = lk_dtype_bytes(w->type, (size_t)w->n_in);
    return step_of(n_row < MANY_ROWS ? CHUNK_BYTES : PANEL_BYTES, row_bytes, LK_CUT_OUT, w->n_out);
}

static void embed_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    const struct lk_mat *table = &a->embed.table;
    size_t n = (size_t)table->n_in;
    const char *row =
        (const char *)table->data + (size_t)cb->batch->token[i_chunk] * lk_dtype_bytes(table->type, n);
    cb->cpu.widen[table->type](a->embed.y + (size_t)i_chunk * n, row, n);
}

void nodes_embed(struct lk_backend *be, float *y, const struct lk_mat *table)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    union cpu_arg *a = backend_cpu_push(cb, embed_chunk, cb->batch->n_row);
    a->embed.y = y;
    a->embed.table = *table;
}

static void gather_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    size_t n = (size_t)a->gather.n;
    int32_t end = min_i32((i_chunk + 1) * a->gather.step, a->gather.n_row);
    for (int32_t i = i_chunk * a->gather.step; i < end; i++)
        memcpy(a->gather.y + (size_t)i * n, a->gather.x + (size_t)a->gather.rows[i] * n, n * sizeof(float));
}

void nodes_gather(struct lk_backend *be, float *y, const float *x, const int32_t *rows, int32_t n_row,
                  int32_t n)
{
    int32_t step = step_of(CHUNK_ELEMENTS, (size_t)n, 1, n_row);
    union cpu_arg *a = backend_cpu_push(backend_cpu_of(be), gather_chunk, n_steps(n_row, step));
    a->gather.y = y;
    a->gather.x = x;
    a->gather.rows = rows;
    a->gather.n_row = n_row;
    a->gather.n = n;
    a->gather.step = step;
}

static void rmsnorm_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    size_t n = (size_t)a->rmsnorm.n;
    int32_t end = min_i32((i_chunk + 1) * a->rmsnorm.step, a->rmsnorm.n_row);
    for (int32_t i = i_chunk * a->rmsnorm.step; i < end; i++)
        cb->cpu.rmsnorm(a->rmsnorm.y + (size_t)i * n, a->rmsnorm.x + (size_t)i * n, a->rmsnorm.w, n,
                        a->rmsnorm.eps);
}

void nodes_rmsnorm(struct lk_backend *be, float *y, const float *x, const float *w, int32_t n_row, int32_t n,
                   float eps)
{
    int32_t step = step_of(CHUNK_ELEMENTS, (size_t)n, 1, n_row);
    union cpu_arg *a = backend_cpu_push(backend_cpu_of(be), rmsnorm_chunk, n_steps(n_row, step));
    a->rmsnorm.y = y;
    a->rmsnorm.x = x;
    a->rmsnorm.w = w;
    a->rmsnorm.n_row = n_row;
    a->rmsnorm.n = n;
    a->rmsnorm.step = step;
    a->rmsnorm.eps = eps;
}

static void layernorm_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    int32_t end = min_i32((i_chunk + 1) * a->layernorm.step, a->layernorm.n_row);
    for (int32_t i = i_chunk * a->layernorm.step; i < end; i++) {
        size_t at = (size_t)i * (size_t)a->layernorm.stride;
        cb->cpu.layernorm(a->layernorm.y + at, a->layernorm.x + at, a->layernorm.w, a->layernorm.b,
                          (size_t)a->layernorm.n, a->layernorm.eps);
    }
}

void nodes_layernorm(struct lk_backend *be, float *y, const float *x, const float *w, const float *b,
                     int32_t n_row, int32_t n, int32_t stride, float eps)
{
    int32_t step = step_of(CHUNK_ELEMENTS, (size_t)n, 1, n_row);
    union cpu_arg *a = backend_cpu_push(backend_cpu_of(be), layernorm_chunk, n_steps(n_row, step));
    a->layernorm.y = y;
    a->layernorm.x = x;
    a->layernorm.w = w;
    a->layernorm.b = b;
    a->layernorm.n_row = n_row;
    a->layernorm.n = n;
    a->layernorm.stride = stride;
    a->layernorm.step = step;
    a->layernorm.eps = eps;
}

static struct cpu_product product_of(const struct cpu_backend *cb, float *y, const struct lk_mat *w,
                                     const float *bias, int32_t n_row)
{
    size_t row_bytes = lk_dtype_bytes(w->type, (size_t)w->n_in);
    int32_t step = nodes_product_step(w, n_row);
    return (struct cpu_product){
        .fn = cb->cpu.matmul[w->type],
        .w = w->data,
        .bias = bias,
        .y = y,
        .n_in = w->n_in,
        .n_out = w->n_out,
        .step = step,
        .n_step = n_steps(w->n_out, step),
        .row_bytes = row_bytes,
    };
}

/* Outputs [from, end) of rows [row, row_end). */
static void product_part(const struct cpu_product *p, const float *x, int32_t from, int32_t end, int32_t row,
                         int32_t row_end)
{
    size_t n_in = (size_t)p->n_in, n_out = (size_t)p->n_out;
    p->fn(p->y + (size_t)row * n_out + from, n_out, p->w + (size_t)from * p->row_bytes, n_in,
          (size_t)(end - from), p->bias ? p->bias + from : NULL, x + (size_t)row * n_in, n_in,
          (size_t)(row_end - row));
}

/* Chunks of the same outputs follow each other, so that their weights come from memory once. */
static void matmul_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    int32_t i_step = i_chunk / a->matmul.n_row_step, row = i_chunk % a->matmul.n_row_step * LK_CUT_ROW;
    const struct cpu_product *p = a->matmul.product;
    for (; i_step >= p->n_step; p++)
        i_step -= p->n_step;
    int32_t from = i_step * p->step;
    product_part(p, a->matmul.x, from, min_i32(from + p->step, p->n_out), row,
                 min_i32(row + LK_CUT_ROW, a->matmul.n_row));
}

static void gate_up_act_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    const struct cpu_product *gate = &a->matmul.product[0], *up = &a->matmul.product[1];
    int32_t row = i_chunk % a->matmul.n_row_step * LK_CUT_ROW;
    int32_t row_end = min_i32(row + LK_CUT_ROW, a->matmul.n_row);
    int32_t from = i_chunk / a->matmul.n_row_step * gate->step, end = min_i32(from + gate->step, gate->n_out);
    product_part(gate, a->matmul.x, from, end, row, row_end);
    product_part(up, a->matmul.x, from, end, row, row_end);
    for (int32_t r = row; r < row_end; r++) {
        size_t at = (size_t)r * (size_t)gate->n_out + (size_t)from;
        a->matmul.act(gate->y + at, gate->y + at, up->y + at, (size_t)(end - from));
    }
}

lk_act_mul_fn nodes_act_fn(const struct lk_backend *be, enum lk_act act)
{
    const struct cpu_backend *cb = (const struct cpu_backend *)be;
    switch (act) {
    case LK_ACT_SILU:
        return cb->cpu.silu_mul;
    case LK_ACT_GELU:
        return cb->cpu.gelu_mul;
    case LK_ACT_GELU_TANH:
        return cb->cpu.gelu_tanh_mul;
    case LK_ACT_SWIGLU_CLAMPED:
        return cb->cpu.swiglu_clamped;
    }
    return NULL;
}

/* A node of products of the same rows; n_step chunks of outputs. */
static void push_products(struct cpu_backend *cb, pool_fn fn, const struct cpu_product *products,
                          int32_t n_product, int32_t n_step, lk_act_mul_fn act, const float *x, int32_t n_row)
{
    int32_t n_row_step = n_steps(n_row, LK_CUT_ROW);
    union cpu_arg *a = backend_cpu_push(cb, fn, (int64_t)n_step * n_row_step);
    memcpy(a->matmul.product, products, (size_t)n_product * sizeof *products);
    a->matmul.act = act;
    a->matmul.x = x;
    a->matmul.n_row = n_row;
    a->matmul.n_row_step = n_row_step;
}

void nodes_matmul(struct lk_backend *be, float *y, const struct lk_mat *w, const float *bias, const float *x,
                  int32_t n_row)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    struct cpu_product product = product_of(cb, y, w, bias, n_row);
    push_products(cb, matmul_chunk, &product, 1, product.n_step, NULL, x, n_row);
}

void nodes_qkv(struct lk_backend *be, float *q, float *k, float *v, const struct lk_mat *wq,
               const struct lk_mat *wk, const struct lk_mat *wv, const float *bq, const float *bk,
               const float *bv, const float *x, int32_t n_row)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    struct cpu_product products[] = {product_of(cb, q, wq, bq, n_row), product_of(cb, k, wk, bk, n_row),
                                     product_of(cb, v, wv, bv, n_row)};
    push_products(cb, matmul_chunk, products, 3, products[0].n_step + products[1].n_step + products[2].n_step,
                  NULL, x, n_row);
}

/* A chunk is one KV head of one row. */
static void qkv_split_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    size_t head = (size_t)a->split.head_dim, share = (size_t)a->split.n_share * head, i = (size_t)i_chunk;
    const float *x = a->split.x + i * (share + 2 * head);
    memcpy(a->split.q + i * share, x, share * sizeof *x);
    memcpy(a->split.k + i * head, x + share, head * sizeof *x);
    memcpy(a->split.v + i * head, x + share + head, head * sizeof *x);
}

void nodes_qkv_split(struct lk_backend *be, const struct lk_attn *attn, float *q, float *k, float *v,
                     const float *x, int32_t n_row)
{
    union cpu_arg *a =
        backend_cpu_push(backend_cpu_of(be), qkv_split_chunk, (int64_t)n_row * attn->n_kv_head);
    a->split.q = q;
    a->split.k = k;
    a->split.v = v;
    a->split.x = x;
    a->split.n_share = attn->n_head / attn->n_kv_head;
    a->split.head_dim = attn->head_dim;
}

void nodes_gate_up_act(struct lk_backend *be, float *y, float *tmp, const struct lk_mat *gate,
                       const struct lk_mat *up, const float *gate_bias, const float *up_bias, const float *x,
                       int32_t n_row, enum lk_act act)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    struct cpu_product products[] = {product_of(cb, y, gate, gate_bias, n_row),
                                     product_of(cb, tmp, up, up_bias, n_row)};
    assert(gate->n_out == up->n_out && gate->n_in == up->n_in);
    push_products(cb, gate_up_act_chunk, products, 2, products[0].n_step, nodes_act_fn(be, act), x, n_row);
}

static size_t elements_of(size_t n, int32_t i_chunk)
{
    size_t from = (size_t)i_chunk * CHUNK_ELEMENTS;
    return n - from < CHUNK_ELEMENTS ? n - from : CHUNK_ELEMENTS;
}

static void act_mul_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    size_t from = (size_t)i_chunk * CHUNK_ELEMENTS;
    a->act_mul.act(a->act_mul.y + from, a->act_mul.g + from, a->act_mul.u ? a->act_mul.u + from : NULL,
                   elements_of(a->act_mul.n, i_chunk));
}

void nodes_act_mul(struct lk_backend *be, float *y, const float *g, const float *u, size_t n, enum lk_act act)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    union cpu_arg *a = backend_cpu_push(cb, act_mul_chunk, n_steps((int64_t)n, CHUNK_ELEMENTS));
    a->act_mul.y = y;
    a->act_mul.g = g;
    a->act_mul.u = u;
    a->act_mul.n = n;
    a->act_mul.act = nodes_act_fn(be, act);
}

static void add_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    size_t from = (size_t)i_chunk * CHUNK_ELEMENTS;
    cb->cpu.add(a->add.y + from, a->add.x + from, elements_of(a->add.n, i_chunk));
}

void nodes_add(struct lk_backend *be, float *y, const float *x, size_t n)
{
    union cpu_arg *a = backend_cpu_push(backend_cpu_of(be), add_chunk, n_steps((int64_t)n, CHUNK_ELEMENTS));
    a->add.y = y;
    a->add.x = x;
    a->add.n = n;
}

static void scale_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    size_t from = (size_t)i_chunk * CHUNK_ELEMENTS;
    cb->cpu.scale(a->scale.y + from, elements_of(a->scale.n, i_chunk), a->scale.factor);
}

void nodes_scale(struct lk_backend *be, float *y, size_t n, float factor)
{
    union cpu_arg *a = backend_cpu_push(backend_cpu_of(be), scale_chunk, n_steps((int64_t)n, CHUNK_ELEMENTS));
    a->scale.y = y;
    a->scale.n = n;
    a->scale.factor = factor;
}

static void soft_cap_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    size_t from = (size_t)i_chunk * CHUNK_ELEMENTS;
    cb->cpu.soft_cap(a->scale.y + from, elements_of(a->scale.n, i_chunk), a->scale.factor);
}

void nodes_soft_cap(struct lk_backend *be, float *y, size_t n, float cap)
{
    union cpu_arg *a =
        backend_cpu_push(backend_cpu_of(be), soft_cap_chunk, n_steps((int64_t)n, CHUNK_ELEMENTS));
    a->scale.y = y;
    a->scale.n = n;
    a->scale.factor = cap;
}

static int32_t angle_rows(int32_t n_freq)
{
    return n_freq < CHUNK_ANGLES ? n_steps(CHUNK_ANGLES, n_freq > 0 ? n_freq : 1) : 1;
}

static void rope_angles_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    const struct lk_rope *rope = &a->angles.rope;
    int32_t step = angle_rows(rope->n_freq), end = min_i32((i_chunk + 1) * step, cb->batch->n_row);
    size_t n = (size_t)rope->n_freq;
    for (int32_t r = i_chunk * step; r < end; r++) {
        float *cosines = a->angles.cos_sin + (size_t)r * 2 * n, *sines = cosines + n;
        bool is_long = rope->long_inv_freq && cb->rows[r].length > rope->short_ctx;
        const float *inv_freq = is_long ? rope->long_inv_freq : rope->inv_freq;
        for (size_t i = 0; i < n; i++) {
            double angle = (double)cb->rows[r].pos * (double)inv_freq[i];
            cosines[i] = (float)cos(angle) * rope->scale;
            sines[i] = (float)sin(angle) * rope->scale;
        }
    }
}

void nodes_rope_angles(struct lk_backend *be, float *cos_sin, const struct lk_rope *rope)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    union cpu_arg *a =
        backend_cpu_push(cb, rope_angles_chunk, n_steps(cb->batch->n_row, angle_rows(rope->n_freq)));
    a->angles.cos_sin = cos_sin;
    a->angles.rope = *rope;
}

static void rope_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    size_t n_freq = (size_t)a->rope.n_rot / 2, head_dim = (size_t)a->rope.head_dim,
           n_head = (size_t)a->rope.n_head;
    const float *cosines = a->rope.cos_sin + (size_t)i_chunk * 2 * n_freq;
    for (size_t h = 0; h < n_head; h++)
        a->rope.turn(a->rope.x + ((size_t)i_chunk * n_head + h) * head_dim, cosines, cosines + n_freq,
                     n_freq);
}

void nodes_rope(struct lk_backend *be, float *x, const float *cos_sin, int32_t n_head, int32_t head_dim,
                int32_t n_rot, enum lk_rope_layout layout)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    union cpu_arg *a = backend_cpu_push(cb, rope_chunk, cb->batch->n_row);
    a->rope.x = x;
    a->rope.cos_sin = cos_sin;
    a->rope.turn = layout == LK_ROPE_HALF ? cb->cpu.rope_half : cb->cpu.rope_pair;
    a->rope.n_head = n_head;
    a->rope.head_dim = head_dim;
    a->rope.n_rot = n_rot;
}
