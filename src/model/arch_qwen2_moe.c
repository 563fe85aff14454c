/* Qwen1.5 and Qwen2 with mixtures of experts: Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B.
 *
 * Yang et al. 2024, "Qwen2 Technical Report". Qwen2's block; each position uses a few of many small
 * feed-forward networks, which a router chooses, and one that all positions share.
 *
 * From config.json: what src/model/dense.h reads; use_sliding_window and what belongs to it
 * (src/model/window.h); num_experts, num_experts_per_tok, moe_intermediate_size, norm_topk_prob,
 * decoder_sparse_step, mlp_only_layers (src/model/mixture.h); shared_expert_intermediate_size.
 *
 * Peculiar: what the shared expert gives is weighted by the sigmoid of a product of its own; the weights of
 * the chosen experts need not sum to 1. */
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
#include "src/model/window.h"

struct qwen2_moe_layer {
    const float *attn_norm; /* [dim] */
    struct lk_mat wq;       /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;   /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;       /* [dim][n_head * head_dim] */
    const float *bq;        /* [n_head * head_dim] */
    const float *bk, *bv;   /* [n_kv_head * head_dim] */
    const float *ffn_norm;  /* [dim] */

    /* A layer without a mixture: */
    struct lk_mat gate, up; /* [ff_dim][dim] */
    struct lk_mat down;     /* [dim][ff_dim] */

    /* A layer with one: */
    bool is_mixture;
    struct lk_mat router;                 /* [n_expert][dim] */
    struct lk_expert *experts;            /* [n_expert] */
    struct lk_mixture mixture;            /* of these experts */
    struct lk_mat shared_gate, shared_up; /* [shared_dim][dim] */
    struct lk_mat shared_down;            /* [dim][shared_dim] */
    struct lk_mat shared_weight;          /* [1][dim] */
};

struct qwen2_moe {
    struct dense dense;
    int32_t *window;           /* [n_layer]: positions a layer sees; 0: all */
    struct lk_mixture mixture; /* each layer's has its own experts */
    int32_t shared_dim;        /* width of the shared expert */

    struct lk_mat embed;            /* [n_vocab][dim] */
    struct qwen2_moe_layer *layers; /* [n_layer] */
    const float *out_norm;          /* [dim] */
    struct lk_mat head;             /* [n_vocab][dim]; tied: unused */
};

