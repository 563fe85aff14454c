/* Gemma 2.
 *
 * Gemma Team 2024, "Gemma 2: Improving Open Language Models at a Practical Size". Gemma's block with a norm
 * behind attention and feed-forward as well; every other layer sees a window; scores and logits have soft
 * caps.
 *
 * From config.json: what src/model/dense.h reads; query_pre_attn_scalar (scores are multiplied by one over
 * its root); attn_logit_softcapping, final_logit_softcapping (null: none); sliding_window, for even layers or
 * by layer_types (src/model/window.h).
 *
 * Peculiar: as in Gemma, 1 + w, and an embedding that is scaled and is the output head. */
#include "config.h"

#include <errno.h>
#include <math.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/model.h"
#include "src/model/shape.h"
#include "src/model/window.h"

#define MAX_SCALAR 1e6

struct gemma2_layer {
    const float *attn_norm;     /* [dim] */
    struct lk_mat wq;           /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;       /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;           /* [dim][n_head * head_dim] */
    const float *attn_out_norm; /* [dim] */
    const float *ffn_norm;      /* [dim] */
    struct lk_mat gate, up;     /* [ff_dim][dim] */
    struct lk_mat down;         /* [dim][ff_dim] */
    const float *ffn_out_norm;  /* [dim] */
};

struct gemma2 {
    struct dense dense;
    int32_t *window; /* [n_layer]: positions a layer sees; 0: all */
    float logit_cap; /* 0: none */

    struct lk_mat embed;         /* [n_vocab][dim] */
    struct gemma2_layer *layers; /* [n_layer] */
    const float *out_norm;       /* [dim] */
    struct lk_mat head;          /* [n_vocab][dim]; tied: unused */
};

static int gemma2_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                              void **ret_self, struct why *why)
{
    static const struct dense_want want = {.n_ctx = 8192,
                                           .theta = 10000,
                                           .eps = 1e-6,
                                           .is_tied = true,
                                           .act_key = "hidden_activation",
                                           .acts = dense_gelu_tanh};
    static const char *const refused[] = {"attention_bias", NULL};
    double score_cap = 50, logit_cap = 30, scalar = 256;
    int32_t size;
    struct gemma2 *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : shape_refuse(config, refused, why);
    r = r ? r : shape_read_positive(config, "query_pre_attn_scalar", MAX_SCALAR, scalar, &scalar, why);
    r = r ? r : shape_read_cap(config, "attn_logit_softcapping", &score_cap, why);
    r = r ? r : shape_read_cap(config, "final_logit_softcapping", &logit_cap, why);
    r = r ? r : window_read_size(config, 4096, &size, why);
    if (r)
        return r;
    int32_t n_layer = m->dense.shape.n_layer;
    m->window = arena_array(arena, (size_t)n_layer, sizeof *m->window);
    m->layers = arena_array(arena, (size_t)n_layer, sizeof *m->layers);
    if (!m->window || !m->layers)
        return -ENOMEM;
    for (int32_t i = 0; i < n_layer; i++)
        m->window[i] = i % 2 ? 0 : size;
    r = window_by_layer_types(config, size, m->window, n_layer, why);
    if (r)
        return r;
    m->dense.attn.scale = (float)(1 / sqrt(scalar));
    m->dense.attn.soft_cap = (float)score_cap;
    m->logit_cap = (float)logit_cap;
    m->dense.shape.window = m->window;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int gemma2_bind(void *self, struct bind *bind, struct why *why)
{
    struct gemma2 *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct gemma2, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_OFFSET(struct gemma2, out_norm), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct gemma2, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_OFFSET(struct gemma2_layer, attn_norm), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct gemma2_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct gemma2_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct gemma2_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct gemma2_layer, wo), {dim, q_dim}, false},
        {"post_attention_layernorm.weight", BIND_OFFSET(struct gemma2_layer, attn_out_norm), {dim}, false},
        {"pre_feedforward_layernorm.weight", BIND_OFFSET(struct gemma2_layer, ffn_norm), {dim}, false},
        {"mlp.gate_proj.weight", BIND_MATRIX(struct gemma2_layer, gate), {ff_dim, dim}, false},
        {"mlp.up_proj.weight", BIND_MATRIX(struct gemma2_layer, up), {ff_dim, dim}, false},
        {"mlp.down_proj.weight", BIND_MATRIX(struct gemma2_layer, down), {dim, ff_dim}, false},
        {"post_feedforward_layernorm.weight", BIND_OFFSET(struct gemma2_layer, ffn_out_norm), {dim}, false},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++)
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
    if (m->dense.is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

static size_t gemma2_scratch_bytes(const void *self, int32_t max_row)
{
    const struct gemma2 *m = self;
    return dense_bytes(&m->dense, max_row);
}

static void gemma2_forward(const void *self, const struct arch_step *step)
{
    const struct gemma2 *m = self;
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
    ops->scale(be, s.x, (size_t)n_row * (size_t)dim, sqrtf((float)dim));
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct gemma2_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        attn.window = m->window[i];
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
        ops->rmsnorm(be, s.normed, s.out, l->attn_out_norm, n_row, dim, eps);
        ops->add(be, s.x, s.normed, (size_t)n_row * (size_t)dim);

        ops->rmsnorm(be, s.normed, s.x, l->ffn_norm, n_row, dim, eps);
        ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
        ops->gate_up_act(be, s.gated, s.up, &l->gate, &l->up, NULL, NULL, s.normed, n_row, LK_ACT_GELU_TANH);
        ops->trace(be, "gated", i, s.gated, n_row, ff_dim);
        ops->matmul(be, s.out, &l->down, NULL, s.gated, n_row);
        ops->trace(be, "ffn_out", i, s.out, n_row, dim);
        ops->rmsnorm(be, s.normed, s.out, l->ffn_out_norm, n_row, dim, eps);
        ops->add(be, s.x, s.normed, (size_t)n_row * (size_t)dim);
    }
    ops->trace(be, "blocks_out", -1, s.x, n_row, dim);

    int32_t n_logit = batch->n_logit;
    if (n_logit == 0)
        return;
    ops->gather(be, s.out, s.x, batch->logit_rows, n_logit, dim);
    ops->rmsnorm(be, s.normed, s.out, m->out_norm, n_logit, dim, eps);
    ops->trace(be, "hidden", shape->n_layer, s.normed, n_logit, dim);
    ops->matmul(be, step->logits, m->dense.is_tied ? &m->embed : &m->head, NULL, s.normed, n_logit);
    if (m->logit_cap > 0)
        ops->soft_cap(be, step->logits, (size_t)n_logit * (size_t)shape->n_vocab, m->logit_cap);
    ops->trace(be, "logits", -1, step->logits, n_logit, shape->n_vocab);
}

const struct arch arch_gemma2 = {
    .name = "gemma2",
    .model_types = (const char *const[]){"gemma2", NULL},
    .classes = (const char *const[]){"Gemma2ForCausalLM", NULL},
    .read_config = gemma2_read_config,
    .bind = gemma2_bind,
    .scratch_bytes = gemma2_scratch_bytes,
    .forward = gemma2_forward,
};
