/* Llama: 1 to 3.2, and what is built like it (Yi, SmolLM2, TinyLlama, DeepSeek's distillations).
 *
 * Touvron et al. 2023, "LLaMA" and "Llama 2"; Grattafiori et al. 2024, "The Llama 3 Herd of Models". A
 * decoder of pre-normed blocks: RMSNorm, attention with rotary positions and grouped key-value heads, a
 * residual; RMSNorm, a SiLU-gated feed-forward, a residual. A last norm and the output head.
 *
 * From config.json: the sizes of src/model/shape.h, rms_norm_eps, rope_theta and rope_scaling
 * (src/model/rope_config.h), attention_bias (q, k, v and o), mlp_bias (gate, up and down),
 * tie_word_embeddings, hidden_act.
 *
 * Peculiar: tied models use the embedding as output head; head_dim may differ from dim / n_head. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sysexits.h>

#include "kernels/backend.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/model.h"
#include "src/model/rope_config.h"
#include "src/model/scratch.h"
#include "src/model/shape.h"

struct llama_layer {
    const float *attn_norm;   /* [dim] */
    struct lk_mat wq;         /* [n_head * head_dim][dim] */
    struct lk_mat wk, wv;     /* [n_kv_head * head_dim][dim] */
    struct lk_mat wo;         /* [dim][n_head * head_dim] */
    const float *bq;          /* [n_head * head_dim], NULL: none */
    const float *bk, *bv;     /* [n_kv_head * head_dim], NULL: none */
    const float *bo;          /* [dim], NULL: none */
    const float *ffn_norm;    /* [dim] */
    struct lk_mat gate, up;   /* [ff_dim][dim] */
    struct lk_mat down;       /* [dim][ff_dim] */
    const float *bgate, *bup; /* [ff_dim], NULL: none */
    const float *bdown;       /* [dim], NULL: none */
};

struct llama {
    struct arch_shape shape;
    struct lk_attn attn; /* all layers'; `layer` is filled in by the step */
    struct lk_rope rope;
    float eps; /* of every norm */
    bool attn_bias, ffn_bias, is_tied;

    struct lk_mat embed;        /* [n_vocab][dim] */
    struct llama_layer *layers; /* [n_layer] */
    const float *out_norm;      /* [dim] */
    struct lk_mat head;         /* [n_vocab][dim]; tied: unused */
};

static int llama_read_config(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                             void **ret_self, struct why *why)
{
    static const char *const acts[] = {"silu", "swish", NULL};
    static const char *const refused[] = {"quantization_config", NULL};
    struct llama *m = arena_array(arena, 1, sizeof *m);
    if (!m)
        return -ENOMEM;
    struct arch_shape *s = &m->shape;
    double eps = 1e-6;
    int r = shape_read(config, 2048, s, why);
    struct rope_freq rope = {0};
    struct rope_want want = {.head_dim = s->head_dim, .n_ctx = s->n_ctx, .theta = 10000, .part = 1};
    r = r ? r : rope_config_read(config, &want, arena, &rope, why);
    r = r ? r : shape_read_positive(config, "rms_norm_eps", 1, eps, &eps, why);
    r = r ? r : json_get_bool(config, "attention_bias", &m->attn_bias, why);
    r = r ? r : json_get_bool(config, "mlp_bias", &m->ffn_bias, why);
    r = r ? r : json_get_bool(config, "tie_word_embeddings", &m->is_tied, why);
    r = r ? r : shape_check_act(config, acts, why);
    r = r ? r : shape_refuse(config, refused, why);
    if (r)
        return r;
    if (rope.n_rot != s->head_dim)
        return why_set(why, EX_DATAERR, "partial_rotary_factor turns %d of head_dim %d: Llama turns all",
                       rope.n_rot, s->head_dim);
    s->n_ctx = rope.n_ctx;
    m->eps = (float)eps;
    m->attn = (struct lk_attn){
        .n_head = s->n_head,
        .n_kv_head = s->n_kv_head,
        .head_dim = s->head_dim,
        .n_rot = s->head_dim,
        .layout = LK_ROPE_HALF,
        .scale = (float)(1 / sqrt((double)s->head_dim)),
    };
    m->layers = arena_array(arena, (size_t)s->n_layer, sizeof *m->layers);
    r = rope_freq_make(&rope, arena, &m->rope);
    if (!m->layers || r)
        return -ENOMEM;
    *ret_shape = *s;
    *ret_self = m;
    return 0;
}

