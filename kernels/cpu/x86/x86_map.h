/* The kernels for x86-64 by instruction set, and the list of which processor gets which. */
#pragma once

#include "kernels/lk.h"

/* The kernels of one instruction set: every file <family>_<isa>.c defines its part. */
#define LK_X86_KERNELS(isa)                 \
    LK_MATMUL_FN(lk_matmul_f32_##isa);      \
    LK_MATMUL_FN(lk_matmul_f16_##isa);      \
    LK_MATMUL_FN(lk_matmul_bf16_##isa);     \
    LK_MATMUL_FN(lk_matmul_mxfp4_##isa);    \
    LK_WIDEN_FN(lk_widen_f16_##isa);        \
    LK_WIDEN_FN(lk_widen_bf16_##isa);       \
    LK_WIDEN_FN(lk_widen_mxfp4_##isa);      \
    LK_RMSNORM_FN(lk_rmsnorm_##isa);        \
    LK_ACT_MUL_FN(lk_silu_mul_##isa);       \
    LK_ACT_MUL_FN(lk_gelu_mul_##isa);       \
    LK_ACT_MUL_FN(lk_gelu_tanh_mul_##isa);  \
    LK_ACT_MUL_FN(lk_swiglu_clamped_##isa); \
    LK_ADD_FN(lk_add_##isa);                \
    LK_SCALE_FN(lk_scale_##isa);            \
    LK_SOFT_CAP_FN(lk_soft_cap_##isa);      \
    LK_ROPE_FN(lk_rope_half_##isa);         \
    LK_ROPE_FN(lk_rope_pair_##isa);         \
    LK_ATTN_PAGE_FN(lk_attn_page_##isa);    \
    LK_ATTN_MERGE_FN(lk_attn_merge_##isa)

/* Sets all of them in a table. */
#define LK_X86_SET(cpu, isa)                             \
    do {                                                 \
        (cpu)->matmul[LK_F32] = lk_matmul_f32_##isa;     \
        (cpu)->matmul[LK_F16] = lk_matmul_f16_##isa;     \
        (cpu)->matmul[LK_BF16] = lk_matmul_bf16_##isa;   \
        (cpu)->matmul[LK_MXFP4] = lk_matmul_mxfp4_##isa; \
        (cpu)->widen[LK_F16] = lk_widen_f16_##isa;       \
        (cpu)->widen[LK_BF16] = lk_widen_bf16_##isa;     \
        (cpu)->widen[LK_MXFP4] = lk_widen_mxfp4_##isa;   \
        (cpu)->rmsnorm = lk_rmsnorm_##isa;               \
        (cpu)->silu_mul = lk_silu_mul_##isa;             \
        (cpu)->gelu_mul = lk_gelu_mul_##isa;             \
        (cpu)->gelu_tanh_mul = lk_gelu_tanh_mul_##isa;   \
        (cpu)->swiglu_clamped = lk_swiglu_clamped_##isa; \
        (cpu)->add = lk_add_##isa;                       \
        (cpu)->scale = lk_scale_##isa;                   \
        (cpu)->soft_cap = lk_soft_cap_##isa;             \
        (cpu)->rope_half = lk_rope_half_##isa;           \
        (cpu)->rope_pair = lk_rope_pair_##isa;           \
        (cpu)->attn_page = lk_attn_page_##isa;           \
        (cpu)->attn_merge = lk_attn_merge_##isa;         \
    } while (0)

LK_X86_KERNELS(avx2);
LK_X86_KERNELS(avx512);

/* Overrides entries of a table, upward, as far as the flags (LK_CPU_...) reach. */
void lk_x86_init(struct lk_cpu *cpu, unsigned flags);
