/* Qwen3 with mixtures of experts: 30B-A3B, 235B-A22B.
 *
 * Yang et al. 2025, "Qwen3 Technical Report". Qwen3's block; each position uses a few of many small
 * feed-forward networks, which a router chooses.
 *
 * From config.json: what src/model/dense.h reads; use_sliding_window and sliding_window, of every layer;
 * num_experts, num_experts_per_tok, moe_intermediate_size, norm_topk_prob, decoder_sparse_step,
 * mlp_only_layers (src/model/mixture.h).
 *
 * Peculiar: layers without a mixture have a feed-forward network of intermediate_size. */
#include "config.h"

#include <errno.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/mixture.h"
#include "src/model/model.h"
#include "src/model/shape.h"
#include "src/model/window.h"

struct qwen3_moe_layer {
    const float *attn_norm; /* [dim] */
    struct lk_mat wq;       /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;   /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;       /* [dim][n_head * head_dim] */
    const float *q_norm;    /* [head_dim] */
    const float *k_norm;    /* [head_dim] */
    const float *ffn_norm;  /* [dim] */

    /* A layer without a mixture: */
    struct lk_mat gate, up; /* [ff_dim][dim] */
    struct lk_mat down;     /* [dim][ff_dim] */

    /* A layer with one: */
    bool is_mixture;
    struct lk_mat router;      /* [n_expert][dim] */
    struct lk_expert *experts; /* [n_expert] */
    struct lk_mixture mixture; /* of these experts */
};

struct qwen3_moe {
    struct dense dense;
    struct lk_mixture mixture; /* each layer's has its own experts */

    struct lk_mat embed;            /* [n_vocab][dim] */
    struct qwen3_moe_layer *layers; /* [n_layer] */
    const float *out_norm;          /* [dim] */
    struct lk_mat head;             /* [n_vocab][dim]; tied: unused */
};

static int qwen3_moe_read_mixture(const struct json *config, struct arena *arena, struct qwen3_moe *m,
                                  struct why *why)
{
    int32_t n_layer = m->dense.shape.n_layer;
    bool *is_mixture = arena_array(arena, (size_t)n_layer, sizeof *is_mixture), is_normalized = false;
    if (!is_mixture)
        return -ENOMEM;
    int r = mixture_read(config, "moe_intermediate_size", m->dense.shape.dim, &m->mixture, why);
    r = r ? r : json_get_bool(config, "norm_topk_prob", &is_normalized, why);
    r = r ? r : mixture_read_layers(config, is_mixture, n_layer, why);
    if (r)
        return r;
    m->mixture.is_normalized = is_normalized;
    int32_t n_mixture = 0;
    for (int32_t i = 0; i < n_layer; i++) {
        struct qwen3_moe_layer *l = &m->layers[i];
        l->is_mixture = is_mixture[i];
        if (!l->is_mixture)
            continue;
        n_mixture++;
        l->experts = mixture_of_layer(&m->mixture, arena, &l->mixture);
        if (!l->experts)
            return -ENOMEM;
    }
    mixture_note(&m->mixture, n_mixture, &m->dense.shape);
    return 0;
}

