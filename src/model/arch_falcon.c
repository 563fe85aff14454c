/* Falcon: 7B, 40B, 180B, 11B and RW.
 *
 * Almazrouei et al. 2023, "The Falcon Series of Open Language Models"; RW: Press et al. 2022, "Train Short,
 * Test Long" (ALiBi). LayerNorm, GELU, no gate; attention and feed-forward side by side, behind one norm or
 * one each, or, in RW, one after the other.
 *
 * From config.json: what src/model/dense.h reads, with layer_norm_epsilon, ffn_hidden_size and activation;
 * new_decoder_architecture (grouped KV heads, num_kv_heads of them, and num_ln_in_parallel_attn norms), else
 * multi_query (one KV head); parallel_attn; alibi (no rotary positions); bias (of all matrices). Older files
 * say n_layer, n_head, n_head_kv, and RefinedWeb for the new architecture.
 *
 * Peculiar: queries, keys and values are one matrix, a group's next to each other. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <strings.h>
#include <sysexits.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/dense.h"
#include "src/model/model.h"
#include "src/model/shape.h"

struct falcon_layer {
    struct dense_norm attn_norm; /* [dim] */
    struct dense_norm ffn_norm;  /* [dim], NULL: that of attention */
    struct lk_mat wqkv;          /* [n_kv_head][queries, key, value][head_dim], [dim] */
    struct lk_mat wo;            /* [dim][n_head * head_dim] */
    struct lk_mat up;            /* [ff_dim][dim] */
    struct lk_mat down;          /* [dim][ff_dim] */
    const float *bqkv;           /* [(n_head + 2 n_kv_head) * head_dim], NULL: none */
    const float *bo, *bdown;     /* [dim], NULL: none */
    const float *bup;            /* [ff_dim], NULL: none */
};

struct falcon {
    struct dense dense;
    enum lk_act act;
    bool is_new, is_parallel, is_alibi, has_bias;
    int64_t n_norm; /* in a block with both side by side: 1 or 2 */

    struct lk_mat embed;         /* [n_vocab][dim] */
    struct falcon_layer *layers; /* [n_layer] */
    struct dense_norm out_norm;  /* [dim] */
    struct lk_mat head;          /* [n_vocab][dim]; tied: unused */
};

/* The reference adds ALiBi's bias to the scores and, with eager attention, once more as part of the mask. Its
 * numbers are what this is tested with. */
#define ALIBI_TIMES 2

/* A geometric row for a power of two of heads, as in the paper; further heads lie between. */
static float *make_slopes(int32_t n_head, struct arena *arena)
{
    float *slopes = arena_array(arena, (size_t)n_head, sizeof *slopes);
    int32_t n = 1;
    while (2 * n <= n_head)
        n *= 2;
    for (int32_t h = 0; h < n_head && slopes; h++) {
        double exponent = h < n ? -8.0 * (h + 1) / n : -4.0 * (2 * (h - n) + 1) / n;
        slopes[h] = (float)(ALIBI_TIMES * exp2(exponent));
    }
    return slopes;
}

static int read_flags(struct falcon *m, const struct json *config, struct why *why)
{
    bool is_multi = true;
    const char *type = json_string(json_get(config, "model_type"), "");
    m->is_new = !strcasecmp(type, "RefinedWeb");
    m->is_parallel = true;
    int r = json_get_bool(config, "new_decoder_architecture", &m->is_new, why);
    r = r ? r : json_get_bool(config, "multi_query", &is_multi, why);
    r = r ? r : json_get_bool(config, "parallel_attn", &m->is_parallel, why);
    r = r ? r : json_get_bool(config, "alibi", &m->is_alibi, why);
    r = r ? r : json_get_bool(config, "bias", &m->has_bias, why);
    m->n_norm = m->is_new ? 2 : 1;
    r = r ? r : json_get_int(config, "num_ln_in_parallel_attn", false, 1, 2, &m->n_norm, why);
    if (!r && m->is_new && !m->is_parallel)
        r = why_set(why, EX_DATAERR, "new_decoder_architecture is set and parallel_attn is not");
    if (!m->is_new) {
        m->n_norm = 1;
        m->dense.shape.n_kv_head = is_multi ? 1 : m->dense.shape.n_kv_head;
        m->dense.attn.n_kv_head = m->dense.shape.n_kv_head;
    }
    return r;
}

