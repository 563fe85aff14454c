/* Tests of src/engine/kvpages.c. */
#include "config.h"
#include "src/engine/kvpages.h"

#include <criterion/criterion.h>
#include <string.h>

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

Test(kvpages, repeats_pages_in_turn)
{
    int32_t pages[] = {7, 3, 5, -1, -1, -1, -1, -1};
    static const int32_t want[] = {7, 3, 5, 7, 3, 5, 7, -1};
    kvpages_repeat(pages, 3, 7);
    cr_expect(memcmp(pages, want, sizeof want) == 0);
    kvpages_repeat(pages, 0, 8);
    kvpages_repeat(pages, 8, 8);
    cr_expect(memcmp(pages, want, sizeof want) == 0);
}

/* However the positions that must be kept lie in pages. */
Test(kvpages, enough_window_pages)
{
    for (int32_t window = 1; window < 200; window += 7)
        for (int32_t n_row = 1; n_row < 140; n_row += 3) {
            int32_t most = 0;
            for (int32_t pos = window; pos < window + LK_KV_PAGE; pos++) {
                int32_t n = (pos + n_row - 1) / LK_KV_PAGE - (pos - window + 1) / LK_KV_PAGE + 1;
                most = n > most ? n : most;
            }
            cr_assert_eq(lk_kv_window_pages(window, n_row), most, "window %d, %d rows", window, n_row);
        }
}
