/* GPT-NeoX: 20B and Pythia.
 *
 * Black et al. 2022, "GPT-NeoX-20B"; Biderman et al. 2023, "Pythia". LayerNorm, GELU, no gate; a part of
 * every head is turned; attention and feed-forward read the stream side by side, each through a norm of its
 * own.
 *
 * From config.json: what src/model/dense.h reads, with layer_norm_eps; rotary_pct, rotary_emb_base;
 * use_parallel_residual (false: one after the other); attention_bias (of both matrices of attention).
 *
 * Peculiar: queries, keys and values of a head are next to each other in one matrix. */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/model.h"
#include "src/model/shape.h"

struct gpt_neox_layer {
    struct dense_norm attn_norm; /* [dim] */
    struct lk_mat wqkv;          /* [n_head][query, key, value][head_dim], [dim] */
    struct lk_mat wo;            /* [dim][n_head * head_dim] */
    const float *bqkv;           /* [3 n_head * head_dim], NULL: none */
    const float *bo;             /* [dim], NULL: none */
    struct dense_norm ffn_norm;  /* [dim] */
    struct lk_mat up;            /* [ff_dim][dim] */
    struct lk_mat down;          /* [dim][ff_dim] */
    const float *bup;            /* [ff_dim] */
    const float *bdown;          /* [dim] */
};

struct gpt_neox {
    struct dense dense;
    enum lk_act act;
    bool has_bias, is_parallel;

    struct lk_mat embed;           /* [n_vocab][dim] */
    struct gpt_neox_layer *layers; /* [n_layer] */
    struct dense_norm out_norm;    /* [dim] */
    struct lk_mat head;            /* [n_vocab][dim]; tied: unused */
};

#define MAX_THETA 1e12

static int gpt_neox_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                                void **ret_self, struct why *why)
{
    static const struct shape_names names = {.dim = "hidden_size",
                                             .n_layer = "num_hidden_layers",
                                             .n_head = "num_attention_heads",
                                             .n_kv_head = "num_attention_heads",
                                             .ff_dim = "intermediate_size",
                                             .n_ctx = "max_position_embeddings"};
    struct dense_want want = {.n_ctx = 2048,
                              .theta = 10000,
                              .eps = 1e-5,
                              .part = 0.25,
                              .names = &names,
                              .eps_key = "layer_norm_eps"};
    struct gpt_neox *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->has_bias = m->is_parallel = true;
    dense_choose_gelu(config, &want, &m->act);
    int r = shape_read_positive(config, "rotary_pct", 1, want.part, &want.part, why);
    r = r ? r : shape_read_positive(config, "rotary_emb_base", MAX_THETA, want.theta, &want.theta, why);
    r = r ? r : dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : json_get_bool(config, "attention_bias", &m->has_bias, why);
    r = r ? r : json_get_bool(config, "use_parallel_residual", &m->is_parallel, why);
    if (r)
        return r;
    m->layers = arena_array(arena, (size_t)m->dense.shape.n_layer, sizeof *m->layers);
    if (!m->layers)
        return -ENOMEM;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int gpt_neox_bind(void *self, struct bind *bind, struct why *why)
{
    struct gpt_neox *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense);
    bool bare = !m->has_bias;
    const struct bind_row outer[] = {
        {"gpt_neox.embed_in.weight", BIND_MATRIX(struct gpt_neox, embed), {n_vocab, dim}, false},
        {"gpt_neox.final_layer_norm.weight", BIND_VECTOR(struct gpt_neox, out_norm.w), {dim}, false},
        {"gpt_neox.final_layer_norm.bias", BIND_VECTOR(struct gpt_neox, out_norm.b), {dim}, false},
        {"embed_out.weight", BIND_MATRIX(struct gpt_neox, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct gpt_neox_layer, attn_norm.w), {dim}, false},
        {"input_layernorm.bias", BIND_VECTOR(struct gpt_neox_layer, attn_norm.b), {dim}, false},
        {"attention.query_key_value.weight",
         BIND_MATRIX(struct gpt_neox_layer, wqkv),
         {3 * q_dim, dim},
         false},
        {"attention.query_key_value.bias", BIND_VECTOR(struct gpt_neox_layer, bqkv), {3 * q_dim}, bare},
        {"attention.dense.weight", BIND_MATRIX(struct gpt_neox_layer, wo), {dim, q_dim}, false},
        {"attention.dense.bias", BIND_VECTOR(struct gpt_neox_layer, bo), {dim}, bare},
        {"post_attention_layernorm.weight", BIND_VECTOR(struct gpt_neox_layer, ffn_norm.w), {dim}, false},
        {"post_attention_layernorm.bias", BIND_VECTOR(struct gpt_neox_layer, ffn_norm.b), {dim}, false},
        {"mlp.dense_h_to_4h.weight", BIND_MATRIX(struct gpt_neox_layer, up), {ff_dim, dim}, false},
        {"mlp.dense_h_to_4h.bias", BIND_VECTOR(struct gpt_neox_layer, bup), {ff_dim}, false},
        {"mlp.dense_4h_to_h.weight", BIND_MATRIX(struct gpt_neox_layer, down), {dim, ff_dim}, false},
        {"mlp.dense_4h_to_h.bias", BIND_VECTOR(struct gpt_neox_layer, bdown), {dim}, false},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++) {
        char mask[64]; /* older files carry the causal mask */
        snprintf(mask, sizeof mask, "gpt_neox.layers.%d.attention.bias", i);
        bind_ignore(bind, mask);
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "gpt_neox.layers.%d.",
                      i);
    }
    if (m->dense.is_tied)
        bind_ignore(bind, "embed_out.weight");
    return r;
}

