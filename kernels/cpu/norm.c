/* Root mean square normalisation (Zhang and Sennrich 2019), in C. */
#include "config.h"

#include "kernels/lk.h"

#include <math.h>

#include "kernels/cpu/families.h"

static LK_RMSNORM_FN(rmsnorm_c)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    double factor = 1 / sqrt(sum / (double)n + (double)eps);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)x[i] * factor * (double)w[i]);
}

void lk_norm_init(struct lk_cpu *cpu)
{
    cpu->rmsnorm = rmsnorm_c;
}
