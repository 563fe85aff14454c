/* Phi: 1, 1.5 and 2.
 *
 * Gunasekar et al. 2023, "Textbooks Are All You Need"; Li et al. 2023, "phi-1.5 technical report". Attention
 * and feed-forward read the same LayerNorm of the stream, side by side; GELU, no gate; a part of every head
 * is turned.
 *
 * From config.json: what src/model/dense.h reads, with layer_norm_eps; qk_layernorm (every head of queries
 * and keys goes through a LayerNorm). Older files (phi-msft) say n_embd, n_layer, n_head, n_head_kv, n_inner,
 * n_positions, rotary_dim, layer_norm_epsilon and activation_function.
 *
 * Peculiar: everything has a bias, the output head too. */
#include "config.h"

#include <errno.h>
#include <sysexits.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/model.h"
#include "src/model/shape.h"

struct phi_layer {
    struct dense_norm norm;           /* [dim] */
    struct lk_mat wq;                 /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;             /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;                 /* [dim][n_head * head_dim] */
    const float *bq;                  /* [n_head * head_dim] */
    const float *bk, *bv;             /* [n_kv_head * head_dim] */
    const float *bo;                  /* [dim] */
    struct dense_norm q_norm, k_norm; /* [head_dim], NULL: none */
    struct lk_mat fc1;                /* [ff_dim][dim] */
    struct lk_mat fc2;                /* [dim][ff_dim] */
    const float *b1;                  /* [ff_dim] */
    const float *b2;                  /* [dim] */
};

struct phi {
    struct dense dense;
    bool has_qk_norm;

    struct lk_mat embed;        /* [n_vocab][dim] */
    struct phi_layer *layers;   /* [n_layer] */
    struct dense_norm out_norm; /* [dim] */
    struct lk_mat head;         /* [n_vocab][dim] */
    const float *bhead;         /* [n_vocab] */
};

/* The keys of older files; their rotary_dim becomes a part of a head. */
static int expect_older(const struct json *config, struct dense_want *want, struct why *why)
{
    static const struct shape_names names = {.dim = "n_embd",
                                             .n_layer = "n_layer",
                                             .n_head = "n_head",
                                             .n_kv_head = "n_head_kv",
                                             .ff_dim = "n_inner",
                                             .n_ctx = "n_positions",
                                             .may_lack_ff = true};
    int64_t n_rot = 32, n_embd = 0, n_head = 0;
    int r = json_get_int(config, "n_embd", true, 1, SHAPE_MAX_WIDTH, &n_embd, why);
    r = r ? r : json_get_int(config, "n_head", true, 1, SHAPE_MAX_HEAD, &n_head, why);
    r = r ? r : json_get_int(config, "rotary_dim", false, 2, SHAPE_MAX_HEAD_DIM, &n_rot, why);
    if (!r && n_rot > n_embd / n_head)
        r = why_set(why, EX_DATAERR, "rotary_dim is %d, heads are %d", (int)n_rot, (int)(n_embd / n_head));
    if (r)
        return r;
    want->names = &names;
    want->eps_key = "layer_norm_epsilon";
    want->act_key = "activation_function";
    want->part = (double)n_rot / (double)(n_embd / n_head);
    return 0;
}

static int phi_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                           void **ret_self, struct why *why)
{
    static const char *const acts[] = {"gelu_new", "gelu_pytorch_tanh", "gelu_fast", NULL};
    struct dense_want want = {
        .n_ctx = 2048, .theta = 10000, .eps = 1e-5, .part = 0.5, .eps_key = "layer_norm_eps", .acts = acts};
    struct phi *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = json_get(config, "n_embd") ? expect_older(config, &want, why) : 0;
    r = r ? r : dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : json_get_bool(config, "qk_layernorm", &m->has_qk_norm, why);
    if (!r && m->dense.is_tied)
        r = why_set(why, EX_DATAERR,
                    "tie_word_embeddings is set, which this architecture does not implement");
    if (r)
        return r;
    m->layers = arena_array(arena, (size_t)m->dense.shape.n_layer, sizeof *m->layers);
    if (!m->layers)
        return -ENOMEM;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int phi_bind(void *self, struct bind *bind, struct why *why)
{
    struct phi *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab, head_dim = shape->head_dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    bool bare = !m->has_qk_norm;
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct phi, embed), {n_vocab, dim}, false},
        {"model.final_layernorm.weight", BIND_VECTOR(struct phi, out_norm.w), {dim}, false},
        {"model.final_layernorm.bias", BIND_VECTOR(struct phi, out_norm.b), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct phi, head), {n_vocab, dim}, false},
        {"lm_head.bias", BIND_VECTOR(struct phi, bhead), {n_vocab}, false},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct phi_layer, norm.w), {dim}, false},
        {"input_layernorm.bias", BIND_VECTOR(struct phi_layer, norm.b), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct phi_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct phi_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct phi_layer, wv), {kv_dim, dim}, false},
        {"self_attn.dense.weight", BIND_MATRIX(struct phi_layer, wo), {dim, q_dim}, false},
        {"self_attn.q_proj.bias", BIND_VECTOR(struct phi_layer, bq), {q_dim}, false},
        {"self_attn.k_proj.bias", BIND_VECTOR(struct phi_layer, bk), {kv_dim}, false},
        {"self_attn.v_proj.bias", BIND_VECTOR(struct phi_layer, bv), {kv_dim}, false},
        {"self_attn.dense.bias", BIND_VECTOR(struct phi_layer, bo), {dim}, false},
        {"self_attn.q_layernorm.weight", BIND_VECTOR(struct phi_layer, q_norm.w), {head_dim}, bare},
        {"self_attn.q_layernorm.bias", BIND_VECTOR(struct phi_layer, q_norm.b), {head_dim}, bare},
        {"self_attn.k_layernorm.weight", BIND_VECTOR(struct phi_layer, k_norm.w), {head_dim}, bare},
        {"self_attn.k_layernorm.bias", BIND_VECTOR(struct phi_layer, k_norm.b), {head_dim}, bare},
        {"mlp.fc1.weight", BIND_MATRIX(struct phi_layer, fc1), {ff_dim, dim}, false},
        {"mlp.fc1.bias", BIND_VECTOR(struct phi_layer, b1), {ff_dim}, false},
        {"mlp.fc2.weight", BIND_MATRIX(struct phi_layer, fc2), {dim, ff_dim}, false},
        {"mlp.fc2.bias", BIND_VECTOR(struct phi_layer, b2), {dim}, false},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++)
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
    return r;
}