static size_t gpt_neox_scratch_bytes(const void *self, int32_t max_row)
{
    const struct gpt_neox *m = self;
    struct scratch scratch = {.n_byte = dense_bytes(&m->dense, max_row)};
    scratch_take(&scratch, max_row, dense_q_dim(&m->dense) + 2 * dense_kv_dim(&m->dense));
    return scratch.n_byte;
}

static void gpt_neox_forward(const void *self, const struct arch_step *step)
{
    const struct gpt_neox *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t n_row = batch->rows.n_row, dim = shape->dim, ff_dim = shape->ff_dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    size_t n_ff = (size_t)n_row * (size_t)ff_dim, n_x = (size_t)n_row * (size_t)dim;
    float eps = m->dense.eps;
    struct scratch scratch = {.base = step->scratch};
    struct dense_rows s = dense_take(&m->dense, &scratch, n_row);
    float *fused = scratch_take(&scratch, n_row, q_dim + 2 * kv_dim);

    ops->embed(be, s.x, &m->embed);
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct gpt_neox_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        ops->trace(be, "hidden", i, s.x, n_row, dim);

        ops->layernorm(be, s.normed, s.x, l->attn_norm.w, l->attn_norm.b, n_row, dim, dim, eps);
        ops->trace(be, "attn_norm", i, s.normed, n_row, dim);
        ops->matmul(be, fused, &l->wqkv, l->bqkv, s.normed, n_row);
        ops->qkv_split(be, &attn, s.q, s.k, s.v, fused, n_row);
        ops->trace(be, "v", i, s.v, n_row, kv_dim);
        ops->rope_kv_append(be, &attn, s.q, s.k, s.v, s.cos_sin);
        ops->trace(be, "q", i, s.q, n_row, q_dim);
        ops->trace(be, "k", i, s.k, n_row, kv_dim);
        ops->attend(be, &attn, s.mixed, s.q);
        ops->trace(be, "mixed", i, s.mixed, n_row, q_dim);
        ops->matmul(be, s.out, &l->wo, l->bo, s.mixed, n_row);
        ops->trace(be, "attn_out", i, s.out, n_row, dim);

        if (m->is_parallel) { /* the feed-forward does not see what attention adds */
            ops->layernorm(be, s.normed, s.x, l->ffn_norm.w, l->ffn_norm.b, n_row, dim, dim, eps);
            ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
            ops->add(be, s.x, s.out, n_x);
        } else {
            ops->add(be, s.x, s.out, n_x);
            ops->layernorm(be, s.normed, s.x, l->ffn_norm.w, l->ffn_norm.b, n_row, dim, dim, eps);
            ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
        }
        ops->matmul(be, s.gated, &l->up, l->bup, s.normed, n_row);
        ops->act_mul(be, s.gated, s.gated, NULL, n_ff, m->act);
        ops->trace(be, "gated", i, s.gated, n_row, ff_dim);
        ops->matmul(be, s.out, &l->down, l->bdown, s.gated, n_row);
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

const struct arch arch_gpt_neox = {
    .name = "gpt_neox",
    .model_types = (const char *const[]){"gpt_neox", NULL},
    .classes = (const char *const[]){"GPTNeoXForCausalLM", NULL},
    .read_config = gpt_neox_read_config,
    .bind = gpt_neox_bind,
    .scratch_bytes = gpt_neox_scratch_bytes,
    .forward = gpt_neox_forward,
};
