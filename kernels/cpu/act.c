/* Element by element: SiLU times a gate's partner, addition and scaling, in C. */
#include "config.h"

#include "kernels/lk.h"

#include <math.h>

#include "kernels/cpu/families.h"

static LK_ACT_MUL_FN(silu_mul_c)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)g[i] / (1 + exp(-(double)g[i])) * (double)u[i]);
}

static LK_ADD_FN(add_c)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static LK_SCALE_FN(scale_c)
{
    for (size_t i = 0; i < n; i++)
        y[i] *= factor;
}

void lk_act_init(struct lk_cpu *cpu)
{
    cpu->silu_mul = silu_mul_c;
    cpu->add = add_c;
    cpu->scale = scale_c;
}
