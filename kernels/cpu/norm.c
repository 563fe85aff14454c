/* Root mean square normalisation (Zhang and Sennrich 2019) and layer normalisation (Ba et al. 2016), in C. */
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

/* Has no vector version: beside the products that follow it costs a hundredth. */
static LK_LAYERNORM_FN(layernorm_c)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += ((double)x[i] - mean) * ((double)x[i] - mean);
    double factor = 1 / sqrt(square / (double)n + (double)eps);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(((double)x[i] - mean) * factor * (double)w[i] + (b ? (double)b[i] : 0));
}

void lk_norm_init(struct lk_cpu *cpu)
{
    cpu->layernorm = layernorm_c;
    cpu->rmsnorm = rmsnorm_c;
}
