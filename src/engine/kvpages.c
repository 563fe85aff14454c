/* Whose is which KV page: see kvpages.h. */
#include "config.h"
#include "src/engine/kvpages.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/model/model.h"

int kvpages_init(struct kvpages *pool, int32_t n_page)
{
    *pool = (struct kvpages){.free = mem_array((size_t)n_page, sizeof *pool->free)};
    if (!pool->free)
        return -ENOMEM;
    pool->n_page = pool->n_free = n_page;
    for (int32_t i = 0; i < n_page; i++)
        pool->free[i] = n_page - 1 - i;
    return 0;
}

void kvpages_deinit(struct kvpages *pool)
{
    free(pool->free);
    *pool = (struct kvpages){0};
}

int32_t kvpages_needed(int64_t n_token)
{
    return (int32_t)((n_token + LK_KV_PAGE - 1) / LK_KV_PAGE);
}

bool kvpages_take(struct kvpages *pool, int32_t n, int32_t *ret_pages)
{
    if (n > pool->n_free)
        return false;
    for (int32_t i = 0; i < n; i++)
        ret_pages[i] = pool->free[--pool->n_free];
    return true;
}

void kvpages_give(struct kvpages *pool, const int32_t *pages, int32_t n)
{
    assert(n <= pool->n_page - pool->n_free);
    for (int32_t i = n; i-- > 0;)
        pool->free[pool->n_free++] = pages[i];
}

void kvpages_repeat(int32_t *pages, int32_t n_own, int32_t n)
{
    for (int32_t i = n_own; n_own > 0 && i < n; i++)
        pages[i] = pages[i - n_own];
}
