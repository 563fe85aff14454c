/* Pages of the KV cache: how many positions one holds, and how pages are named.
 *
 * A page holds LK_KV_PAGE consecutive positions of one sequence. There are two kinds, each with numbers of
 * its own: a page is for every layer that sees all positions, a window page for every layer that sees the
 * last ones only. A sequence is a list of either: position p lies in list[p / LK_KV_PAGE] at p % LK_KV_PAGE.
 * What lies behind the window is not read again, so a few window pages serve a sequence of any length: its
 * list names them in turn. What a page looks like inside belongs to the back end; which page is whose is
 * decided by src/engine/kvpages.c. */
#pragma once

#include <stdint.h>

/* Positions a page. Also the unit in which attention cuts a key range (at absolute positions), so that
 * results do not depend on how the work was split: changing it changes the last bits of every answer. */
enum { LK_KV_PAGE = 64 };

struct lk_kv_shape {
    int32_t n_layer, n_kv_head, head_dim;
    int32_t n_page;        /* pages in the pool */
    const int32_t *window; /* [n_layer]: above 0 where a layer lies in window pages; NULL: none does. Host
                              memory, not kept */
    int32_t n_window_page; /* window pages in the pool */
};

/* The least number of window pages that a sequence may name in turn, where a layer sees `window` positions
 * and a step has at most max_row rows: rows from position p on are stored before any of them is read, and
 * the first sees back to p - window + 1. Position p + i takes the place of the one that lies all these pages
 * before it, which must be one that nobody sees any more. */
static inline int32_t lk_kv_window_pages(int32_t window, int32_t max_row)
{
    int64_t n_pos = (int64_t)window - 1 + max_row;
    return (int32_t)((n_pos - 1) / LK_KV_PAGE + 1);
}
