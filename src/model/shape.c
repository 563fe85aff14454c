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

static int read_heads(const struct json *config, struct arch_shape *s, struct why *why)
{
    int r = read_int(config, "num_attention_heads", true, SHAPE_MAX_HEAD, &s->n_head, why);
    if (r)
        return r;
    s->n_kv_head = s->n_head;
    r = read_int(config, "num_key_value_heads", false, SHAPE_MAX_HEAD, &s->n_kv_head, why);
    if (r)
        return r;
    if (s->n_head % s->n_kv_head)
        return why_set(why, EX_DATAERR, "num_attention_heads %d is no multiple of num_key_value_heads %d",
                       s->n_head, s->n_kv_head);
    if (!json_get(config, "head_dim")) {
        if (s->dim % s->n_head)
            return why_set(why, EX_DATAERR,
                           "hidden_size %d is no multiple of num_attention_heads %d, and there is no "
                           "head_dim",
                           s->dim, s->n_head);
        s->head_dim = s->dim / s->n_head;
    }
    r = read_int(config, "head_dim", false, SHAPE_MAX_HEAD_DIM, &s->head_dim, why);
    if (r)
        return r;
    if (s->head_dim > SHAPE_MAX_HEAD_DIM)
        return why_set(why, EX_DATAERR,
                       "hidden_size %d over num_attention_heads %d gives heads of %d, at most %d", s->dim,
                       s->n_head, s->head_dim, SHAPE_MAX_HEAD_DIM);
    if (s->n_head > SHAPE_MAX_WIDTH / s->head_dim)
        return why_set(why, EX_DATAERR, "num_attention_heads %d of head_dim %d: together at most %d",
                       s->n_head, s->head_dim, SHAPE_MAX_WIDTH);
    return 0;
}

int shape_read(const struct json *config, int32_t default_ctx, struct arch_shape *ret_shape, struct why *why)
{
    struct arch_shape s = {.n_ctx = default_ctx};
    int r = read_int(config, "hidden_size", true, SHAPE_MAX_WIDTH, &s.dim, why);
    r = r ? r : read_int(config, "num_hidden_layers", true, SHAPE_MAX_LAYER, &s.n_layer, why);
    r = r ? r : read_heads(config, &s, why);
    r = r ? r : read_int(config, "intermediate_size", true, SHAPE_MAX_WIDTH, &s.ff_dim, why);
    r = r ? r : read_int(config, "vocab_size", true, SHAPE_MAX_VOCAB, &s.n_vocab, why);
    r = r ? r : read_int(config, "max_position_embeddings", false, SHAPE_MAX_CONTEXT, &s.n_ctx, why);
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

int shape_check_act(const struct json *config, const char *const *names, struct why *why)
{
    const struct json *v = json_get(config, "hidden_act");
    const char *act = v ? json_string(v, "(not a string)") : names[0];
    for (const char *const *name = names; *name; name++)
        if (!strcmp(*name, act))
            return 0;
    return why_set(why, EX_DATAERR, "hidden_act is '%.64s', this architecture is implemented with '%s'", act,
                   names[0]);
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