static int qwen2_moe_read_mixture(const struct json *config, struct arena *arena, struct qwen2_moe *m,
                                  struct why *why)
{
    int32_t n_layer = m->dense.shape.n_layer;
    bool *is_mixture = arena_array(arena, (size_t)n_layer, sizeof *is_mixture), is_normalized = false;
    if (!is_mixture)
        return -ENOMEM;
    int r = mixture_read(config, "moe_intermediate_size", m->dense.shape.dim, &m->mixture, why);
    int64_t shared_dim = 0;
    r = r ? r
          : json_get_int(config, "shared_expert_intermediate_size", true, 1, SHAPE_MAX_WIDTH, &shared_dim,
                         why);
    m->shared_dim = (int32_t)shared_dim;
    r = r ? r : json_get_bool(config, "norm_topk_prob", &is_normalized, why);
    r = r ? r : mixture_read_layers(config, is_mixture, n_layer, why);
    if (r)
        return r;
    m->mixture.is_normalized = is_normalized;
    int32_t n_mixture = 0;
    for (int32_t i = 0; i < n_layer; i++) {
        struct qwen2_moe_layer *l = &m->layers[i];
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

static int qwen2_moe_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                                 void **ret_self, struct why *why)
{
    static const struct dense_want want = {.n_ctx = 32768, .theta = 10000, .eps = 1e-6};
    /* Which layers have a window without layer_types, versions of the reference disagree on. */
    static const char *const unless_listed[] = {"use_sliding_window", NULL};
    struct qwen2_moe *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = dense_read_config(config, &want, arena, &m->dense, why);
    if (r)
        return r;
    int32_t n_layer = m->dense.shape.n_layer;
    m->window = arena_array(arena, (size_t)n_layer, sizeof *m->window);
    m->layers = arena_array(arena, (size_t)n_layer, sizeof *m->layers);
    if (!m->window || !m->layers)
        return -ENOMEM;
    if (!json_get(config, "layer_types"))
        r = shape_refuse(config, unless_listed, why);
    r = r ? r : window_read_qwen(config, m->window, n_layer, why);
    bool has_bias = true;
    r = r ? r : json_get_bool(config, "qkv_bias", &has_bias, why);
    if (!r && !has_bias)
        r = why_set(why, EX_DATAERR, "'qkv_bias' is false, which this architecture does not implement");
    r = r ? r : qwen2_moe_read_mixture(config, arena, m, why);
    if (r)
        return r;
    m->dense.shape.window = m->window;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int qwen2_moe_bind(void *self, struct bind *bind, struct why *why)
{
    struct qwen2_moe *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct qwen2_moe, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_VECTOR(struct qwen2_moe, out_norm), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct qwen2_moe, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct qwen2_moe_layer, attn_norm), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct qwen2_moe_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct qwen2_moe_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct qwen2_moe_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct qwen2_moe_layer, wo), {dim, q_dim}, false},
        {"self_attn.q_proj.bias", BIND_VECTOR(struct qwen2_moe_layer, bq), {q_dim}, false},
        {"self_attn.k_proj.bias", BIND_VECTOR(struct qwen2_moe_layer, bk), {kv_dim}, false},
        {"self_attn.v_proj.bias", BIND_VECTOR(struct qwen2_moe_layer, bv), {kv_dim}, false},
        {"post_attention_layernorm.weight", BIND_VECTOR(struct qwen2_moe_layer, ffn_norm), {dim}, false},
    };
    const struct bind_row plain[] = {
        {"gate_proj.weight", BIND_MATRIX(struct qwen2_moe_layer, gate), {ff_dim, dim}, false},
        {"up_proj.weight", BIND_MATRIX(struct qwen2_moe_layer, up), {ff_dim, dim}, false},
        {"down_proj.weight", BIND_MATRIX(struct qwen2_moe_layer, down), {dim, ff_dim}, false},
    };
    const struct bind_row mixture[] = {
        {"gate.weight", BIND_MATRIX(struct qwen2_moe_layer, router), {m->mixture.n_expert, dim}, false},
        {"shared_expert.gate_proj.weight",
         BIND_MATRIX(struct qwen2_moe_layer, shared_gate),
         {m->shared_dim, dim},
         false},
        {"shared_expert.up_proj.weight",
         BIND_MATRIX(struct qwen2_moe_layer, shared_up),
         {m->shared_dim, dim},
         false},
        {"shared_expert.down_proj.weight",
         BIND_MATRIX(struct qwen2_moe_layer, shared_down),
         {dim, m->shared_dim},
         false},
        {"shared_expert_gate.weight", BIND_MATRIX(struct qwen2_moe_layer, shared_weight), {1, dim}, false},
    };
    static const struct mixture_names names = {.gate = "gate_proj", .up = "up_proj", .down = "down_proj"};
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++) {
        struct qwen2_moe_layer *l = &m->layers[i];
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
struct qwen2_moe_scratch {
    float *router; /* [n_row][n_expert]: logits */
    void *mixture; /* lk_mixture_bytes */
    float *weight; /* [n_row]: of the shared expert, before the sigmoid */
    float *gated;  /* [n_row][shared_dim] */
    float *up;     /* [n_row][shared_dim] */
    float *shared; /* [n_row][dim] */
};

static struct qwen2_moe_scratch qwen2_moe_take(const struct qwen2_moe *m, struct scratch *scratch,
                                               int32_t n_row)
{
    return (struct qwen2_moe_scratch){
        .router = scratch_take(scratch, n_row, m->mixture.n_expert),
        .mixture = scratch_take_bytes(scratch, lk_mixture_bytes(&m->mixture, n_row)),
        .weight = scratch_take(scratch, n_row, 1),
        .gated = scratch_take(scratch, n_row, m->shared_dim),
        .up = scratch_take(scratch, n_row, m->shared_dim),
        .shared = scratch_take(scratch, n_row, m->dense.shape.dim),
    };
}

static size_t qwen2_moe_scratch_bytes(const void *self, int32_t max_row)
{
    const struct qwen2_moe *m = self;
    struct scratch scratch = {0};
    dense_take(&m->dense, &scratch, max_row);
    qwen2_moe_take(m, &scratch, max_row);
    return scratch.n_byte;
}

/* s.out = what a mixture makes of s.normed. */
static void qwen2_moe_mix(const struct qwen2_moe *m, struct lk_backend *be, int32_t i,
                          const struct dense_rows *s, const struct qwen2_moe_scratch *e, int32_t n_row)
{
    const struct lk_ops *ops = be->ops;
    const struct qwen2_moe_layer *l = &m->layers[i];
    int32_t dim = m->dense.shape.dim;
    ops->matmul(be, e->router, &l->router, NULL, s->normed, n_row);
    ops->trace(be, "router", i, e->router, n_row, m->mixture.n_expert);
    ops->mix(be, s->out, &l->mixture, e->router, s->normed, n_row, e->mixture);
    ops->trace(be, "mixture_out", i, s->out, n_row, dim);
    ops->matmul(be, e->weight, &l->shared_weight, NULL, s->normed, n_row);
    ops->gate_up_act(be, e->gated, e->up, &l->shared_gate, &l->shared_up, NULL, NULL, s->normed, n_row,
                     LK_ACT_SILU);
    ops->matmul(be, e->shared, &l->shared_down, NULL, e->gated, n_row);
    ops->trace(be, "shared_out", i, e->shared, n_row, dim);
    ops->add_gated(be, s->out, e->shared, e->weight, n_row, dim);
}

static void qwen2_moe_forward(const void *self, const struct arch_step *step)
{
    const struct qwen2_moe *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t n_row = batch->rows.n_row, dim = shape->dim, ff_dim = shape->ff_dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    float eps = m->dense.eps;
    struct scratch scratch = {.base = step->scratch};
    struct dense_rows s = dense_take(&m->dense, &scratch, n_row);
    struct qwen2_moe_scratch experts = qwen2_moe_take(m, &scratch, n_row);

    ops->embed(be, s.x, &m->embed);
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct qwen2_moe_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        attn.window = m->window[i];
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
        ops->matmul(be, s.out, &l->wo, NULL, s.mixed, n_row);
        ops->trace(be, "attn_out", i, s.out, n_row, dim);
        ops->add(be, s.x, s.out, (size_t)n_row * (size_t)dim);

        ops->rmsnorm(be, s.normed, s.x, l->ffn_norm, n_row, dim, eps);
        ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
        if (l->is_mixture) {
            qwen2_moe_mix(m, be, i, &s, &experts, n_row);
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

const struct arch arch_qwen2_moe = {
    .name = "qwen2_moe",
    .model_types = (const char *const[]){"qwen2_moe", NULL},
    .classes = (const char *const[]){"Qwen2MoeForCausalLM", NULL},
    .read_config = qwen2_moe_read_config,
    .bind = qwen2_moe_bind,
    .scratch_bytes = qwen2_moe_scratch_bytes,
    .forward = qwen2_moe_forward,
};
