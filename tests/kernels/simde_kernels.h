/* The table of kernels for AVX-512 as any processor can run them, and what SIMDe lacks for it. */
#pragma once

#include "kernels/cpu/x86/x86_map.h"

LK_X86_KERNELS(simde);

void simde_kernels_init(struct lk_cpu *cpu);

/* One intrinsic on memory: 64 bytes from up to three operands of 64 bytes; n <= 16 elements where it is
 * masked. */
struct simde_gap {
    const char *name;
    void (*run)(void *ret, const void *in, size_t n);
    size_t element_bytes; /* of in, where it is masked: nothing behind n elements may be read; else 0 */
};

enum { SIMDE_N_GAP = 9 };

/* By plain C, and by the processor, which needs AVX-512 for it. */
extern const struct simde_gap simde_gaps_simde[SIMDE_N_GAP], simde_gaps_avx512[SIMDE_N_GAP];
