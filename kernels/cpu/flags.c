/* What this processor can do, and the table of kernels for it. */
#include "config.h"

#include "kernels/lk.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/families.h"
#ifdef LORCH_X86
#include <cpuid.h>

#include "kernels/cpu/x86/x86_map.h"
#endif

/* Levels, each holding all below it. */
static const struct {
    const char *name;
    unsigned flags;
} levels[] = {
    {"c", 0},
    {"avx2", LK_CPU_AVX2},
    {"avx512", LK_CPU_AVX2 | LK_CPU_AVX512},
};

enum { N_LEVEL = sizeof levels / sizeof *levels };

#ifdef LORCH_X86
/* clang 14 does not let __builtin_cpu_supports ask for it. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

unsigned lk_cpu_flags(void)
{
    unsigned flags = 0;
#ifdef LORCH_X86
    /* These also ask whether the system saves the registers. */
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
        flags |= LK_CPU_AVX2;
    if (flags && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        flags |= LK_CPU_AVX512;
#endif
    return flags;
}

unsigned lk_cpu_flags_for(const char *level, unsigned have)
{
    if (!level)
        return have;
    for (int i = 0; i < N_LEVEL; i++)
        if (!strcmp(levels[i].name, level))
            return levels[i].flags & have;
    return ~0u;
}

static const char *level_name(unsigned flags)
{
    const char *name = levels[0].name;
    for (int i = 0; i < N_LEVEL; i++)
        if ((flags & levels[i].flags) == levels[i].flags)
            name = levels[i].name;
    return name;
}

void lk_cpu_init(struct lk_cpu *cpu, unsigned flags)
{
    *cpu = (struct lk_cpu){.flags = flags, .level = level_name(flags)};
    lk_act_init(cpu);
    lk_attn_init(cpu);
    lk_matmul_init(cpu);
    lk_norm_init(cpu);
    lk_rope_init(cpu);
#ifdef LORCH_X86
    lk_x86_init(cpu, flags);
#endif
}
