/* Mixtures of experts: see mixture.h. */
#include "config.h"

#include "src/model/mixture.h"

#include <stdio.h>
#include <sysexits.h>

#include "src/model/shape.h"

static int read_int(const struct json *config, const char *key, int32_t max, int32_t *ret, struct why *why)
{
    int64_t value = 0;
    int r = json_get_int(config, key, true, 1, max, &value, why);
    *ret = (int32_t)value;
    return r;
}

int mixture_read(const struct json *config, const char *ff_key, int32_t dim, struct lk_mixture *ret,
                 struct why *why)
{
    const char *n_key = json_get(config, "num_local_experts") ? "num_local_experts" : "num_experts";
    struct lk_mixture m = {.dim = dim, .is_normalized = true, .act = LK_ACT_SILU};
    int r = read_int(config, n_key, MIXTURE_MAX_EXPERT, &m.n_expert, why);
    r = r ? r : read_int(config, "num_experts_per_tok", MIXTURE_MAX_CHOSEN, &m.n_chosen, why);
    r = r ? r : read_int(config, ff_key, SHAPE_MAX_WIDTH, &m.ff_dim, why);
    if (r)
        return r;
    if (m.n_chosen > m.n_expert)
        return why_set(why, EX_DATAERR, "num_experts_per_tok %d is more than %s %d", m.n_chosen, n_key,
                       m.n_expert);
    *ret = m;
    return 0;
}

int mixture_read_layers(const struct json *config, bool *ret_is_mixture, int32_t n_layer, struct why *why)
{
    int64_t step = 1;
    int r = json_get_int(config, "decoder_sparse_step", false, 1, SHAPE_MAX_LAYER, &step, why);
    for (int32_t i = 0; i < n_layer && !r; i++)
        ret_is_mixture[i] = (i + 1) % step == 0;
    const struct json *list = json_get(config, "mlp_only_layers");
    if (!r && list && !json_is_array(list))
        return why_set(why, EX_DATAERR, "'mlp_only_layers' is %s, not an array", json_kind(list));
    for (const struct json *v = json_first(list); v && !r; v = json_next(v)) {
        int64_t layer;
        if (!json_is_whole(v, 0, n_layer - 1, &layer))
            return why_set(why, EX_DATAERR, "'mlp_only_layers' has %g, layers are 0 to %d", json_number(v, 0),
                           n_layer - 1);
        ret_is_mixture[layer] = false;
    }
    return r;
}

void mixture_note(const struct lk_mixture *mixture, int32_t n_layer, struct arch_shape *shape)
{
    shape->experts = (struct arch_experts){
        .n = mixture->n_expert, .n_chosen = mixture->n_chosen, .ff_dim = mixture->ff_dim, .n_layer = n_layer};
}

struct lk_expert *mixture_of_layer(const struct lk_mixture *mixture, struct arena *arena,
                                   struct lk_mixture *ret)
{
    struct lk_expert *experts = arena_array(arena, (size_t)mixture->n_expert, sizeof *experts);
    *ret = *mixture;
    ret->experts = experts;
    return experts;
}

int mixture_bind(struct bind *bind, struct lk_expert *experts, const struct lk_mixture *mixture,
                 int32_t layer, const char *block, const struct mixture_names *names, struct why *why)
{
    char gate[32], up[32], down[32];
    int32_t dim = mixture->dim, ff_dim = mixture->ff_dim;
    const struct bind_row rows[] = {
        {gate, BIND_MATRIX(struct lk_expert, gate), {ff_dim, dim}, false},
        {up, BIND_MATRIX(struct lk_expert, up), {ff_dim, dim}, false},
        {down, BIND_MATRIX(struct lk_expert, down), {dim, ff_dim}, false},
    };
    snprintf(gate, sizeof gate, "%s.weight", names->gate);
    snprintf(up, sizeof up, "%s.weight", names->up);
    snprintf(down, sizeof down, "%s.weight", names->down);
    int r = 0;
    for (int32_t i = 0; i < mixture->n_expert && !r; i++)
        r = bind_rows(bind, &experts[i], rows, sizeof rows / sizeof *rows, why,
                      "model.layers.%d.%s.experts.%d.", layer, block, i);
    return r;
}