static int llama_bind(void *self, struct bind *bind, struct why *why)
{
    struct llama *m = self;
    int32_t dim = m->shape.dim, ff_dim = m->shape.ff_dim, n_vocab = m->shape.n_vocab;
    int32_t q_dim = m->shape.n_head * m->shape.head_dim, kv_dim = m->shape.n_kv_head * m->shape.head_dim;
    bool bare_attn = !m->attn_bias, bare_ffn = !m->ffn_bias; /* without biases */
    const struct bind_row outer[] = {
        {"model.embed_tokens.weight", BIND_MATRIX(struct llama, embed), {n_vocab, dim}, false},
        {"model.norm.weight", BIND_VECTOR(struct llama, out_norm), {dim}, false},
        {"lm_head.weight", BIND_MATRIX(struct llama, head), {n_vocab, dim}, m->is_tied},
    };
    const struct bind_row layer[] = {
        {"input_layernorm.weight", BIND_VECTOR(struct llama_layer, attn_norm), {dim}, false},
        {"self_attn.q_proj.weight", BIND_MATRIX(struct llama_layer, wq), {q_dim, dim}, false},
        {"self_attn.k_proj.weight", BIND_MATRIX(struct llama_layer, wk), {kv_dim, dim}, false},
        {"self_attn.v_proj.weight", BIND_MATRIX(struct llama_layer, wv), {kv_dim, dim}, false},
        {"self_attn.o_proj.weight", BIND_MATRIX(struct llama_layer, wo), {dim, q_dim}, false},
        {"self_attn.q_proj.bias", BIND_VECTOR(struct llama_layer, bq), {q_dim}, bare_attn},
        {"self_attn.k_proj.bias", BIND_VECTOR(struct llama_layer, bk), {kv_dim}, bare_attn},
        {"self_attn.v_proj.bias", BIND_VECTOR(struct llama_layer, bv), {kv_dim}, bare_attn},
        {"self_attn.o_proj.bias", BIND_VECTOR(struct llama_layer, bo), {dim}, bare_attn},
        {"post_attention_layernorm.weight", BIND_VECTOR(struct llama_layer, ffn_norm), {dim}, false},
        {"mlp.gate_proj.weight", BIND_MATRIX(struct llama_layer, gate), {ff_dim, dim}, false},
        {"mlp.up_proj.weight", BIND_MATRIX(struct llama_layer, up), {ff_dim, dim}, false},
        {"mlp.down_proj.weight", BIND_MATRIX(struct llama_layer, down), {dim, ff_dim}, false},
        {"mlp.gate_proj.bias", BIND_VECTOR(struct llama_layer, bgate), {ff_dim}, bare_ffn},
        {"mlp.up_proj.bias", BIND_VECTOR(struct llama_layer, bup), {ff_dim}, bare_ffn},
        {"mlp.down_proj.bias", BIND_VECTOR(struct llama_layer, bdown), {dim}, bare_ffn},
    };
    int r = bind_rows(bind, m, outer, sizeof outer / sizeof *outer, why, "%s", "");
    for (int32_t i = 0; i < m->shape.n_layer && !r; i++)
        r = bind_rows(bind, &m->layers[i], layer, sizeof layer / sizeof *layer, why, "model.layers.%d.", i);
    if (m->is_tied)
        bind_ignore(bind, "lm_head.weight");
    return r;
}

/* What a step of n_row rows works in. */
struct llama_scratch {
    float *x;       /* [n_row][dim]: the residual stream */
    float *normed;  /* [n_row][dim] */
    float *q;       /* [n_row][n_head * head_dim] */
    float *k, *v;   /* [n_row][n_kv_head * head_dim] */
    float *mixed;   /* [n_row][n_head * head_dim]: attention's weighted values */
    float *out;     /* [n_row][dim]: what a half of a block adds to x */
    float *gated;   /* [n_row][ff_dim] */
    float *up;      /* [n_row][ff_dim] */
    float *cos_sin; /* [n_row][2][head_dim / 2] */
};

