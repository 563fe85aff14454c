/* gpt-oss: 20B and 120B.
 *
 * Agarwal et al. 2025, "gpt-oss-120b & gpt-oss-20b Model Card". Mixtral's block with biases everywhere; every
 * other layer, the first one included, has a window.
 *
 * From config.json: what src/model/dense.h reads; sliding_window, layer_types; num_local_experts,
 * num_experts_per_tok; intermediate_size is an expert's. swiglu_limit and swiglu_alpha must be those of
 * LK_ACT_SWIGLU_CLAMPED. RoPE scaling must be there, for the reference's default is not none.
 *
 * Peculiar: each head has a sink, the score of one more key without a value; the experts of a layer lie in
 * one tensor, as published in MXFP4 (src/model/stack.h). */
#include "config.h"

#include <errno.h>
#include <sysexits.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/mixture.h"
#include "src/model/model.h"
#include "src/model/shape.h"
#include "src/model/stack.h"
#include "src/model/window.h"

struct gpt_oss_layer {
    const float *attn_norm;    /* [dim] */
    struct lk_mat wq;          /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;      /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;          /* [dim][n_head * head_dim] */
    const float *bq;           /* [n_head * head_dim] */
    const float *bk, *bv;      /* [n_kv_head * head_dim] */
    const float *bo;           /* [dim] */
    const float *sinks;        /* [n_head] */
    const float *ffn_norm;     /* [dim] */
    struct lk_mat router;      /* [n_expert][dim] */
    const float *router_bias;  /* [n_expert] */
    struct lk_expert *experts; /* [n_expert] */
    struct lk_mixture mixture; /* of these experts */
};

struct gpt_oss {
    struct dense dense;
    int32_t *window;           /* [n_layer]: positions a layer sees; 0: all */
    struct lk_mixture mixture; /* each layer's has its own experts */

    struct lk_mat embed;          /* [n_vocab][dim] */
    struct gpt_oss_layer *layers; /* [n_layer] */
    const float *out_norm;        /* [dim] */
    struct lk_mat head;           /* [n_vocab][dim]; tied: unused */
};

static int gpt_oss_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                               void **ret_self, struct why *why)
{
    static const struct dense_want want = {
        .n_ctx = 131072, .theta = 150000, .eps = 1e-5, .quant_method = "mxfp4"};
    int32_t size;
    struct gpt_oss *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : window_read_size(config, 128, &size, why);
    r = r ? r : mixture_read(config, "intermediate_size", m->dense.shape.dim, &m->mixture, why);
    if (!r && !shape_has_key(config, "rope_scaling") && !shape_has_key(config, "rope_parameters"))
        r = why_set(why, EX_DATAERR, "'rope_scaling' is missing");
    r = r ? r : shape_check_number(config, "swiglu_limit", 7, why);
    r = r ? r : shape_check_number(config, "swiglu_alpha", 1.702, why);
    if (r)
        return r;
    int32_t n_layer = m->dense.shape.n_layer;
    m->mixture.act = LK_ACT_SWIGLU_CLAMPED;
    m->window = arena_array(arena, (size_t)n_layer, sizeof *m->window);
    m->layers = arena_array(arena, (size_t)n_layer, sizeof *m->layers);
    if (!m->window || !m->layers)
        return -ENOMEM;
    for (int32_t i = 0; i < n_layer; i++) {
        struct gpt_oss_layer *l = &m->layers[i];
        m->window[i] = i % 2 ? 0 : size;
        l->experts = mixture_of_layer(&m->mixture, arena, &l->mixture);
        if (!l->experts)
            return -ENOMEM;
    }
    r = window_by_layer_types(config, size, m->window, n_layer, why);
    mixture_note(&m->mixture, n_layer, &m->dense.shape);
    m->dense.shape.window = m->window;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return r;
}

