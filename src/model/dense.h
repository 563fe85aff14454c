/* What decoders have in common: sizes, heads, positions, and the rows that a step works in. The order of
 * operations is not here: that is each architecture's own file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/backend.h"
#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/model/arch.h"
#include "src/model/scratch.h"

struct shape_names;

struct dense {
    struct arch_shape shape;
    struct lk_attn attn; /* all layers': each fills in `layer` */
    struct lk_rope rope;
    float eps;    /* of every norm */
    bool is_tied; /* the embedding is the output head */
};

/* What an architecture expects of its config.json: values where that is silent, and the names of some keys.
 */
struct dense_want {
    int32_t n_ctx;
    double theta, eps;
    double part; /* of a head that is turned; 0: all of it */
    bool is_tied;
    const struct shape_names *names; /* NULL: the usual ones */
    const char *eps_key;             /* NULL: rms_norm_eps */
    const char *act_key;             /* NULL: hidden_act */
    const char *const *acts;         /* what its activation may be called; NULL: SiLU's names */
    const char *layer_type;          /* see struct rope_want */
    const char *quant_method;        /* of weights that the architecture reads; NULL: none is quantized */
};

/* Names of activations, the usual one first: for `acts`. */
extern const char *const dense_gelu[], *const dense_gelu_tanh[];

/* Reads the sizes of src/model/shape.h, positions (src/model/rope_config.h), the epsilon of norms,
 * tie_word_embeddings and the activation. Weights quantized by another method are refused. EX_DATAERR,
 * -ENOMEM. */
int dense_read_config(const struct json *config, const struct dense_want *want, struct arena *arena,
                      struct dense *ret_dense, struct why *why);

/* Which GELU a config.json asks for, if any, and want->acts to go with it: one of dense_gelu (the default) or
 * of dense_gelu_tanh. Another name is dense_read_config's to refuse. */
void dense_choose_gelu(const struct json *config, struct dense_want *want, enum lk_act *ret_act);

/* A LayerNorm. */
struct dense_norm {
    const float *w, *b;
};

/* All query heads of a row together; all key heads, or all value heads. */
static inline int32_t dense_q_dim(const struct dense *dense)
{
    return dense->shape.n_head * dense->shape.head_dim;
}

static inline int32_t dense_kv_dim(const struct dense *dense)
{
    return dense->shape.n_kv_head * dense->shape.head_dim;
}

/* What a step of n_row rows works in. */
struct dense_rows {
    float *x;       /* [n_row][dim]: the residual stream */
    float *normed;  /* [n_row][dim] */
    float *q;       /* [n_row][n_head * head_dim] */
    float *k, *v;   /* [n_row][n_kv_head * head_dim] */
    float *mixed;   /* [n_row][n_head * head_dim]: attention's weighted values */
    float *out;     /* [n_row][dim]: what a half of a block adds to x */
    float *gated;   /* [n_row][ff_dim] */
    float *up;      /* [n_row][ff_dim] */
    float *cos_sin; /* [n_row][2][n_rot / 2] */
};

struct dense_rows dense_take(const struct dense *dense, struct scratch *scratch, int32_t n_row);
/* Bytes that dense_take takes. */
size_t dense_bytes(const struct dense *dense, int32_t n_row);