static int falcon_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                              void **ret_self, struct why *why)
{
    static const char *const refused[] = {"apply_residual_connection_post_layernorm", NULL};
    bool is_older = json_get(config, "n_layer");
    struct shape_names names = {.dim = "hidden_size",
                                .n_layer = is_older ? "n_layer" : "num_hidden_layers",
                                .n_head = is_older ? "n_head" : "num_attention_heads",
                                .n_kv_head = is_older ? "n_head_kv" : "num_kv_heads",
                                .ff_dim = "ffn_hidden_size",
                                .n_ctx = "max_position_embeddings",
                                .may_lack_ff = true};
    struct dense_want want = {.n_ctx = 2048,
                              .theta = 10000,
                              .eps = 1e-5,
                              .is_tied = true,
                              .names = &names,
                              .eps_key = "layer_norm_epsilon",
                              .act_key = "activation"};
    struct falcon *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    dense_choose_gelu(config, &want, &m->act);
    int r = dense_read_config(config, &want, arena, &m->dense, why);
    r = r ? r : shape_refuse(config, refused, why);
    r = r ? r : read_flags(m, config, why);
    if (r)
        return r;
    m->layers = arena_array(arena, (size_t)m->dense.shape.n_layer, sizeof *m->layers);
    m->dense.attn.slopes = m->is_alibi ? make_slopes(m->dense.shape.n_head, arena) : NULL;
    if (!m->layers || (m->is_alibi && !m->dense.attn.slopes))
        return -ENOMEM;
    *ret_shape = m->dense.shape;
    *ret_self = m;
    return 0;
}

