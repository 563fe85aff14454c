/* How config.json spells rotary position embedding: see rope_config.h. */
#include "config.h"

#include "src/model/rope_config.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sysexits.h>

#include "src/model/shape.h"

#define MAX_THETA 1e12
#define MAX_FACTOR 1e6
#define MAX_BETA 1e6
#define MAX_ATTENTION_FACTOR 1e3

/* The first one of a kind is its name; `su` is what LongRoPE was called in the first Phi-3 files. */
static const struct {
    const char *name;
    enum rope_kind kind;
} kinds[] = {
    {"default", ROPE_KIND_DEFAULT}, {"linear", ROPE_KIND_LINEAR}, {"dynamic", ROPE_KIND_DYNAMIC},
    {"llama3", ROPE_KIND_LLAMA3},   {"yarn", ROPE_KIND_YARN},     {"longrope", ROPE_KIND_LONGROPE},
    {"su", ROPE_KIND_LONGROPE},
};

enum { N_KIND = sizeof kinds / sizeof *kinds };

static const char *const known_fields[] = {
    "rope_type",        "type",        "rope_theta", "factor",           "original_max_position_embeddings",
    "low_freq_factor",  "beta_fast",   "beta_slow",  "attention_factor", "partial_rotary_factor",
    "high_freq_factor", "mscale",      "truncate",   "mscale_all_dim",   "finetuned",
    "short_factor",     "long_factor",
};

static const char *kind_name(enum rope_kind kind)
{
    size_t i = 0;
    while (kinds[i].kind != kind)
        i++;
    return kinds[i].name;
}

static int check_fields(const struct json *block, struct why *why)
{
    for (const struct json *v = json_first(block); v; v = json_next(v)) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known_fields / sizeof *known_fields; i++)
            is_known = is_known || !strcmp(json_key(v), known_fields[i]);
        if (!is_known)
            return why_set(why, EX_DATAERR, "RoPE scaling has the unknown field '%.64s'", json_key(v));
    }
    return 0;
}

static int read_kind(const struct json *block, enum rope_kind *ret_kind, struct why *why)
{
    const struct json *v = json_get(block, "rope_type");
    v = v ? v : json_get(block, "type");
    const char *name = v ? json_string(v, "(not a string)") : kinds[0].name;
    for (int i = 0; i < N_KIND; i++)
        if (!strcmp(kinds[i].name, name)) {
            *ret_kind = kinds[i].kind;
            return 0;
        }
    return why_set(why, EX_DATAERR,
                   "RoPE scaling '%.64s' is not known here; known are: default, linear, dynamic, llama3, "
                   "yarn, longrope",
                   name);
}

/* The block that describes these layers, NULL for none, and whether it is theirs alone. Where both spellings
 * are there, they must agree. */
static int find_block(const struct json *config, const struct rope_want *want, const struct json **ret_block,
                      bool *ret_is_own, struct why *why)
{
    const struct json *new = json_get(config, "rope_parameters"), *old = json_get(config, "rope_scaling");
    const struct json *own = want->layer_type ? json_get(new, want->layer_type) : NULL;
    const struct json *block = own ? own : want->only_own ? NULL : new ? new : old;
    if (block && !json_is_object(block))
        return why_set(why, EX_DATAERR, "'%s' is not an object",
                       own   ? want->layer_type
                       : new ? "rope_parameters"
                             : "rope_scaling");
    *ret_block = block;
    *ret_is_own = own || want->only_own;
    int r = check_fields(block, why);
    if (r || *ret_is_own || !new || !old)
        return r;
    enum rope_kind new_kind, old_kind;
    r = read_kind(new, &new_kind, why);
    r = r ? r : read_kind(old, &old_kind, why);
    if (!r && new_kind != old_kind)
        r = why_set(why, EX_DATAERR, "rope_parameters says '%s', rope_scaling says '%s'", kind_name(new_kind),
                    kind_name(old_kind));
    return r;
}

static int read_theta(const struct json *config, const struct json *block, double fallback, double *ret_theta,
                      struct why *why)
{
    double outer = fallback;
    int r = shape_read_positive(config, "rope_theta", MAX_THETA, fallback, &outer, why);
    if (r)
        return r;
    double inner = outer;
    r = shape_read_positive(block, "rope_theta", MAX_THETA, outer, &inner, why);
    if (r)
        return r;
    if (inner != outer && json_get(config, "rope_theta"))
        return why_set(why, EX_DATAERR, "rope_theta is %g, and %g within the RoPE parameters", outer, inner);
    if (inner <= 1)
        return why_set(why, EX_DATAERR, "rope_theta is %g, must be above 1", inner);
    *ret_theta = inner;
    return 0;
}

