/* Fields of config.json that most architectures share: see shape.h. */
#include "config.h"

#include "src/model/shape.h"

#include <string.h>
#include <sysexits.h>

static int read_int(const struct json *config, const char *key, bool is_required, int32_t max, int32_t *ret,
                    struct why *why)
{
    int64_t value = *ret;
    int r = json_get_int(config, key, is_required, 1, max, &value, why);
    if (!r)
        *ret = (int32_t)value;
    return r;
}

static const struct shape_names usual = {
    .dim = "hidden_size",
    .n_layer = "num_hidden_layers",
    .n_head = "num_attention_heads",
    .n_kv_head = "num_key_value_heads",
    .ff_dim = "intermediate_size",
    .n_ctx = "max_position_embeddings",
};

static int read_heads(const struct json *config, const struct shape_names *names, struct arch_shape *s,
                      struct why *why)
{
    int r = read_int(config, names->n_head, true, SHAPE_MAX_HEAD, &s->n_head, why);
    if (r)
        return r;
    s->n_kv_head = s->n_head;
    r = read_int(config, names->n_kv_head, false, SHAPE_MAX_HEAD, &s->n_kv_head, why);
    if (r)
        return r;
    if (s->n_head % s->n_kv_head)
        return why_set(why, EX_DATAERR, "%s %d is no multiple of %s %d", names->n_head, s->n_head,
                       names->n_kv_head, s->n_kv_head);
    if (!json_get(config, "head_dim")) {
        if (s->dim % s->n_head)
            return why_set(why, EX_DATAERR, "%s %d is no multiple of %s %d, and there is no head_dim",
                           names->dim, s->dim, names->n_head, s->n_head);
        s->head_dim = s->dim / s->n_head;
    }
    r = read_int(config, "head_dim", false, SHAPE_MAX_HEAD_DIM, &s->head_dim, why);
    if (r)
        return r;
    if (s->head_dim > SHAPE_MAX_HEAD_DIM)
        return why_set(why, EX_DATAERR, "%s %d over %s %d gives heads of %d, at most %d", names->dim, s->dim,
                       names->n_head, s->n_head, s->head_dim, SHAPE_MAX_HEAD_DIM);
    if (s->n_head > SHAPE_MAX_WIDTH / s->head_dim)
        return why_set(why, EX_DATAERR, "%s %d of head_dim %d: together at most %d", names->n_head, s->n_head,
                       s->head_dim, SHAPE_MAX_WIDTH);
    return 0;
}

int shape_read(const struct json *config, const struct shape_names *names, int32_t default_ctx,
               struct arch_shape *ret_shape, struct why *why)
{
    struct arch_shape s = {.n_ctx = default_ctx};
    names = names ? names : &usual;
    int r = read_int(config, names->dim, true, SHAPE_MAX_WIDTH, &s.dim, why);
    r = r ? r : read_int(config, names->n_layer, true, SHAPE_MAX_LAYER, &s.n_layer, why);
    r = r ? r : read_heads(config, names, &s, why);
    if (!r && s.dim <= SHAPE_MAX_WIDTH / SHAPE_FF_FACTOR)
        s.ff_dim = s.dim * SHAPE_FF_FACTOR;
    bool is_required = !names->may_lack_ff || !s.ff_dim;
    r = r ? r : read_int(config, names->ff_dim, is_required, SHAPE_MAX_WIDTH, &s.ff_dim, why);
    r = r ? r : read_int(config, "vocab_size", true, SHAPE_MAX_VOCAB, &s.n_vocab, why);
    r = r ? r : read_int(config, names->n_ctx, false, SHAPE_MAX_CONTEXT, &s.n_ctx, why);
    if (!r)
        *ret_shape = s;
    return r;
}

int shape_read_positive(const struct json *config, const char *key, double max, double fallback, double *ret,
                        struct why *why)
{
    double value = fallback;
    int r = json_get_double(config, key, false, 0, max, &value, why);
    if (r)
        return r;
    if (!(value > 0))
        return why_set(why, EX_DATAERR, "'%s' is %g, must be above 0 and at most %g", key, value, max);
    *ret = value;
    return 0;
}

bool shape_has_key(const struct json *object, const char *key)
{
    for (const struct json *v = json_first(object); v; v = json_next(v))
        if (!strcmp(json_key(v), key))
            return true;
    return false;
}

int shape_read_cap(const struct json *config, const char *key, double *cap, struct why *why)
{
    if (shape_has_key(config, key) && !json_get(config, key))
        *cap = 0;
    return json_get_double(config, key, false, 0, SHAPE_MAX_CAP, cap, why);
}

int shape_check_act(const struct json *config, const char *key, const char *const *names, struct why *why)
{
    const struct json *v = json_get(config, key);
    const char *act = v ? json_string(v, "(not a string)") : names[0];
    for (const char *const *name = names; *name; name++)
        if (!strcmp(*name, act))
            return 0;
    return why_set(why, EX_DATAERR, "%s is '%.64s', this architecture is implemented with '%s'", key, act,
                   names[0]);
}

int shape_check_number(const struct json *config, const char *key, double only, struct why *why)
{
    const struct json *v = json_get(config, key);
    if (!v || (json_is_number(v) && json_number(v, 0) == only))
        return 0;
    if (!json_is_number(v))
        return why_set(why, EX_DATAERR, "'%s' is %s, must be the number %g", key, json_kind(v), only);
    return why_set(why, EX_DATAERR, "'%s' is %g, this architecture is implemented with %g", key,
                   json_number(v, 0), only);
}

int shape_refuse(const struct json *config, const char *const *keys, struct why *why)
{
    for (; *keys; keys++) {
        const struct json *v = json_get(config, *keys);
        bool is_off =
            !v || (json_is_bool(v) && !json_bool(v, true)) || (json_is_number(v) && json_number(v, 1) == 0);
        if (!is_off)
            return why_set(why, EX_DATAERR, "'%s' is set, which this architecture does not implement", *keys);
    }
    return 0;
}