static int gpt_oss_bind(void *self, struct bind *bind, struct why *why)
{
    struct gpt_oss *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    int32_t n_expert = m->mixture.n_expert;
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct gpt_oss, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_VECTOR(struct gpt_oss, out_norm), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct gpt_oss, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct gpt_oss_layer, attn_norm), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct gpt_oss_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct gpt_oss_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct gpt_oss_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct gpt_oss_layer, wo), {dim, q_dim}, false},
        {"self_attn.q_proj.bias", BIND_VECTOR(struct gpt_oss_layer, bq), {q_dim}, false},
        {"self_attn.k_proj.bias", BIND_VECTOR(struct gpt_oss_layer, bk), {kv_dim}, false},
        {"self_attn.v_proj.bias", BIND_VECTOR(struct gpt_oss_layer, bv), {kv_dim}, false},
        {"self_attn.o_proj.bias", BIND_VECTOR(struct gpt_oss_layer, bo), {dim}, false},
        {"self_attn.sinks", BIND_VECTOR(struct gpt_oss_layer, sinks), {shape->n_head}, false},
        {"post_attention_layernorm.weight", BIND_VECTOR(struct gpt_oss_layer, ffn_norm), {dim}, false},
        {"mlp.router.weight", BIND_MATRIX(struct gpt_oss_layer, router), {n_expert, dim}, false},
        {"mlp.router.bias", BIND_VECTOR(struct gpt_oss_layer, router_bias), {n_expert}, false},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++) {
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
        r = r ? r : stack_bind(bind, m->layers[i].experts, &m->mixture, i, "mlp.experts", why);
    }
    if (m->dense.is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

/* What a step works in besides the dense rows. */
struct gpt_oss_scratch {
    float *router; /* [n_row][n_expert]: logits */
    void *mixture; /* lk_mixture_bytes */
};

static struct gpt_oss_scratch gpt_oss_take(const struct gpt_oss *m, struct scratch *scratch, int32_t n_row)
{
    return (struct gpt_oss_scratch){
        .router = scratch_take(scratch, n_row, m->mixture.n_expert),
        .mixture = scratch_take_bytes(scratch, lk_mixture_bytes(&m->mixture, n_row)),
    };
}

static size_t gpt_oss_scratch_bytes(const void *self, int32_t max_row)
{
    const struct gpt_oss *m = self;
    struct scratch scratch = {0};
    dense_take(&m->dense, &scratch, max_row);
    gpt_oss_take(m, &scratch, max_row);
    return scratch.n_byte;
}

static void gpt_oss_forward(const void *self, const struct arch_step *step)
{
    const struct gpt_oss *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t n_row = batch->rows.n_row, dim = shape->dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    float eps = m->dense.eps;
    struct scratch scratch = {.base = step->scratch};
    struct dense_rows s = dense_take(&m->dense, &scratch, n_row);
    struct gpt_oss_scratch experts = gpt_oss_take(m, &scratch, n_row);

    ops->embed(be, s.x, &m->embed);
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct gpt_oss_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        attn.window = m->window[i];
        attn.sinks = l->sinks;
        ops->trace(be, "hidden", i, s.x, n_row, dim);

        ops->rmsnorm(be, s.normed, s.x, l->attn_norm, n_row, dim, eps);
        ops->trace(be, "attn_norm", i, s.normed, n_row, dim);
        ops->qkv(be, s.q, s.k, s.v, &l->wq, &l->wk, &l->wv, l->bq, l->bk, l->bv, s.normed, n_row);
        ops->trace(be, "v", i, s.v, n_row, kv_dim);
        ops->rope_kv_append(be, &attn, s.q, s.k, s.v, s.cos_sin);
        ops->trace(be, "q", i, s.q, n_row, q_dim);
        ops->trace(be, "k", i, s.k, n_row, kv_dim);
        ops->attend(be, &attn, s.mixed, s.q);
        ops->trace(be, "mixed", i, s.mixed, n_row, q_dim);
        ops->matmul(be, s.out, &l->wo, l->bo, s.mixed, n_row);
        ops->trace(be, "attn_out", i, s.out, n_row, dim);
        ops->add(be, s.x, s.out, (size_t)n_row * (size_t)dim);

        ops->rmsnorm(be, s.normed, s.x, l->ffn_norm, n_row, dim, eps);
        ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
        ops->matmul(be, experts.router, &l->router, l->router_bias, s.normed, n_row);
        ops->trace(be, "router", i, experts.router, n_row, m->mixture.n_expert);
        ops->mix(be, s.out, &l->mixture, experts.router, s.normed, n_row, experts.mixture);
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

const struct arch arch_gpt_oss = {
    .name = "gpt_oss",
    .model_types = (const char *const[]){"gpt_oss", NULL},
    .classes = (const char *const[]){"GptOssForCausalLM", NULL},
    .read_config = gpt_oss_read_config,
    .bind = gpt_oss_bind,
    .scratch_bytes = gpt_oss_scratch_bytes,
    .forward = gpt_oss_forward,
};
