/* Granite 3, dense.
 *
 * Granite Team 2024, "Granite 3.0 Language Models". Llama's block with four multipliers, which carry the
 * learning rates of a small model over to a large one (Yang et al. 2022, "Tensor Programs V").
 *
 * From config.json: what src/model/dense.h reads; embedding_multiplier, attention_multiplier (of q.k, instead
 * of 1 / sqrt(head_dim)), residual_multiplier (of what each half of a block adds), logits_scaling (divides).
 * All are 1 where they are missing.
 *
 * Peculiar: nothing else. */
#include "config.h"

#include <errno.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/model.h"
#include "src/model/shape.h"

#define MAX_MULTIPLIER 1e6

struct granite_layer {
    const float *attn_norm; /* [dim] */
    struct lk_mat wq;       /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;   /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;       /* [dim][n_head * head_dim] */
    const float *ffn_norm;  /* [dim] */
    struct lk_mat gate, up; /* [ff_dim][dim] */
    struct lk_mat down;     /* [dim][ff_dim] */
};

struct granite {
    struct dense dense;
    float embed_scale, residual_scale, logit_scale;

    struct lk_mat embed;          /* [n_vocab][dim] */
    struct granite_layer *layers; /* [n_layer] */
    const float *out_norm;        /* [dim] */
    struct lk_mat head;           /* [n_vocab][dim]; tied: unused */
};

static int granite_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                               void **ret_self, struct why *why)
{
    static const struct dense_want want = {.n_ctx = 2048, .theta = 10000, .eps = 1e-6};
    static const char *const refused[] = {"attention_bias", "mlp_bias", NULL};
    double embed = 1, attn = 1, residual = 1, logits = 1;
    struct granite *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : shape_refuse(config, refused, why);
    r = r ? r : shape_read_positive(config, "embedding_multiplier", MAX_MULTIPLIER, embed, &embed, why);
    r = r ? r : shape_read_positive(config, "attention_multiplier", MAX_MULTIPLIER, attn, &attn, why);
    r = r ? r : shape_read_positive(config, "residual_multiplier", MAX_MULTIPLIER, residual, &residual, why);
    r = r ? r : shape_read_positive(config, "logits_scaling", MAX_MULTIPLIER, logits, &logits, why);
    if (r)
        return r;
    m->layers = arena_array(arena, (size_t)m->dense.shape.n_layer, sizeof *m->layers);
    if (!m->layers)
        return -ENOMEM;
    m->dense.attn.scale = (float)attn;
    m->embed_scale = (float)embed;
    m->residual_scale = (float)residual;
    m->logit_scale = (float)(1 / logits);
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int granite_bind(void *self, struct bind *bind, struct why *why)
{
    struct granite *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct granite, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_VECTOR(struct granite, out_norm), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct granite, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct granite_layer, attn_norm), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct granite_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct granite_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct granite_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct granite_layer, wo), {dim, q_dim}, false},
        {"post_attention_layernorm.weight", BIND_VECTOR(struct granite_layer, ffn_norm), {dim}, false},
        {"mlp.gate_proj.weight", BIND_MATRIX(struct granite_layer, gate), {ff_dim, dim}, false},
        {"mlp.up_proj.weight", BIND_MATRIX(struct granite_layer, up), {ff_dim, dim}, false},
        {"mlp.down_proj.weight", BIND_MATRIX(struct granite_layer, down), {dim, ff_dim}, false},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++)
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
    if (m->dense.is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

static size_t granite_scratch_bytes(const void *self, int32_t max_row)
{
    const struct granite *m = self;
    return dense_bytes(&m->dense, max_row);
}

static void granite_forward(const void *self, const struct arch_step *step)
{
    const struct granite *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t n_row = batch->rows.n_row, dim = shape->dim, ff_dim = shape->ff_dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    float eps = m->dense.eps;
    struct scratch scratch = {.base = step->scratch};
    struct dense_rows s = dense_take(&m->dense, &scratch, n_row);

    ops->embed(be, s.x, &m->embed);
    ops->scale(be, s.x, (size_t)n_row * (size_t)dim, m->embed_scale);
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct granite_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        ops->trace(be, "hidden", i, s.x, n_row, dim);

        ops->rmsnorm(be, s.normed, s.x, l->attn_norm, n_row, dim, eps);
        ops->trace(be, "attn_norm", i, s.normed, n_row, dim);
        ops->qkv(be, s.q, s.k, s.v, &l->wq, &l->wk, &l->wv, NULL, NULL, NULL, s.normed, n_row);
        ops->trace(be, "v", i, s.v, n_row, kv_dim);
        ops->rope_kv_append(be, &attn, s.q, s.k, s.v, s.cos_sin);
        ops->trace(be, "q", i, s.q, n_row, q_dim);
        ops->trace(be, "k", i, s.k, n_row, kv_dim);
        ops->attend(be, &attn, s.mixed, s.q);
        ops->trace(be, "mixed", i, s.mixed, n_row, q_dim);
        ops->matmul(be, s.out, &l->wo, NULL, s.mixed, n_row);
        ops->trace(be, "attn_out", i, s.out, n_row, dim);
        ops->scale(be, s.out, (size_t)n_row * (size_t)dim, m->residual_scale);
        ops->add(be, s.x, s.out, (size_t)n_row * (size_t)dim);

        ops->rmsnorm(be, s.normed, s.x, l->ffn_norm, n_row, dim, eps);
        ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
        ops->gate_up_act(be, s.gated, s.up, &l->gate, &l->up, NULL, NULL, s.normed, n_row, LK_ACT_SILU);
        ops->trace(be, "gated", i, s.gated, n_row, ff_dim);
        ops->matmul(be, s.out, &l->down, NULL, s.gated, n_row);
        ops->trace(be, "ffn_out", i, s.out, n_row, dim);
        ops->scale(be, s.out, (size_t)n_row * (size_t)dim, m->residual_scale);
        ops->add(be, s.x, s.out, (size_t)n_row * (size_t)dim);
    }
    ops->trace(be, "blocks_out", -1, s.x, n_row, dim);

    int32_t n_logit = batch->n_logit;
    if (n_logit == 0)
        return;
    ops->gather(be, s.out, s.x, batch->logit_rows, n_logit, dim);
    ops->rmsnorm(be, s.normed, s.out, m->out_norm, n_logit, dim, eps);
    ops->trace(be, "hidden", shape->n_layer, s.normed, n_logit, dim);
    ops->matmul(be, step->logits, m->dense.is_tied ? &m->embed : &m->head, NULL, s.normed, n_logit);
    ops->scale(be, step->logits, (size_t)n_logit * (size_t)shape->n_vocab, m->logit_scale);
    ops->trace(be, "logits", -1, step->logits, n_logit, shape->n_vocab);
}

const struct arch arch_granite = {
    .name = "granite",
    .model_types = (const char *const[]){"granite", NULL},
    .classes = (const char *const[]){"GraniteForCausalLM", NULL},
    .read_config = granite_read_config,
    .bind = granite_bind,
    .scratch_bytes = granite_scratch_bytes,
    .forward = granite_forward,
};
