/* Operations of the CPU back end that know KV pages: see struct lk_ops. */
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/backend_cpu.h"

size_t attend_kv_bytes(const struct lk_kv_shape *shape);
int attend_kv_create(struct lk_backend *be, const struct lk_kv_shape *shape);
void attend_kv_free(struct cpu_kv *kv);

void attend_kv_append(struct lk_backend *be, const struct lk_attn *attn, const float *k, const float *v);
void attend_rope_kv_append(struct lk_backend *be, const struct lk_attn *attn, float *q, float *k,
                           const float *v, const float *cos_sin);
void attend_attend(struct lk_backend *be, const struct lk_attn *attn, float *y, const float *q);