static int qwen3_moe_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                                 void **ret_self, struct why *why)
{
    static const struct dense_want want = {.n_ctx = 32768, .theta = 10000, .eps = 1e-6};
    static const char *const refused[] = {"attention_bias", NULL};
    struct qwen3_moe *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : shape_refuse(config, refused, why);
    if (r)
        return r;
    int32_t n_layer = m->dense.shape.n_layer;
    m->layers = arena_array(arena, (size_t)n_layer, sizeof *m->layers);
    if (!m->layers)
        return -ENOMEM;
    bool is_used = false;
    int32_t window = 0;
    r = json_get_bool(config, "use_sliding_window", &is_used, why);
    r = r ? r : window_read_size(config, 4096, &window, why);
    m->dense.attn.window = is_used ? window : 0;
    r = r ? r : window_of_all(m->dense.attn.window, arena, &m->dense.shape);
    r = r ? r : qwen3_moe_read_mixture(config, arena, m, why);
    if (r)
        return r;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int qwen3_moe_bind(void *self, struct bind *bind, struct why *why)
{
    struct qwen3_moe *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    int32_t head_dim = shape->head_dim;
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct qwen3_moe, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_VECTOR(struct qwen3_moe, out_norm), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct qwen3_moe, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct qwen3_moe_layer, attn_norm), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct qwen3_moe_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct qwen3_moe_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct qwen3_moe_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct qwen3_moe_layer, wo), {dim, q_dim}, false},
        {"self_attn.q_norm.weight", BIND_VECTOR(struct qwen3_moe_layer, q_norm), {head_dim}, false},
        {"self_attn.k_norm.weight", BIND_VECTOR(struct qwen3_moe_layer, k_norm), {head_dim}, false},
        {"post_attention_layernorm.weight", BIND_VECTOR(struct qwen3_moe_layer, ffn_norm), {dim}, false},
    };
    const struct bind_row plain[] = {
        {"gate_proj.weight", BIND_MATRIX(struct qwen3_moe_layer, gate), {ff_dim, dim}, false},
        {"up_proj.weight", BIND_MATRIX(struct qwen3_moe_layer, up), {ff_dim, dim}, false},
        {"down_proj.weight", BIND_MATRIX(struct qwen3_moe_layer, down), {dim, ff_dim}, false},
    };
    const struct bind_row mixture[] = {
        {"gate.weight", BIND_MATRIX(struct qwen3_moe_layer, router), {m->mixture.n_expert, dim}, false},
    };
    static const struct mixture_names names = {.gate = "gate_proj", .up = "up_proj", .down = "down_proj"};
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++) {
        struct qwen3_moe_layer *l = &m->layers[i];
        r = bind_rows(bind, l, layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
        if (!l->is_mixture) {
            r = r ? r
                  : bind_rows(bind, l, plain, sizeof plain / sizeof *plain, why, "model.layers.%d.mlp.", i);
            continue;
        }
        r = r ? r
              : bind_rows(bind, l, mixture, sizeof mixture / sizeof *mixture, why, "model.layers.%d.mlp.", i);
        r = r ? r : mixture_bind(bind, l->experts, &m->mixture, i, "mlp", &names, why);
    }
    if (m->dense.is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

/* What a step works in besides the dense rows. */
struct qwen3_moe_scratch {
    float *router; /* [n_row][n_expert]: logits */
    void *mixture; /* lk_mixture_bytes */
};

static struct qwen3_moe_scratch qwen3_moe_take(const struct qwen3_moe *m, struct scratch *scratch,
                                               int32_t n_row)
{
    return (struct qwen3_moe_scratch){
        .router = scratch_take(scratch, n_row, m->mixture.n_expert),
        .mixture = scratch_take_bytes(scratch, lk_mixture_bytes(&m->mixture, n_row)),
    };
}

static size_t qwen3_moe_scratch_bytes(const void *self, int32_t max_row)
{
    const struct qwen3_moe *m = self;
    struct scratch scratch = {0};
    dense_take(&m->dense, &scratch, max_row);
    qwen3_moe_take(m, &scratch, max_row);
    return scratch.n_byte;
}

/* s.out = what a mixture makes of s.normed. */
static void qwen3_moe_mix(const struct qwen3_moe *m, struct lk_backend *be, int32_t i,
                          const struct dense_rows *s, const struct qwen3_moe_scratch *e, int32_t n_row)
{
    const struct lk_ops *ops = be->ops;
    const struct qwen3_moe_layer *l = &m->layers[i];
    ops->matmul(be, e->router, &l->router, NULL, s->normed, n_row);
    ops->trace(be, "router", i, e->router, n_row, m->mixture.n_expert);
    ops->mix(be, s->out, &l->mixture, e->router, s->normed, n_row, e->mixture);
}

static void qwen3_moe_forward(const void *self, const struct arch_step *step)
{
    const struct qwen3_moe *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t n_row = batch->rows.n_row, dim = shape->dim, ff_dim = shape->ff_dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    float eps = m->dense.eps;
    struct scratch scratch = {.base = step->scratch};
    struct dense_rows s = dense_take(&m->dense, &scratch, n_row);
    struct qwen3_moe_scratch experts = qwen3_moe_take(m, &scratch, n_row);

    ops->embed(be, s.x, &m->embed);
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct qwen3_moe_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        ops->trace(be, "hidden", i, s.x, n_row, dim);

        ops->rmsnorm(be, s.normed, s.x, l->attn_norm, n_row, dim, eps);
        ops->trace(be, "attn_norm", i, s.normed, n_row, dim);
        ops->qkv(be, s.q, s.k, s.v, &l->wq, &l->wk, &l->wv, NULL, NULL, NULL, s.normed, n_row);
        ops->trace(be, "v", i, s.v, n_row, kv_dim);
        ops->rmsnorm(be, s.q, s.q, l->q_norm, n_row * shape->n_head, shape->head_dim, eps);
        ops->rmsnorm(be, s.k, s.k, l->k_norm, n_row * shape->n_kv_head, shape->head_dim, eps);
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
        if (l->is_mixture) {
            qwen3_moe_mix(m, be, i, &s, &experts, n_row);
        } else {
            ops->gate_up_act(be, s.gated, s.up, &l->gate, &l->up, NULL, NULL, s.normed, n_row, LK_ACT_SILU);
            ops->trace(be, "gated", i, s.gated, n_row, ff_dim);
            ops->matmul(be, s.out, &l->down, NULL, s.gated, n_row);
        }
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

const struct arch arch_qwen3_moe = {
    .name = "qwen3_moe",
    .model_types = (const char *const[]){"qwen3_moe", NULL},
    .classes = (const char *const[]){"Qwen3MoeForCausalLM", NULL},
    .read_config = qwen3_moe_read_config,
    .bind = qwen3_moe_bind,
    .scratch_bytes = qwen3_moe_scratch_bytes,
    .forward = qwen3_moe_forward,
};