static int read_factor(const struct json *block, struct rope_freq *rope, struct why *why)
{
    if (!json_get(block, "factor"))
        return why_set(why, EX_DATAERR, "RoPE scaling '%s' has no 'factor'", kind_name(rope->kind));
    int r = shape_read_positive(block, "factor", MAX_FACTOR, 1, &rope->factor, why);
    if (!r && rope->factor < 1)
        return why_set(why, EX_DATAERR, "RoPE scaling 'factor' is %g, must be at least 1", rope->factor);
    return r;
}

/* Phi-3 keeps this field outside of the block. */
static int read_original(const struct json *config, const struct json *block, bool is_required,
                         struct rope_freq *rope, struct why *why)
{
    static const char key[] = "original_max_position_embeddings";
    int64_t n = rope->n_ctx;
    int r = json_get_int(config, key, false, 1, SHAPE_MAX_CONTEXT, &n, why);
    is_required = is_required && !json_get(config, key);
    r = r ? r : json_get_int(block, key, is_required, 1, SHAPE_MAX_CONTEXT, &n, why);
    rope->original_ctx = (double)n;
    return r;
}

static int read_llama3(const struct json *config, const struct json *block, struct rope_freq *rope,
                       struct why *why)
{
    int r = read_original(config, block, true, rope, why);
    r = r ? r : shape_read_positive(block, "low_freq_factor", MAX_FACTOR, 1, &rope->low, why);
    r = r ? r : shape_read_positive(block, "high_freq_factor", MAX_FACTOR, 4, &rope->high, why);
    if (!r && rope->low >= rope->high)
        return why_set(why, EX_DATAERR, "low_freq_factor is %g, high_freq_factor %g: must be above it",
                       rope->low, rope->high);
    return r;
}

/* The paper's scale of cosines and sines, its logarithm weighted; 1 where nothing is stretched. */
static double yarn_mscale(double factor, double weight)
{
    return factor <= 1 ? 1 : 0.1 * weight * log(factor) + 1;
}

static int read_yarn(const struct json *config, const struct json *block, struct rope_freq *rope,
                     struct why *why)
{
    double scale = 0, mscale = 0, mscale_all_dim = 0;
    rope->truncate = true;
    int r = read_original(config, block, false, rope, why);
    r = r ? r : shape_read_positive(block, "beta_fast", MAX_BETA, 32, &rope->high, why);
    r = r ? r : shape_read_positive(block, "beta_slow", MAX_BETA, 1, &rope->low, why);
    r = r ? r : json_get_bool(block, "truncate", &rope->truncate, why);
    r = r ? r : json_get_double(block, "mscale", false, 0, MAX_ATTENTION_FACTOR, &mscale, why);
    r = r ? r
          : json_get_double(block, "mscale_all_dim", false, 0, MAX_ATTENTION_FACTOR, &mscale_all_dim, why);
    if (mscale > 0 && mscale_all_dim > 0)
        scale = yarn_mscale(rope->factor, mscale) / yarn_mscale(rope->factor, mscale_all_dim);
    else
        scale = yarn_mscale(rope->factor, 1);
    r = r ? r : shape_read_positive(block, "attention_factor", MAX_ATTENTION_FACTOR, scale, &scale, why);
    if (!r && rope->low >= rope->high)
        return why_set(why, EX_DATAERR, "beta_slow is %g, beta_fast %g: must be above it", rope->low,
                       rope->high);
    rope->scale = (float)scale;
    double reach = fmin(rope->original_ctx * rope->factor, SHAPE_MAX_CONTEXT);
    if (reach > (double)rope->n_ctx)
        rope->n_ctx = (int32_t)reach; /* configurations of Qwen keep the length from before */
    return r;
}

/* Beyond its original length a dynamic model changes all frequencies with every token, which no cached key
 * can follow: it is served up to there. */
static int read_dynamic(const struct json *config, const struct json *block, struct rope_freq *rope,
                        struct why *why)
{
    int r = read_original(config, block, false, rope, why);
    if (!r && rope->original_ctx < (double)rope->n_ctx)
        rope->n_ctx = (int32_t)rope->original_ctx;
    return r;
}

