/* The kernels for AVX-512, built a second time with simde_avx512.h so that any processor can run them. */
#include "config.h"

#include "tests/kernels/simde_kernels.h"

#include "tests/kernels/simde_avx512.h"

#include "kernels/cpu/x86/act_avx512.c"
#include "kernels/cpu/x86/attn_avx512.c"
#include "kernels/cpu/x86/matmul_avx512.c"
#include "kernels/cpu/x86/norm_avx512.c"
#include "kernels/cpu/x86/rope_avx512.c"

void simde_kernels_init(struct lk_cpu *cpu)
{
    lk_cpu_init(cpu, 0);
    LK_X86_SET(cpu, simde);
}
