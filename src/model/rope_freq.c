/* The frequencies of rotary position embedding: see rope_freq.h. */
#include "config.h"

#include "src/model/rope_freq.h"

#include <math.h>
#include <string.h>
#include <sysexits.h>

#include "src/model/shape.h"

#define MAX_THETA 1e12
#define MAX_FACTOR 1e6
#define MAX_BETA 1e6
#define MAX_ATTENTION_FACTOR 1e3

static const char *const kind_names[] = {
    [ROPE_KIND_DEFAULT] = "default", [ROPE_KIND_LINEAR] = "linear", [ROPE_KIND_DYNAMIC] = "dynamic",
    [ROPE_KIND_LLAMA3] = "llama3",   [ROPE_KIND_YARN] = "yarn",
};

enum { N_KIND = sizeof kind_names / sizeof *kind_names };

static const char *const known_fields[] = {
    "rope_type",        "type",      "rope_theta", "factor",           "original_max_position_embeddings",
    "low_freq_factor",  "beta_fast", "beta_slow",  "attention_factor", "partial_rotary_factor",
    "high_freq_factor", "mscale",    "truncate",   "mscale_all_dim",   "finetuned",
};

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
    const char *name = v ? json_string(v, "(not a string)") : kind_names[ROPE_KIND_DEFAULT];
    for (int i = 0; i < N_KIND; i++)
        if (!strcmp(kind_names[i], name)) {
            *ret_kind = (enum rope_kind)i;
            return 0;
        }
    return why_set(why, EX_DATAERR,
                   "RoPE scaling '%.64s' is not known here; known are: default, linear, dynamic, llama3, "
                   "yarn",
                   name);
}

/* The block that describes the scaling, NULL for none; where both spellings are there, they must agree. */
static int find_block(const struct json *config, const struct json **ret_block, struct why *why)
{
    const struct json *new = json_get(config, "rope_parameters"), *old = json_get(config, "rope_scaling");
    const struct json *block = new ? new : old;
    if (block && !json_is_object(block))
        return why_set(why, EX_DATAERR, "'%s' is not an object", new ? "rope_parameters" : "rope_scaling");
    *ret_block = block;
    int r = check_fields(block, why);
    if (r || !new || !old)
        return r;
    enum rope_kind new_kind, old_kind;
    r = read_kind(new, &new_kind, why);
    r = r ? r : read_kind(old, &old_kind, why);
    if (!r && new_kind != old_kind)
        r = why_set(why, EX_DATAERR, "rope_parameters says '%s', rope_scaling says '%s'",
                    kind_names[new_kind], kind_names[old_kind]);
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
        return why_set(why, EX_DATAERR, "RoPE scaling '%s' has no 'factor'", kind_names[rope->kind]);
    int r = shape_read_positive(block, "factor", MAX_FACTOR, 1, &rope->factor, why);
    if (!r && rope->factor < 1)
        return why_set(why, EX_DATAERR, "RoPE scaling 'factor' is %g, must be at least 1", rope->factor);
    return r;
}

static int read_original(const struct json *block, bool is_required, struct rope_freq *rope, struct why *why)
{
    int64_t n = rope->n_ctx;
    int r =
        json_get_int(block, "original_max_position_embeddings", is_required, 1, SHAPE_MAX_CONTEXT, &n, why);
    rope->original_ctx = (double)n;
    return r;
}

