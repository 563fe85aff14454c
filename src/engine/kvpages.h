/* Whose is which KV page: policy only, the pages themselves are the back end's. There is one of this for each
 * kind of page (kernels/kv.h).
 *
 * A job reserves at its admission all pages that it may ever need, so that nothing can run out in its middle.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kvpages {
    int32_t *free; /* [n_page]: the first n_free are the free ones, the last of them is taken next */
    int32_t n_page, n_free;
};

/* 0 or -ENOMEM. */
int kvpages_init(struct kvpages *pool, int32_t n_page);
void kvpages_deinit(struct kvpages *pool);

/* Pages that a sequence of n_token tokens occupies. */
int32_t kvpages_needed(int64_t n_token);
/* Takes n pages: all of them into ret_pages[n] and true, or none and false. */
bool kvpages_take(struct kvpages *pool, int32_t n, int32_t *ret_pages);
/* Gives back what was taken. */
void kvpages_give(struct kvpages *pool, const int32_t *pages, int32_t n);
/* Fills a list whose first n_own pages are taken up to n by naming those in turn; nothing if there are none.
 */
void kvpages_repeat(int32_t *pages, int32_t n_own, int32_t n);