static int falcon_bind(void *self, struct bind *bind, struct why *why)
{
    struct falcon *m = self;
    const struct arch_shape *shape = &m->dense.shape;
    int32_t dim = shape->dim, ff_dim = shape->ff_dim, n_vocab = shape->n_vocab;
    int32_t q_dim = dense_q_dim(&m->dense), qkv_dim = q_dim + 2 * dense_kv_dim(&m->dense);
    bool has_two = m->n_norm == 2, bare = !m->has_bias, is_parallel = m->is_parallel;
    const struct bind_row outer[] = {
        {"transformer.word_embeddings.weight", BIND_MATRIX(struct falcon, embed), {n_vocab, dim}, false},
        {"transformer.ln_f.weight", BIND_VECTOR(struct falcon, out_norm.w), {dim}, false},
        {"transformer.ln_f.bias", BIND_VECTOR(struct falcon, out_norm.b), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct falcon, head), {n_vocab, dim}, m->dense.is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct falcon_layer, attn_norm.w), {dim}, has_two},
        {"input_layernorm.bias", BIND_VECTOR(struct falcon_layer, attn_norm.b), {dim}, has_two},
        {"ln_attn.weight", BIND_VECTOR(struct falcon_layer, attn_norm.w), {dim}, !has_two},
        {"ln_attn.bias", BIND_VECTOR(struct falcon_layer, attn_norm.b), {dim}, !has_two},
        {"ln_mlp.weight", BIND_VECTOR(struct falcon_layer, ffn_norm.w), {dim}, !has_two},
        {"ln_mlp.bias", BIND_VECTOR(struct falcon_layer, ffn_norm.b), {dim}, !has_two},
        {"post_attention_layernorm.weight", BIND_VECTOR(struct falcon_layer, ffn_norm.w), {dim}, is_parallel},
        {"post_attention_layernorm.bias", BIND_VECTOR(struct falcon_layer, ffn_norm.b), {dim}, is_parallel},
        {"self_attention.query_key_value.weight",
         BIND_MATRIX(struct falcon_layer, wqkv),
         {qkv_dim, dim},
         false},
        {"self_attention.query_key_value.bias", BIND_VECTOR(struct falcon_layer, bqkv), {qkv_dim}, bare},
        {"self_attention.dense.weight", BIND_MATRIX(struct falcon_layer, wo), {dim, q_dim}, false},
        {"self_attention.dense.bias", BIND_VECTOR(struct falcon_layer, bo), {dim}, bare},
        {"mlp.dense_h_to_4h.weight", BIND_MATRIX(struct falcon_layer, up), {ff_dim, dim}, false},
        {"mlp.dense_h_to_4h.bias", BIND_VECTOR(struct falcon_layer, bup), {ff_dim}, bare},
        {"mlp.dense_4h_to_h.weight", BIND_MATRIX(struct falcon_layer, down), {dim, ff_dim}, false},
        {"mlp.dense_4h_to_h.bias", BIND_VECTOR(struct falcon_layer, bdown), {dim}, bare},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < shape->n_layer && !r; i++)
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "transformer.h.%d.", i);
    if (m->dense.is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

static size_t falcon_scratch_bytes(const void *self, int32_t max_row)
{
    const struct falcon *m = self;
    struct scratch scratch = {.n_byte = dense_bytes(&m->dense, max_row)};
    scratch_take(&scratch, max_row, dense_q_dim(&m->dense) + 2 * dense_kv_dim(&m->dense));
    return scratch.n_byte;
}

static void falcon_forward(const void *self, const struct arch_step *step)
{
    const struct falcon *m = self;
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
    if (!m->is_alibi)
        ops->rope_angles(be, s.cos_sin, &m->dense.rope);

    for (int32_t i = 0; i < shape->n_layer; i++) {
        const struct falcon_layer *l = &m->layers[i];
        struct lk_attn attn = m->dense.attn;
        attn.layer = i;
        ops->trace(be, "hidden", i, s.x, n_row, dim);

        ops->layernorm(be, s.normed, s.x, l->attn_norm.w, l->attn_norm.b, n_row, dim, dim, eps);
        ops->trace(be, "attn_norm", i, s.normed, n_row, dim);
        ops->matmul(be, fused, &l->wqkv, l->bqkv, s.normed, n_row);
        ops->qkv_split(be, &attn, s.q, s.k, s.v, fused, n_row);
        ops->trace(be, "v", i, s.v, n_row, kv_dim);
        if (m->is_alibi)
            ops->kv_append(be, &attn, s.k, s.v);
        else
            ops->rope_kv_append(be, &attn, s.q, s.k, s.v, s.cos_sin);
        ops->trace(be, "q", i, s.q, n_row, q_dim);
        ops->trace(be, "k", i, s.k, n_row, kv_dim);
        ops->attend(be, &attn, s.mixed, s.q);
        ops->trace(be, "mixed", i, s.mixed, n_row, q_dim);
        ops->matmul(be, s.out, &l->wo, l->bo, s.mixed, n_row);
        ops->trace(be, "attn_out", i, s.out, n_row, dim);

        if (!m->is_parallel)
            ops->add(be, s.x, s.out, n_x);
        if (l->ffn_norm.w)
            ops->layernorm(be, s.normed, s.x, l->ffn_norm.w, l->ffn_norm.b, n_row, dim, dim, eps);
        ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
        if (m->is_parallel)
            ops->add(be, s.x, s.out, n_x);
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

const struct arch arch_falcon = {
    .name = "falcon",
    .model_types = (const char *const[]){"falcon", "RefinedWeb", "RefinedWebModel", NULL},
    .classes = (const char *const[]){"FalconForCausalLM", "RWForCausalLM", NULL},
    .read_config = falcon_read_config,
    .bind = falcon_bind,
    .scratch_bytes = falcon_scratch_bytes,
    .forward = falcon_forward,
};
