/* Pages of the KV cache: how many positions one holds, and how pages are named.
 *
 * A page holds LK_KV_PAGE consecutive positions of one sequence, for every layer. A sequence is a list of
 * page numbers: position p lies in pages[p / LK_KV_PAGE] at p % LK_KV_PAGE. What a page looks like inside
 * belongs to the back end; which page is whose is decided by src/engine/kvpages.c. */
#pragma once

#include <stdint.h>

/* Positions a page. Also the unit in which attention cuts a key range (at absolute positions), so that
 * results do not depend on how the work was split: changing it changes the last bits of every answer. */
enum { LK_KV_PAGE = 64 };

struct lk_kv_shape {
    int32_t n_layer, n_kv_head, head_dim;
    int32_t n_page; /* pages in the pool */
};
