/* StableLM: 3B, 2 1.6B and 2 12B.
 *
 * Bellagente et al. 2024, "Stable LM 2 1.6B Technical Report". Llama's block with LayerNorm for RMSNorm; a
 * part of every head is turned.
 *
 * From config.json: what src/model/dense.h reads, with layer_norm_eps; use_qkv_bias; qk_layernorm (each head
 * of the queries and keys has a norm of its own, without bias); use_parallel_residual (attention and
 * feed-forward read the same norm, side by side); of older files norm_eps and rope_pct.
 *
 * Peculiar: the 12B has both of the last two. */
#include "config.h"

#include <errno.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/model.h"
#include "src/model/shape.h"

struct stablelm_layer {
    struct dense_norm attn_norm;   /* [dim] */
    struct lk_mat wq;              /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;          /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;              /* [dim][n_head * head_dim] */
    const float *bq;               /* [n_head * head_dim], NULL: none */
    const float *bk, *bv;          /* [n_kv_head * head_dim], NULL: none */
    struct stablelm_head *q_norms; /* [n_head], NULL: none */
    struct stablelm_head *k_norms; /* [n_kv_head], NULL: none */
    struct dense_norm ffn_norm;    /* [dim]; parallel: unused */
    struct lk_mat gate, up;        /* [ff_dim][dim] */
    struct lk_mat down;            /* [dim][ff_dim] */
};

struct stablelm_head {
    const float *w; /* [head_dim] */
};

struct stablelm {
    struct dense dense;
    bool has_bias, has_qk_norm, is_parallel;

    struct lk_mat embed;           /* [n_vocab][dim] */
    struct stablelm_layer *layers; /* [n_layer] */
    struct dense_norm out_norm;    /* [dim] */
    struct lk_mat head;            /* [n_vocab][dim]; tied: unused */
};

static int take_layers(struct stablelm *m, struct arena *arena)
{
    const struct arch_shape *shape = &m->dense.shape;
    m->layers = arena_array(arena, (size_t)shape->n_layer, sizeof *m->layers);
    if (!m->layers)
        return -ENOMEM;
    for (int32_t i = 0; i < shape->n_layer && m->has_qk_norm; i++) {
        struct stablelm_layer *l = &m->layers[i];
        l->q_norms = arena_array(arena, (size_t)shape->n_head, sizeof *l->q_norms);
        l->k_norms = arena_array(arena, (size_t)shape->n_kv_head, sizeof *l->k_norms);
        if (!l->q_norms || !l->k_norms)
            return -ENOMEM;
    }
    return 0;
}

