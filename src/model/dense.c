/* What decoders have in common: see dense.h. */
#include "config.h"

#include "src/model/dense.h"

#include <math.h>
#include <string.h>
#include <sysexits.h>

#include "src/model/rope_config.h"
#include "src/model/shape.h"

static const char *const silu[] = {"silu", "swish", NULL};
const char *const dense_gelu[] = {"gelu", "gelu_python", NULL};
const char *const dense_gelu_tanh[] = {"gelu_pytorch_tanh", "gelu_new", "gelu_fast", NULL};

void dense_choose_gelu(const struct json *config, struct dense_want *want, enum lk_act *ret_act)
{
    const char *key = want->act_key ? want->act_key : "hidden_act";
    const char *name = json_string(json_get(config, key), "");
    want->acts = dense_gelu;
    *ret_act = LK_ACT_GELU;
    for (const char *const *tanh = dense_gelu_tanh; *tanh; tanh++)
        if (!strcmp(*tanh, name)) {
            want->acts = dense_gelu_tanh;
            *ret_act = LK_ACT_GELU_TANH;
        }
}

static int check_quantization(const struct json *config, const char *known, struct why *why)
{
    static const char *const refused[] = {"quantization_config", NULL};
    const struct json *block = json_get(config, refused[0]);
    if (!known || !json_is_object(block))
        return shape_refuse(config, refused, why);
    const char *method = json_string(json_get(block, "quant_method"), "(not a string)");
    if (!strcmp(method, known))
        return 0;
    return why_set(why, EX_DATAERR,
                   "weights are quantized by '%.64s', this architecture is implemented with '%s'", method,
                   known);
}

int dense_read_config(const struct json *config, const struct dense_want *want, struct arena *arena,
                      struct dense *ret_dense, struct why *why)
{
    static const char *const refused[] = {"use_bidirectional_attention", NULL};
    const char *eps_key = want->eps_key ? want->eps_key : "rms_norm_eps";
    const char *act_key = want->act_key ? want->act_key : "hidden_act";
    struct dense d = {.is_tied = want->is_tied};
    struct arch_shape *s = &d.shape;
    struct rope_freq rope;
    double eps = want->eps;
    int r = shape_read(config, want->names, want->n_ctx, s, why);
    r = r ? r : shape_check_act(config, act_key, want->acts ? want->acts : silu, why);
    r = r ? r : shape_refuse(config, refused, why);
    r = r ? r : check_quantization(config, want->quant_method, why);
    r = r ? r : shape_read_positive(config, eps_key, 1, eps, &eps, why);
    r = r ? r : json_get_bool(config, "tie_word_embeddings", &d.is_tied, why);
    struct rope_want rope_want = {.head_dim = s->head_dim,
                                  .n_ctx = s->n_ctx,
                                  .theta = want->theta,
                                  .part = want->part > 0 ? want->part : 1,
                                  .layer_type = want->layer_type};
    r = r ? r : rope_config_read(config, &rope_want, arena, &rope, why);
    r = r ? r : rope_freq_make(&rope, arena, &d.rope);
    if (r)
        return r;
    s->n_ctx = rope.n_ctx;
    d.eps = (float)eps;
    d.attn = (struct lk_attn){
        .n_head = s->n_head,
        .n_kv_head = s->n_kv_head,
        .head_dim = s->head_dim,
        .n_rot = rope.n_rot,
        .layout = LK_ROPE_HALF,
        .scale = (float)(1 / sqrt((double)s->head_dim)),
    };
    *ret_dense = d;
    return 0;
}

struct dense_rows dense_take(const struct dense *dense, struct scratch *scratch, int32_t n_row)
{
    int32_t dim = dense->shape.dim, q_dim = dense_q_dim(dense), kv_dim = dense_kv_dim(dense);
    return (struct dense_rows){
        .x = scratch_take(scratch, n_row, dim),
        .normed = scratch_take(scratch, n_row, dim),
        .q = scratch_take(scratch, n_row, q_dim),
        .k = scratch_take(scratch, n_row, kv_dim),
        .v = scratch_take(scratch, n_row, kv_dim),
        .mixed = scratch_take(scratch, n_row, q_dim),
        .out = scratch_take(scratch, n_row, dim),
        .gated = scratch_take(scratch, n_row, dense->shape.ff_dim),
        .up = scratch_take(scratch, n_row, dense->shape.ff_dim),
        .cos_sin = scratch_take(scratch, n_row, dense->attn.n_rot),
    };
}

size_t dense_bytes(const struct dense *dense, int32_t n_row)
{
    struct scratch scratch = {0};
    dense_take(dense, &scratch, n_row);
    return scratch.n_byte;
}
