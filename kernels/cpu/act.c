/* Element by element: activations times a gate's partner, addition, scaling and soft caps, in C. */
#include "config.h"

#include "kernels/lk.h"

#include <math.h>

#include "kernels/cpu/families.h"

static double partner(const float *u, size_t i)
{
    return u ? (double)u[i] : 1;
}

static LK_ACT_MUL_FN(silu_mul_c)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)g[i] / (1 + exp(-(double)g[i])) * partner(u, i));
}

/* Hendrycks and Gimpel 2016: g times the share of a normal distribution below g. */
static LK_ACT_MUL_FN(gelu_mul_c)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)g[i] * 0.5 * erfc(-(double)g[i] * M_SQRT1_2) * partner(u, i));
}

/* Their approximation: g / 2 (1 + tanh(x)), which is g / (1 + e^-2x). */
static LK_ACT_MUL_FN(gelu_tanh_mul_c)
{
    for (size_t i = 0; i < n; i++) {
        double x = (double)g[i], inner = sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
        y[i] = (float)(x / (1 + exp(-2 * inner)) * partner(u, i));
    }
}

/* Agarwal et al. 2025, "gpt-oss-120b & gpt-oss-20b Model Card". NaN fails every comparison and stays. */
static LK_ACT_MUL_FN(swiglu_clamped_c)
{
    const double limit = 7, alpha = 1.702;
    for (size_t i = 0; i < n; i++) {
        double x = (double)g[i] > limit ? limit : (double)g[i];
        double other = u ? (double)u[i] : 0;
        other = other > limit ? limit : other < -limit ? -limit : other;
        y[i] = (float)(x / (1 + exp(-alpha * x)) * (other + 1));
    }
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

static LK_SOFT_CAP_FN(soft_cap_c)
{
    for (size_t i = 0; i < n; i++)
        y[i] = isinf(y[i]) ? NAN : (float)((double)cap * tanh((double)y[i] / (double)cap));
}

void lk_act_init(struct lk_cpu *cpu)
{
    cpu->silu_mul = silu_mul_c;
    cpu->gelu_mul = gelu_mul_c;
    cpu->gelu_tanh_mul = gelu_tanh_mul_c;
    cpu->swiglu_clamped = swiglu_clamped_c;
    cpu->add = add_c;
    cpu->scale = scale_c;
    cpu->soft_cap = soft_cap_c;
}
