/* Rotary position embedding (Su et al. 2021): turning the pairs of a head, in C. */
#include "config.h"

#include "kernels/lk.h"

#include "kernels/cpu/families.h"

static void turn(float *a, float *b, double cos, double sin)
{
    double old_a = (double)*a, old_b = (double)*b;
    *a = (float)(old_a * cos - old_b * sin);
    *b = (float)(old_b * cos + old_a * sin);
}

static LK_ROPE_FN(rope_half_c)
{
    for (size_t i = 0; i < n_freq; i++)
        turn(&x[i], &x[i + n_freq], (double)cos[i], (double)sin[i]);
}

static LK_ROPE_FN(rope_pair_c)
{
    for (size_t i = 0; i < n_freq; i++)
        turn(&x[2 * i], &x[2 * i + 1], (double)cos[i], (double)sin[i]);
}

void lk_rope_init(struct lk_cpu *cpu)
{
    cpu->rope_half = rope_half_c;
    cpu->rope_pair = rope_pair_c;
}
