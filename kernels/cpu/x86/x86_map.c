/* Which instruction set overrides which kernel: the only place outside their own files that names one. */
#include "config.h"

#include "kernels/cpu/x86/x86_map.h"

void lk_x86_init(struct lk_cpu *cpu, unsigned flags)
{
    if (flags & LK_CPU_AVX2)
        LK_X86_SET(cpu, avx2);
    if (flags & LK_CPU_AVX512)
        LK_X86_SET(cpu, avx512);
}
