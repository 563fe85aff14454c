/* Each family of C kernels sets its entries of the table. */
#pragma once

struct lk_cpu;

void lk_act_init(struct lk_cpu *cpu);
void lk_attn_init(struct lk_cpu *cpu);
void lk_matmul_init(struct lk_cpu *cpu);
void lk_norm_init(struct lk_cpu *cpu);
void lk_rope_init(struct lk_cpu *cpu);
