/* KV pages on a GPU.
 *
 * A pool of one layer's keys or values is [page][n_kv_head][CU_KV_PAGE][head_dim], so that the keys of one
 * head lie together and a warp reads them in rows of 16-byte loads. Position p of a sequence lies in pages[p
 * / CU_KV_PAGE], as kernels/kv.h says. */
#pragma once

#include "kernels/cuda/port.cuh"
#include "kernels/kv.h"

/* Where position `at` of a page begins for one KV head, in elements. */
static __device__ __forceinline__ size_t cu_kv_at(int page, int n_kv_head, int head, int at, int head_dim)
{
    return ((size_t(page) * n_kv_head + head) * LK_KV_PAGE + at) * head_dim;
}