static struct llama_scratch llama_take(const struct llama *m, struct scratch *scratch, int32_t n_row)
{
    int32_t dim = m->shape.dim, q_dim = m->shape.n_head * m->shape.head_dim;
    int32_t kv_dim = m->shape.n_kv_head * m->shape.head_dim;
    return (struct llama_scratch){
        .x = scratch_take(scratch, n_row, dim),
        .normed = scratch_take(scratch, n_row, dim),
        .q = scratch_take(scratch, n_row, q_dim),
        .k = scratch_take(scratch, n_row, kv_dim),
        .v = scratch_take(scratch, n_row, kv_dim),
        .mixed = scratch_take(scratch, n_row, q_dim),
        .out = scratch_take(scratch, n_row, dim),
        .gated = scratch_take(scratch, n_row, m->shape.ff_dim),
        .up = scratch_take(scratch, n_row, m->shape.ff_dim),
        .cos_sin = scratch_take(scratch, n_row, m->shape.head_dim),
    };
}

static size_t llama_scratch_bytes(const void *self, int32_t max_row)
{
    struct scratch scratch = {0};
    llama_take(self, &scratch, max_row);
    return scratch.n_byte;
}

static void llama_forward(const void *self, const struct arch_step *step)
{
    const struct llama *m = self;
    struct lk_backend *be = step->be;
    const struct lk_ops *ops = be->ops;
    const struct model_batch *batch = step->batch;
    int32_t n_row = batch->rows.n_row, dim = m->shape.dim, ff_dim = m->shape.ff_dim;
    int32_t q_dim = m->shape.n_head * m->shape.head_dim, kv_dim = m->shape.n_kv_head * m->shape.head_dim;
    struct scratch scratch = {.base = step->scratch};
    struct llama_scratch s = llama_take(m, &scratch, n_row);

    ops->embed(be, s.x, &m->embed);
    ops->rope_angles(be, s.cos_sin, &m->rope);

    for (int32_t i = 0; i < m->shape.n_layer; i++) {
        const struct llama_layer *l = &m->layers[i];
        struct lk_attn attn = m->attn;
        attn.layer = i;
        ops->trace(be, "hidden", i, s.x, n_row, dim);

        ops->rmsnorm(be, s.normed, s.x, l->attn_norm, n_row, dim, m->eps);
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

        ops->rmsnorm(be, s.normed, s.x, l->ffn_norm, n_row, dim, m->eps);
        ops->trace(be, "ffn_norm", i, s.normed, n_row, dim);
        ops->gate_up_act(be, s.gated, s.up, &l->gate, &l->up, l->bgate, l->bup, s.normed, n_row, LK_ACT_SILU);
        ops->trace(be, "gated", i, s.gated, n_row, ff_dim);
        ops->matmul(be, s.out, &l->down, l->bdown, s.gated, n_row);
        ops->trace(be, "ffn_out", i, s.out, n_row, dim);
        ops->add(be, s.x, s.out, (size_t)n_row * (size_t)dim);
    }
    ops->trace(be, "hidden", m->shape.n_layer, s.x, n_row, dim);

    /* Only rows whose logits are wanted go through the last norm and the head, the largest matrix of small
     * models. */
    int32_t n_logit = batch->n_logit;
    if (n_logit == 0)
        return;
    ops->gather(be, s.out, s.x, batch->logit_rows, n_logit, dim);
    ops->rmsnorm(be, s.normed, s.out, m->out_norm, n_logit, dim, m->eps);
    ops->trace(be, "out_norm", m->shape.n_layer, s.normed, n_logit, dim);
    ops->matmul(be, step->logits, m->is_tied ? &m->embed : &m->head, NULL, s.normed, n_logit);
    ops->trace(be, "logits", m->shape.n_layer, step->logits, n_logit, m->shape.n_vocab);
}

const struct arch arch_llama = {
    .name = "llama",
    .model_types = (const char *const[]){"llama", NULL},
    .classes = (const char *const[]){"LlamaForCausalLM", NULL},
    .read_config = llama_read_config,
    .bind = llama_bind,
    .scratch_bytes = llama_scratch_bytes,
    .forward = llama_forward,
};
