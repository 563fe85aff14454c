/* Mixtral: 8x7B and 8x22B.
 *
 * Jiang et al. 2024, "Mixtral of Experts". Mistral's block; each position uses two of eight feed-forward
 * networks, which a router chooses.
 *
 * From config.json: what src/model/dense.h reads, sliding_window, num_local_experts, num_experts_per_tok;
 * intermediate_size is an expert's.
 *
 * Peculiar: the weights of the chosen experts are a softmax over their logits alone. */
#include "config.h"

#include <errno.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/mixture.h"
#include "src/model/model.h"
#include "src/model/window.h"

struct mixtral_layer {
    const float *attn_norm;    /* [dim] */
    struct lk_mat wq;          /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;      /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;          /* [dim][n_head * head_dim] */
    const float *ffn_norm;     /* [dim] */
    struct lk_mat router;      /* [n_expert][dim] */
    struct lk_expert *experts; /* [n_expert] */
    struct lk_mixture mixture; /* of these experts */
};

struct mixtral {
    struct dense dense;
    struct lk_mixture mixture; /* each layer's has its own experts */

    struct lk_mat embed;          /* [n_vocab][dim] */
    struct mixtral_layer *layers; /* [n_layer] */
    const float *out_norm;        /* [dim] */
    struct lk_mat head;           /* [n_vocab][dim]; tied: unused */
};

static int mixtral_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                               void **ret_self, struct why *why)
{
    static const struct dense_want want = {.n_ctx = 131072, .theta = 1e6, .eps = 1e-5};
    struct mixtral *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : window_read_size(config, 0, &m->dense.attn.window, why);
    r = r ? r : mixture_read(config, "intermediate_size", m->dense.shape.dim, &m->mixture, why);
    r = r ? r : window_of_all(m->dense.attn.window, arena, &m->dense.shape);
    if (r)
        return r;
    m->layers = arena_array(arena, (size_t)m->dense.shape.n_layer, sizeof *m->layers);
    if (!m->layers)
        return -ENOMEM;
    for (int32_t i = 0; i < m->dense.shape.n_layer; i++) {
        struct mixtral_layer *l = &m->layers[i];
        l->experts = mixture_of_layer(&m->mixture, arena, &l->mixture);
        if (!l->experts)
            return -ENOMEM;
    }
    mixture_note(&m->mixture, m->dense.shape.n_layer, &m->dense.shape);
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int mixtral_bind(void *self, struct bind *bind, struct why *why)
{
    struct mixtral *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct mixtral, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_VECTOR(struct mixtral, out_norm), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct mixtral, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct mixtral_layer, attn_norm), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct mixtral_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct mixtral_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct mixtral_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct mixtral_layer, wo), {dim, q_dim}, false},
        {"post_attention_layernorm.weight", BIND_VECTOR(struct mixtral_layer, ffn_norm), {dim}, false},
        {"block_sparse_moe.gate.weight",
         BIND_MATRIX(struct mixtral_layer, router),
         {m->mixture.n_expert, dim},
         false},
    };
    static const struct mixture_names names = {.gate = "w1", .up = "w3", .down = "w2"};
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++) {
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
        r = r ? r : mixture_bind(bind, m->layers[i].experts, &m->mixture, i, "block_sparse_moe", &names, why);
    }
    if (m->dense.is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

/* What a step works in besides the dense rows. */
struct mixtral_scratch {
    float *router; /* [n_row][n_expert]: logits */
    void *mixture; /* lk_mixture_bytes */
};

static struct mixtral_scratch mixtral_take(const struct mixtral *m, struct scratch *scratch, int32_t n_row)
{
    return (struct mixtral_scratch){
        .router = scratch_take(scratch, n_row, m->mixture.n_expert),
        .mixture = scratch_take_bytes(scratch, lk_mixture_bytes(&m->mixture, n_row)),
    };
}

static size_t mixtral_scratch_bytes(const void *self, int32_t max_row)
{
    const struct mixtral *m = self;
    struct scratch scratch = {0};
    dense_take(&m->dense, &scratch, max_row);
    mixtral_take(m, &scratch, max_row);
    return scratch.n_byte;
}

static void mixtral_forward(const void *self, const struct arch_step *step)
{
    const struct mixtral *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t n_row = batch->rows.n_row, dim = shape->dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    float eps = m->dense.eps;
    struct scratch scratch = {.base = step->scratch};
    struct dense_rows s = dense_take(&m->dense, &scratch, n_row);
    struct mixtral_scratch experts = mixtral_take(m, &scratch, n_row);

    ops->embed(be, s.x, &m->embed);
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct mixtral_layer *l = &m->layers[i];
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
        ops->matmul(be, experts.router, &l->router, NULL, s.normed, n_row);
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

const struct arch arch_mixtral = {
    .name = "mixtral",
    .model_types = (const char *const[]){"mixtral", NULL},
    .classes = (const char *const[]){"MixtralForCausalLM", NULL},
    .read_config = mixtral_read_config,
    .bind = mixtral_bind,
    .scratch_bytes = mixtral_scratch_bytes,
    .forward = mixtral_forward,
};
