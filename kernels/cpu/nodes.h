/* Operations of the CPU back end but for those that know KV pages (attend.h): see struct lk_ops. */
#pragma once

#include "kernels/backend.h"
#include "kernels/lk.h"

void nodes_embed(struct lk_backend *be, float *y, const struct lk_mat *table);
void nodes_gather(struct lk_backend *be, float *y, const float *x, const int32_t *rows, int32_t n_row,
                  int32_t n);
void nodes_rmsnorm(struct lk_backend *be, float *y, const float *x, const float *w, int32_t n_row, int32_t n,
                   float eps);
void nodes_layernorm(struct lk_backend *be, float *y, const float *x, const float *w, const float *b,
                     int32_t n_row, int32_t n, int32_t stride, float eps);
void nodes_matmul(struct lk_backend *be, float *y, const struct lk_mat *w, const float *bias, const float *x,
                  int32_t n_row);
void nodes_qkv(struct lk_backend *be, float *q, float *k, float *v, const struct lk_mat *wq,
               const struct lk_mat *wk, const struct lk_mat *wv, const float *bq, const float *bk,
               const float *bv, const float *x, int32_t n_row);
void nodes_qkv_split(struct lk_backend *be, const struct lk_attn *attn, float *q, float *k, float *v,
                     const float *x, int32_t n_row);
void nodes_gate_up_act(struct lk_backend *be, float *y, float *tmp, const struct lk_mat *gate,
                       const struct lk_mat *up, const float *gate_bias, const float *up_bias, const float *x,
                       int32_t n_row, enum lk_act act);
void nodes_act_mul(struct lk_backend *be, float *y, const float *g, const float *u, size_t n,
                   enum lk_act act);
void nodes_add(struct lk_backend *be, float *y, const float *x, size_t n);
void nodes_scale(struct lk_backend *be, float *y, size_t n, float factor);
void nodes_soft_cap(struct lk_backend *be, float *y, size_t n, float cap);
void nodes_rope_angles(struct lk_backend *be, float *cos_sin, const struct lk_rope *rope);
void nodes_rope(struct lk_backend *be, float *x, const float *cos_sin, int32_t n_head, int32_t head_dim,
                int32_t n_rot, enum lk_rope_layout layout);

/* For mix.h: how many outputs a chunk of a product takes; the kernel of an activation. */
int32_t nodes_product_step(const struct lk_mat *w, int32_t n_row);
lk_act_mul_fn nodes_act_fn(const struct lk_backend *be, enum lk_act act);