static int stablelm_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                                void **ret_self, struct why *why)
{
    struct dense_want want = {.n_ctx = 4096,
                              .theta = 10000,
                              .eps = 1e-5,
                              .eps_key = json_get(config, "norm_eps") ? "norm_eps" : "layer_norm_eps"};
    struct stablelm *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = shape_read_positive(config, "rope_pct", 1, 0.25, &want.part, why);
    r = r ? r : dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : json_get_bool(config, "use_qkv_bias", &m->has_bias, why);
    r = r ? r : json_get_bool(config, "qk_layernorm", &m->has_qk_norm, why);
    r = r ? r : json_get_bool(config, "use_parallel_residual", &m->is_parallel, why);
    r = r ? r : take_layers(m, arena);
    if (r)
        return r;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int bind_heads(struct stablelm *m, struct bind *bind, int32_t i, struct why *why)
{
    const struct arch_shape *shape = &m->dense.shape;
    const struct bind_row norm[] = {
        {"weight", BIND_VECTOR(struct stablelm_head, w), {shape->head_dim}, false}};
    const char *const format = "model.layers.%d.self_attn.%c_layernorm.norms.%d.";
    int r = 0;
    for (int32_t h = 0; h < shape->n_head && !r; h++)
        r = bind_rows(bind, &m->layers[i].q_norms[h], norm, 1, why, format, i, 'q', h);
    for (int32_t h = 0; h < shape->n_kv_head && !r; h++)
        r = bind_rows(bind, &m->layers[i].k_norms[h], norm, 1, why, format, i, 'k', h);
    return r;
}

static int stablelm_bind(void *self, struct bind *bind, struct why *why)
{
    struct stablelm *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    bool bare = !m->has_bias, is_parallel = m->is_parallel;
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct stablelm, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_VECTOR(struct stablelm, out_norm.w), {dim}, false},
        {"model.norm.bias", BIND_VECTOR(struct stablelm, out_norm.b), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct stablelm, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct stablelm_layer, attn_norm.w), {dim}, false},
        {"input_layernorm.bias", BIND_VECTOR(struct stablelm_layer, attn_norm.b), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct stablelm_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct stablelm_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct stablelm_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct stablelm_layer, wo), {dim, q_dim}, false},
        {"self_attn.q_proj.bias", BIND_VECTOR(struct stablelm_layer, bq), {q_dim}, bare},
        {"self_attn.k_proj.bias", BIND_VECTOR(struct stablelm_layer, bk), {kv_dim}, bare},
        {"self_attn.v_proj.bias", BIND_VECTOR(struct stablelm_layer, bv), {kv_dim}, bare},
        {"post_attention_layernorm.weight",
         BIND_VECTOR(struct stablelm_layer, ffn_norm.w),
         {dim},
         is_parallel},
        {"post_attention_layernorm.bias", BIND_VECTOR(struct stablelm_layer, ffn_norm.b), {dim}, is_parallel},
        {"mlp.gate_proj.weight", BIND_MATRIX(struct stablelm_layer, gate), {ff_dim, dim}, false},
        {"mlp.up_proj.weight", BIND_MATRIX(struct stablelm_layer, up), {ff_dim, dim}, false},
        {"mlp.down_proj.weight", BIND_MATRIX(struct stablelm_layer, down), {dim, ff_dim}, false},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++) {
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
        if (!r && m->has_qk_norm)
            r = bind_heads(m, bind, i, why);
    }
    if (m->dense.is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

static size_t stablelm_scratch_bytes(const void *self, int32_t max_row)
{
    const struct stablelm *m = self;
    return dense_bytes(&m->dense, max_row);
}

/* Every head by its own norm: n_head of them in rows of width floats. */
static void norm_heads(const struct stablelm *m, struct lk_backend *be, float *x,
                       const struct stablelm_head *norms, int32_t n_head, int32_t n_row)
{
    int32_t head_dim = m->dense.shape.head_dim;
    for (int32_t h = 0; h < n_head; h++) {
        float *head = x + (size_t)h * (size_t)head_dim;
        be->ops->layernorm(be, head, head, norms[h].w, NULL, n_row, head_dim, n_head * head_dim,
                           m->dense.eps);
    }
}

static void stablelm_forward(const void *self, const struct arch_step *step)
{
    const struct stablelm *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t n_row = batch->rows.n_row, dim = shape->dim, ff_dim = shape->ff_dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    size_t n_x = (size_t)n_row * (size_t)dim;
    float eps = m->dense.eps;
    struct scratch scratch = {.base = step->scratch};
    struct dense_rows s = dense_take(&m->dense, &scratch, n_row);

    ops->embed(be, s.x, &m->embed);
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct stablelm_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        ops->trace(be, "hidden", i, s.x, n_row, dim);

        ops->layernorm(be, s.normed, s.x, l->attn_norm.w, l->attn_norm.b, n_row, dim, dim, eps);
        ops->trace(be, "attn_norm", i, s.normed, n_row, dim);
        ops->qkv(be, s.q, s.k, s.v, &l->wq, &l->wk, &l->wv, l->bq, l->bk, l->bv, s.normed, n_row);
        ops->trace(be, "v", i, s.v, n_row, kv_dim);
        if (m->has_qk_norm) {
            norm_heads(m, be, s.q, l->q_norms, shape->n_head, n_row);
            norm_heads(m, be, s.k, l->k_norms, shape->n_kv_head, n_row);
        }
        ops->rope_kv_append(be, &attn, s.q, s.k, s.v, s.cos_sin);
        ops->trace(be, "q", i, s.q, n_row, q_dim);
        ops->trace(be, "k", i, s.k, n_row, kv_dim);
        ops->attend(be, &attn, s.mixed, s.q);
        ops->trace(be, "mixed", i, s.mixed, n_row, q_dim);
        ops->matmul(be, s.out, &l->wo, NULL, s.mixed, n_row);
        ops->trace(be, "attn_out", i, s.out, n_row, dim);
        ops->add(be, s.x, s.out, n_x);

        if (!m->is_parallel)
            ops->layernorm(be, s.normed, s.x, l->ffn_norm.w, l->ffn_norm.b, n_row, dim, dim, eps);
        ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
        ops->gate_up_act(be, s.gated, s.up, &l->gate, &l->up, NULL, NULL, s.normed, n_row, LK_ACT_SILU);
        ops->trace(be, "gated", i, s.gated, n_row, ff_dim);
        ops->matmul(be, s.out, &l->down, NULL, s.gated, n_row);
        ops->trace(be, "ffn_out", i, s.out, n_row, dim);
        ops->add(be, s.x, s.out, n_x);
    }
    ops->trace(be, "blocks_out", -1, s.x, n_row, dim);

    int32_t n_logit = batch->n_logit;
    if (n_logit == 0)
        return;
    ops->gather(be, s.out, s.x, batch->logit_rows, n_logit, dim);
    ops->layernorm(be, s.normed, s.out, m->out_norm.w, m->out_norm.b, n_logit, dim, dim, eps);
    ops->trace(be, "hidden", shape->n_layer, s.normed, n_logit, dim);
    ops->matmul(be, step->logits, m->dense.is_tied ? &m->embed : &m->head, NULL, s.normed, n_logit);
    ops->trace(be, "logits", -1, step->logits, n_logit, shape->n_vocab);
}

const struct arch arch_stablelm = {
    .name = "stablelm",
    .model_types = (const char *const[]){"stablelm", "stablelm_epoch", NULL},
    .classes = (const char *const[]){"StableLmForCausalLM", "StableLMEpochForCausalLM", NULL},
    .read_config = stablelm_read_config,
    .bind = stablelm_bind,
    .scratch_bytes = stablelm_scratch_bytes,
    .forward = stablelm_forward,
};
