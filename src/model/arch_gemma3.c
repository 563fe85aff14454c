/* Gemma 3, text.
 *
 * Gemma Team 2025, "Gemma 3 Technical Report". Gemma 2's block without soft caps; heads of queries and keys
 * go through a norm; five of six layers see a window, and turn by a base of their own.
 *
 * From config.json: what src/model/dense.h reads; query_pre_attn_scalar; sliding_window,
 * sliding_window_pattern (the last of so many layers sees everything) or layer_types (src/model/window.h);
 * rope_local_base_freq, or rope_parameters with a block for either kind of layer.
 *
 * Peculiar: scaling of positions (linear) is for the layers that see everything; as in Gemma, 1 + w, and an
 * embedding that is scaled and is the output head. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <sysexits.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/model.h"
#include "src/model/rope_config.h"
#include "src/model/shape.h"
#include "src/model/window.h"

#define MAX_SCALAR 1e6
#define MAX_THETA 1e12

struct gemma3_layer {
    const float *attn_norm;     /* [dim] */
    struct lk_mat wq;           /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;       /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;           /* [dim][n_head * head_dim] */
    const float *q_norm;        /* [head_dim] */
    const float *k_norm;        /* [head_dim] */
    const float *attn_out_norm; /* [dim] */
    const float *ffn_norm;      /* [dim] */
    struct lk_mat gate, up;     /* [ff_dim][dim] */
    struct lk_mat down;         /* [dim][ff_dim] */
    const float *ffn_out_norm;  /* [dim] */
};

struct gemma3 {
    struct dense dense;
    int32_t *window;           /* [n_layer]: positions a layer sees; 0: all */
    struct lk_rope local_rope; /* of layers with a window */

    struct lk_mat embed;         /* [n_vocab][dim] */
    struct gemma3_layer *layers; /* [n_layer] */
    const float *out_norm;       /* [dim] */
    struct lk_mat head;          /* [n_vocab][dim]; tied: unused */
};

static int read_local_rope(struct gemma3 *m, const struct json *config, struct arena *arena, struct why *why)
{
    double theta = 10000;
    int r = shape_read_positive(config, "rope_local_base_freq", MAX_THETA, theta, &theta, why);
    struct rope_want want = {.head_dim = m->dense.shape.head_dim,
                             .n_ctx = m->dense.shape.n_ctx,
                             .theta = theta,
                             .part = 1,
                             .layer_type = "sliding_attention",
                             .only_own = true};
    struct rope_freq rope;
    r = r ? r : rope_config_read(config, &want, arena, &rope, why);
    if (!r && rope.n_rot != m->dense.attn.n_rot)
        r = why_set(why, EX_DATAERR, "layers with a window turn %d elements of a head, the others %d",
                    rope.n_rot, m->dense.attn.n_rot);
    return r ? r : rope_freq_make(&rope, arena, &m->local_rope);
}

static int read_windows(struct gemma3 *m, const struct json *config, int32_t size, struct why *why)
{
    int64_t pattern = 6;
    int32_t n_layer = m->dense.shape.n_layer;
    int r = json_get_int(config, "_sliding_window_pattern", false, 1, SHAPE_MAX_LAYER, &pattern, why);
    r = r ? r : json_get_int(config, "sliding_window_pattern", false, 1, SHAPE_MAX_LAYER, &pattern, why);
    for (int32_t i = 0; i < n_layer && !r; i++)
        m->window[i] = (i + 1) % pattern ? size : 0;
    return r ? r : window_by_layer_types(config, size, m->window, n_layer, why);
}

