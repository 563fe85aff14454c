/* Fields of config.json that most architectures share: read and checked once, with limits that have names.
 *
 * The limits are generous (no published model comes near) and small enough that no product of a few of them
 * overflows: SHAPE_MAX_WIDTH * SHAPE_MAX_VOCAB * 4 bytes is 2^44. */
#pragma once

#include <stdbool.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/model/arch.h"

#define SHAPE_MAX_CAP 1e6

enum {
    SHAPE_MAX_LAYER = 4096,
    SHAPE_MAX_HEAD = 4096,
    SHAPE_MAX_HEAD_DIM = 4096,
    SHAPE_MAX_WIDTH = 1 << 20, /* of a row of activations: dim, ff_dim, n_head * head_dim */
    SHAPE_MAX_VOCAB = 1 << 22,
    SHAPE_FF_FACTOR = 4,
    SHAPE_MAX_CONTEXT = 1 << 24, /* above, a float32 no longer counts positions */
};

/* How an architecture's config.json calls them. */
struct shape_names {
    const char *dim, *n_layer, *n_head;
    const char *n_kv_head; /* default: as many as n_head */
    const char *ff_dim;
    const char *n_ctx;
    bool may_lack_ff; /* then it is SHAPE_FF_FACTOR * dim */
};

/* Sizes; names NULL: hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads,
 * intermediate_size, max_position_embeddings (default: default_ctx). head_dim (default: width / heads) and
 * vocab_size are called so everywhere. EX_DATAERR with field and numbers. */
int shape_read(const struct json *config, const struct shape_names *names, int32_t default_ctx,
               struct arch_shape *ret_shape, struct why *why);

/* A number above 0 and at most max; the fallback where it is missing. EX_DATAERR. */
int shape_read_positive(const struct json *config, const char *key, double max, double fallback, double *ret,
                        struct why *why);

/* A soft cap: null is none, 0; *cap stays where the key is missing. EX_DATAERR. */
int shape_read_cap(const struct json *config, const char *key, double *cap, struct why *why);

/* Whether an object has a key, be it null. */
bool shape_has_key(const struct json *object, const char *key);

/* The activation under this key must be one of the names (NULL-terminated), the first of which is the
 * default. EX_DATAERR. */
int shape_check_act(const struct json *config, const char *key, const char *const *names, struct why *why);

/* A number that must be this one where it is there, for only that is implemented. EX_DATAERR. */
int shape_check_number(const struct json *config, const char *key, double only, struct why *why);

/* Fields that would change the arithmetic and are not implemented: present and not null, false, or 0.
 * EX_DATAERR. */
int shape_refuse(const struct json *config, const char *const *keys, struct why *why);
