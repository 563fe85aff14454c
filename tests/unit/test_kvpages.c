/* Tests of src/engine/kvpages.c. */
#include "config.h"
#include "src/engine/kvpages.h"

#include <criterion/criterion.h>

#include "kernels/kv.h"

Test(kvpages, counts_pages)
{
    cr_expect(kvpages_needed(1) == 1);
    cr_expect(kvpages_needed(LK_KV_PAGE) == 1);
    cr_expect(kvpages_needed(LK_KV_PAGE + 1) == 2);
}

Test(kvpages, takes_all_or_nothing)
{
    struct kvpages pool;
    int32_t a[3], b[2], c[5];
    cr_assert(kvpages_init(&pool, 5) == 0);
    cr_expect(kvpages_take(&pool, 3, a));
    cr_expect(!kvpages_take(&pool, 3, c) && pool.n_free == 2);
    cr_expect(kvpages_take(&pool, 2, b) && pool.n_free == 0);
    cr_expect(kvpages_take(&pool, 0, c) && !kvpages_take(&pool, 1, c));
    kvpages_give(&pool, a, 3);
    kvpages_give(&pool, b, 2);
    cr_expect(kvpages_take(&pool, 5, c));
    unsigned seen = 0;
    for (int i = 0; i < 5; i++) {
        cr_assert(c[i] >= 0 && c[i] < 5);
        seen |= 1u << c[i];
    }
    cr_expect(seen == 0x1f, "each page once");
    kvpages_deinit(&pool);
}