static int gemma3_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                              void **ret_self, struct why *why)
{
    static const struct dense_want want = {.n_ctx = 131072,
                                           .theta = 1e6,
                                           .eps = 1e-6,
                                           .is_tied = true,
                                           .act_key = "hidden_activation",
                                           .acts = dense_gelu_tanh,
                                           .layer_type = "full_attention"};
    static const char *const refused[] = {"attention_bias", "attn_logit_softcapping",
                                          "final_logit_softcapping", NULL};
    double scalar = 256;
    int32_t size;
    struct gemma3 *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : shape_refuse(config, refused, why);
    r = r ? r : shape_read_positive(config, "query_pre_attn_scalar", MAX_SCALAR, scalar, &scalar, why);
    r = r ? r : read_local_rope(m, config, arena, why);
    r = r ? r : window_read_size(config, 4096, &size, why);
    if (r)
        return r;
    int32_t n_layer = m->dense.shape.n_layer;
    m->window = arena_array(arena, (size_t)n_layer, sizeof *m->window);
    m->layers = arena_array(arena, (size_t)n_layer, sizeof *m->layers);
    if (!m->window || !m->layers)
        return -ENOMEM;
    r = read_windows(m, config, size, why);
    if (r)
        return r;
    m->dense.attn.scale = (float)(1 / sqrt(scalar));
    m->dense.shape.window = m->window;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int gemma3_bind(void *self, struct bind *bind, struct why *why)
{
    struct gemma3 *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    int32_t head_dim = shape->head_dim;
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct gemma3, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_OFFSET(struct gemma3, out_norm), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct gemma3, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_OFFSET(struct gemma3_layer, attn_norm), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct gemma3_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct gemma3_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct gemma3_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct gemma3_layer, wo), {dim, q_dim}, false},
        {"self_attn.q_norm.weight", BIND_OFFSET(struct gemma3_layer, q_norm), {head_dim}, false},
        {"self_attn.k_norm.weight", BIND_OFFSET(struct gemma3_layer, k_norm), {head_dim}, false},
        {"post_attention_layernorm.weight", BIND_OFFSET(struct gemma3_layer, attn_out_norm), {dim}, false},
        {"pre_feedforward_layernorm.weight", BIND_OFFSET(struct gemma3_layer, ffn_norm), {dim}, false},
        {"mlp.gate_proj.weight", BIND_MATRIX(struct gemma3_layer, gate), {ff_dim, dim}, false},
        {"mlp.up_proj.weight", BIND_MATRIX(struct gemma3_layer, up), {ff_dim, dim}, false},
        {"mlp.down_proj.weight", BIND_MATRIX(struct gemma3_layer, down), {dim, ff_dim}, false},
        {"post_feedforward_layernorm.weight", BIND_OFFSET(struct gemma3_layer, ffn_out_norm), {dim}, false},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++)
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
    if (m->dense.is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

static size_t gemma3_scratch_bytes(const void *self, int32_t max_row)
{
    const struct gemma3 *m = self;
    struct scratch scratch = {.n_byte = dense_bytes(&m->dense, max_row)};
    scratch_take(&scratch, max_row, m->dense.attn.n_rot);
    return scratch.n_byte;
}

static void gemma3_forward(const void *self, const struct arch_step *step)
{
    const struct gemma3 *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t n_row = batch->rows.n_row, dim = shape->dim, ff_dim = shape->ff_dim;
    int32_t q_dim = dense_q_dim(&m->dense), kv_dim = dense_kv_dim(&m->dense);
    float eps = m->dense.eps;
    struct scratch scratch = {.base = step->scratch};
    struct dense_rows s = dense_take(&m->dense, &scratch, n_row);
    float *local_cos_sin = scratch_take(&scratch, n_row, m->dense.attn.n_rot);

    ops->embed(be, s.x, &m->embed);
    ops->scale(be, s.x, (size_t)n_row * (size_t)dim, sqrtf((float)dim));
    ops->rope_angles(be, s.cos_sin, &m->dense.rope);
    ops->rope_angles(be, local_cos_sin, &m->local_rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct gemma3_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        attn.window = m->window[i];
        ops->trace(be, "hidden", i, s.x, n_row, dim);

        ops->rmsnorm(be, s.normed, s.x, l->attn_norm, n_row, dim, eps);
        ops->trace(be, "attn_norm", i, s.normed, n_row, dim);
        ops->qkv(be, s.q, s.k, s.v, &l->wq, &l->wk, &l->wv, NULL, NULL, NULL, s.normed, n_row);
        ops->trace(be, "v", i, s.v, n_row, kv_dim);
        ops->rmsnorm(be, s.q, s.q, l->q_norm, n_row * shape->n_head, shape->head_dim, eps);
        ops->rmsnorm(be, s.k, s.k, l->k_norm, n_row * shape->n_kv_head, shape->head_dim, eps);
        ops->rope_kv_append(be, &attn, s.q, s.k, s.v, attn.window ? local_cos_sin : s.cos_sin);
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
    ops->trace(be, "logits", -1, step->logits, n_logit, shape->n_vocab);
}

const struct arch arch_gemma3 = {
    .name = "gemma3",
    .model_types = (const char *const[]){"gemma3_text", NULL},
    .classes = (const char *const[]){"Gemma3ForCausalLM", NULL},
    .read_config = gemma3_read_config,
    .bind = gemma3_bind,
    .scratch_bytes = gemma3_scratch_bytes,
    .forward = gemma3_forward,
};
