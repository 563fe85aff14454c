/* The frequencies of rotary position embedding: see rope_freq.h. */
#include "config.h"

#include "src/model/rope_freq.h"

#include <errno.h>
#include <math.h>

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

/* LongRoPE: every wave has its own stretch. */
static float longrope_freq(const float *factor, int32_t i, float power)
{
    return 1 / (factor[i] * power);
}

static float freq_of(const struct rope_freq *rope, const float *factor, int32_t i)
{
    float exponent = (float)(2 * i) / (float)rope->n_rot;
    float power = (float)pow(rope->theta, (double)exponent);
    double freq = (double)(1 / power);
    switch (rope->kind) {
    case ROPE_KIND_DEFAULT:
    case ROPE_KIND_DYNAMIC:
        break;
    case ROPE_KIND_LINEAR:
        return (float)(freq / rope->factor);
    case ROPE_KIND_LLAMA3:
        return (float)llama3_freq(rope, freq);
    case ROPE_KIND_YARN: {
        double ramp = yarn_ramp(rope, i);
        return (float)(freq / rope->factor * ramp + freq * (1 - ramp));
    }
    case ROPE_KIND_LONGROPE:
        return longrope_freq(factor, i, power);
    }
    return (float)freq;
}

static float *make_table(const struct rope_freq *rope, const float *factor, struct arena *arena)
{
    float *table = arena_array(arena, (size_t)rope->n_rot / 2, sizeof *table);
    for (int32_t i = 0; table && i < rope->n_rot / 2; i++)
        table[i] = freq_of(rope, factor, i);
    return table;
}

int rope_freq_make(const struct rope_freq *rope, struct arena *arena, struct lk_rope *ret_rope)
{
    *ret_rope = (struct lk_rope){
        .inv_freq = make_table(rope, rope->short_factor, arena),
        .n_freq = rope->n_rot / 2,
        .scale = rope->scale,
    };
    if (rope->kind == ROPE_KIND_LONGROPE) {
        ret_rope->short_ctx = (int32_t)rope->original_ctx;
        ret_rope->long_inv_freq = make_table(rope, rope->long_factor, arena);
        if (!ret_rope->long_inv_freq)
            return -ENOMEM;
    }
    return ret_rope->inv_freq ? 0 : -ENOMEM;
}