static int read_llama3(const struct json *block, struct rope_freq *rope, struct why *why)
{
    int r = read_original(block, true, rope, why);
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

static int read_yarn(const struct json *block, struct rope_freq *rope, struct why *why)
{
    double scale = 0, mscale = 0, mscale_all_dim = 0;
    rope->truncate = true;
    int r = read_original(block, false, rope, why);
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
    return r;
}

/* Beyond its original length a dynamic model changes all frequencies with every token, which no cached key
 * can follow: it is served up to there. */
static int read_dynamic(const struct json *block, struct rope_freq *rope, struct why *why)
{
    int r = read_original(block, false, rope, why);
    if (!r && rope->original_ctx < (double)rope->n_ctx)
        rope->n_ctx = (int32_t)rope->original_ctx;
    return r;
}

static int read_n_rot(const struct json *config, const struct json *block, int32_t head_dim,
                      int32_t *ret_n_rot, struct why *why)
{
    double part = 1;
    int r = shape_read_positive(config, "partial_rotary_factor", 1, part, &part, why);
    r = r ? r : shape_read_positive(block, "partial_rotary_factor", 1, part, &part, why);
    int32_t n_rot = (int32_t)(head_dim * part);
    if (!r && (n_rot == 0 || n_rot % 2))
        return why_set(why, EX_DATAERR, "heads of %d have %d rotary elements, must be a multiple of 2",
                       head_dim, n_rot);
    *ret_n_rot = n_rot;
    return r;
}

int rope_freq_read(const struct json *config, int32_t head_dim, int32_t n_ctx, double default_theta,
                   struct rope_freq *ret_rope, struct why *why)
{
    struct rope_freq rope = {.n_ctx = n_ctx, .scale = 1};
    const struct json *block = NULL;
    int r = find_block(config, &block, why);
    r = r ? r : read_kind(block, &rope.kind, why);
    r = r ? r : read_theta(config, block, default_theta, &rope.theta, why);
    r = r ? r : read_n_rot(config, block, head_dim, &rope.n_rot, why);
    if (!r && rope.kind != ROPE_KIND_DEFAULT)
        r = read_factor(block, &rope, why);
    if (r)
        return r;
    switch (rope.kind) {
    case ROPE_KIND_DEFAULT:
    case ROPE_KIND_LINEAR:
        break;
    case ROPE_KIND_DYNAMIC:
        r = read_dynamic(block, &rope, why);
        break;
    case ROPE_KIND_LLAMA3:
        r = read_llama3(block, &rope, why);
        break;
    case ROPE_KIND_YARN:
        r = read_yarn(block, &rope, why);
        break;
    }
    if (!r)
        *ret_rope = rope;
    return r;
}

/* Llama 3.1: waves longer than the original context are stretched by the factor, those that turn often within
 * it are left alone, and between the two the share moves linearly with the number of turns. */
static double llama3_freq(const struct rope_freq *rope, double freq)
{
    double n_turn = rope->original_ctx * freq / (2 * M_PI);
    if (n_turn > rope->high)
        return freq;
    if (n_turn < rope->low)
        return freq / rope->factor;
    double share = (n_turn - rope->low) / (rope->high - rope->low);
    return (1 - share) * freq / rope->factor + share * freq;
}

/* YaRN: the index, fractional, whose wave turns n_turn times within the original context. */
static double yarn_index(const struct rope_freq *rope, double n_turn)
{
    return rope->n_rot * log(rope->original_ctx / (n_turn * 2 * M_PI)) / (2 * log(rope->theta));
}

/* YaRN: the share of index i that is stretched: 0 before the ramp, 1 behind it. */
static double yarn_ramp(const struct rope_freq *rope, int32_t i)
{
    double first = yarn_index(rope, rope->high), last = yarn_index(rope, rope->low);
    if (rope->truncate) {
        first = floor(first);
        last = ceil(last);
    }
    first = fmax(first, 0);
    last = fmin(last, rope->n_rot - 1);
    if (first == last)
        last += 0.001; /* a step; the reference's own number */
    return fmin(fmax((i - first) / (last - first), 0), 1);
}

void rope_freq_fill(const struct rope_freq *rope, float *ret_inv_freq)
{
    for (int32_t i = 0; i < rope->n_rot / 2; i++) {
        float exponent = (float)(2 * i) / (float)rope->n_rot;
        double freq = (double)(1 / (float)pow(rope->theta, (double)exponent));
        switch (rope->kind) {
        case ROPE_KIND_DEFAULT:
        case ROPE_KIND_DYNAMIC:
            break;
        case ROPE_KIND_LINEAR:
            freq /= rope->factor;
            break;
        case ROPE_KIND_LLAMA3:
            freq = llama3_freq(rope, freq);
            break;
        case ROPE_KIND_YARN: {
            double ramp = yarn_ramp(rope, i);
            freq = freq / rope->factor * ramp + freq * (1 - ramp);
            break;
        }
        }
        ret_inv_freq[i] = (float)freq;
    }
}