/* A factor for each pair that is turned. */
static int read_list(const struct json *block, const char *key, struct arena *arena, int32_t n,
                     const float **ret_list, struct why *why)
{
    const struct json *array = json_get(block, key);
    if (!json_is_array(array))
        return why_set(why, EX_DATAERR, "RoPE scaling 'longrope' has no list '%s'", key);
    if (json_count(array) != (size_t)n)
        return why_set(why, EX_DATAERR, "'%s' has %zu values, heads have %d pairs of rotary elements", key,
                       json_count(array), n);
    float *list = arena_array(arena, (size_t)n, sizeof *list);
    if (!list)
        return -ENOMEM;
    int32_t i = 0;
    for (const struct json *v = json_first(array); v; v = json_next(v), i++) {
        double value = json_number(v, 0);
        if (!(value >= 1 / MAX_FACTOR && value <= MAX_FACTOR))
            return why_set(why, EX_DATAERR, "value %d of '%s' is no number from %g to %g", i, key,
                           1 / MAX_FACTOR, MAX_FACTOR);
        list[i] = (float)value;
    }
    *ret_list = list;
    return 0;
}

/* The factor is that of the lengths where the block has none. */
static int read_longrope(const struct json *config, const struct json *block, struct arena *arena,
                         struct rope_freq *rope, struct why *why)
{
    int r = read_original(config, block, false, rope, why);
    r = r ? r : read_list(block, "short_factor", arena, rope->n_rot / 2, &rope->short_factor, why);
    r = r ? r : read_list(block, "long_factor", arena, rope->n_rot / 2, &rope->long_factor, why);
    double scale = 1, factor = (double)rope->n_ctx / rope->original_ctx;
    r = r ? r : shape_read_positive(block, "factor", MAX_FACTOR, factor, &rope->factor, why);
    if (r)
        return r;
    if (rope->original_ctx < 2)
        return why_set(why, EX_DATAERR, "original_max_position_embeddings is %g, must be at least 2",
                       rope->original_ctx);
    if (rope->factor > 1)
        scale = sqrt(1 + log(rope->factor) / log(rope->original_ctx));
    r = shape_read_positive(block, "attention_factor", MAX_ATTENTION_FACTOR, scale, &scale, why);
    rope->scale = (float)scale;
    return r;
}

static int read_n_rot(const struct json *config, const struct json *block, const struct rope_want *want,
                      int32_t *ret_n_rot, struct why *why)
{
    double part = want->part;
    int r = shape_read_positive(config, "partial_rotary_factor", 1, part, &part, why);
    r = r ? r : shape_read_positive(block, "partial_rotary_factor", 1, part, &part, why);
    int32_t n_rot = (int32_t)(want->head_dim * part);
    if (!r && (n_rot == 0 || n_rot % 2))
        return why_set(why, EX_DATAERR, "heads of %d have %d rotary elements, must be a multiple of 2",
                       want->head_dim, n_rot);
    *ret_n_rot = n_rot;
    return r;
}

static int read_scaling(const struct json *config, const struct json *block, struct arena *arena,
                        struct rope_freq *rope, struct why *why)
{
    switch (rope->kind) {
    case ROPE_KIND_DEFAULT:
        return 0;
    case ROPE_KIND_LINEAR:
        return read_factor(block, rope, why);
    case ROPE_KIND_LONGROPE:
        return read_longrope(config, block, arena, rope, why);
    case ROPE_KIND_DYNAMIC:
    case ROPE_KIND_LLAMA3:
    case ROPE_KIND_YARN:
        break;
    }
    int r = read_factor(block, rope, why);
    if (r)
        return r;
    return rope->kind == ROPE_KIND_DYNAMIC  ? read_dynamic(config, block, rope, why)
           : rope->kind == ROPE_KIND_LLAMA3 ? read_llama3(config, block, rope, why)
                                            : read_yarn(config, block, rope, why);
}

int rope_config_read(const struct json *config, const struct rope_want *want, struct arena *arena,
                     struct rope_freq *ret_rope, struct why *why)
{
    struct rope_freq rope = {.n_ctx = want->n_ctx, .scale = 1};
    const struct json *block = NULL;
    bool is_own = false;
    int r = find_block(config, want, &block, &is_own, why);
    r = r ? r : read_kind(block, &rope.kind, why);
    r = r ? r : read_theta(is_own ? NULL : config, block, want->theta, &rope.theta, why);
    r = r ? r : read_n_rot(config, block, want, &rope.n_rot, why);
    r = r ? r : read_scaling(config, block, arena, &rope, why);
    if (!r)
        *ret_rope = rope;
    return r;
}