static size_t phi_scratch_bytes(const void *self, int32_t max_row)
{
    const struct phi *m = self;
    return dense_bytes(&m->dense, max_row);
}

static void phi_forward(const void *self, const struct arch_step *step)
{
    const struct phi *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t n_row = batch->rows.n_row, dim = shape->dim, ff_dim = shape->ff_dim;
    int32_t n_head = shape->n_head, n_kv_head = shape->n_kv_head, head_dim = shape->head_dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    size_t n_ff = (size_t)n_row * (size_t)ff_dim, n_x = (size_t)n_row * (size_t)dim;
    float eps = m->dense.eps;
    struct scratch scratch = {.base = step->scratch};
    struct dense_rows s = dense_take(&m->dense, &scratch, n_row);

    ops->embed(be, s.x, &m->embed);
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct phi_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        ops->trace(be, "hidden", i, s.x, n_row, dim);

        ops->layernorm(be, s.normed, s.x, l->norm.w, l->norm.b, n_row, dim, dim, eps);
        ops->trace(be, "attn_norm", i, s.normed, n_row, dim);
        ops->qkv(be, s.q, s.k, s.v, &l->wq, &l->wk, &l->wv, l->bq, l->bk, l->bv, s.normed, n_row);
        ops->trace(be, "v", i, s.v, n_row, kv_dim);
        if (m->has_qk_norm) {
            ops->layernorm(be, s.q, s.q, l->q_norm.w, l->q_norm.b, n_row * n_head, head_dim, head_dim, eps);
            ops->layernorm(be, s.k, s.k, l->k_norm.w, l->k_norm.b, n_row * n_kv_head, head_dim, head_dim,
                           eps);
        }
        ops->rope_kv_append(be, &attn, s.q, s.k, s.v, s.cos_sin);
        ops->trace(be, "q", i, s.q, n_row, q_dim);
        ops->trace(be, "k", i, s.k, n_row, kv_dim);
        ops->attend(be, &attn, s.mixed, s.q);
        ops->trace(be, "mixed", i, s.mixed, n_row, q_dim);
        ops->matmul(be, s.out, &l->wo, l->bo, s.mixed, n_row);
        ops->trace(be, "attn_out", i, s.out, n_row, dim);
        ops->add(be, s.x, s.out, n_x);

        ops->matmul(be, s.gated, &l->fc1, l->b1, s.normed, n_row);
        ops->act_mul(be, s.gated, s.gated, NULL, n_ff, LK_ACT_GELU_TANH);
        ops->trace(be, "gated", i, s.gated, n_row, ff_dim);
        ops->matmul(be, s.out, &l->fc2, l->b2, s.gated, n_row);
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
    ops->matmul(be, step->logits, &m->head, m->bhead, s.normed, n_logit);
    ops->trace(be, "logits", -1, step->logits, n_logit, shape->n_vocab);
}

const struct arch arch_phi = {
    .name = "phi",
    .model_types = (const char *const[]){"phi", "phi-msft", NULL},
    .classes = (const char *const[]){"PhiForCausalLM", NULL},
    .read_config = phi_read_config,
    .bind = phi_bind,
    .scratch_bytes = phi_scratch_bytes,
    .forward = phi_forward,
};
