/* Mistral: 7B and Nemo.
 *
 * Jiang et al. 2023, "Mistral 7B". Llama's block; attention may see a window of the last positions only.
 *
 * From config.json: what src/model/dense.h reads (Nemo has a head_dim of its own), sliding_window.
 *
 * Peculiar: the window of the first 7B is 4,096 positions; later models have none. */
#include "config.h"

#include <errno.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/model.h"
#include "src/model/window.h"

struct mistral_layer {
    const float *attn_norm; /* [dim] */
    struct lk_mat wq;       /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;   /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;       /* [dim][n_head * head_dim] */
    const float *ffn_norm;  /* [dim] */
    struct lk_mat gate, up; /* [ff_dim][dim] */
    struct lk_mat down;     /* [dim][ff_dim] */
};

struct mistral {
    struct dense dense;

    struct lk_mat embed;          /* [n_vocab][dim] */
    struct mistral_layer *layers; /* [n_layer] */
    const float *out_norm;        /* [dim] */
    struct lk_mat head;           /* [n_vocab][dim]; tied: unused */
};

static int mistral_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                               void **ret_self, struct why *why)
{
    static const struct dense_want want = {.n_ctx = 131072, .theta = 10000, .eps = 1e-6};
    struct mistral *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : window_read_size(config, 4096, &m->dense.attn.window, why);
    r = r ? r : window_of_all(m->dense.attn.window, arena, &m->dense.shape);
    if (r)
        return r;
    m->layers = arena_array(arena, (size_t)m->dense.shape.n_layer, sizeof *m->layers);
    if (!m->layers)
        return -ENOMEM;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int mistral_bind(void *self, struct bind *bind, struct why *why)
{
    struct mistral *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct mistral, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_VECTOR(struct mistral, out_norm), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct mistral, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct mistral_layer, attn_norm), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct mistral_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct mistral_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct mistral_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct mistral_layer, wo), {dim, q_dim}, false},
        {"post_attention_layernorm.weight", BIND_VECTOR(struct mistral_layer, ffn_norm), {dim}, false},
        {"mlp.gate_proj.weight", BIND_MATRIX(struct mistral_layer, gate), {ff_dim, dim}, false},
        {"mlp.up_proj.weight", BIND_MATRIX(struct mistral_layer, up), {ff_dim, dim}, false},
        {"mlp.down_proj.weight", BIND_MATRIX(struct mistral_layer, down), {dim, ff_dim}, false},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++)
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
    if (m->dense.is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

static size_t mistral_scratch_bytes(const void *self, int32_t max_row)
{
    const struct mistral *m = self;
    return dense_bytes(&m->dense, max_row);
}

static void mistral_forward(const void *self, const struct arch_step *step)
{
    const struct mistral *m = self;
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
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct mistral_layer *l = &m->layers[i];
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
        ops->add(be, s.x, s.out, (size_t)n_row * (size_t)dim);

        ops->rmsnorm(be, s.normed, s.x, l->ffn_norm, n_row, dim, eps);
        ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
        ops->gate_up_act(be, s.gated, s.up, &l->gate, &l->up, NULL, NULL, s.normed, n_row, LK_ACT_SILU);
        ops->trace(be, "gated", i, s.gated, n_row, ff_dim);
        ops->matmul(be, s.out, &l->down, NULL, s.gated, n_row);
        ops->trace(be, "ffn_out", i, s.out, n_row, dim);
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
    ops->trace(be, "logits", -1, step->logits, n_logit, shape->n_vocab);
}

const struct arch arch_mistral = {
    .name = "mistral",
    .model_types = (const char *const[]){"mistral", NULL},
    .classes = (const char *const[]){"MistralForCausalLM", NULL},
    .read_config = mistral_read_config,
    .bind = mistral_bind,
    .scratch_bytes = mistral_scratch_bytes,
    .forward = mistral_forward,
};
