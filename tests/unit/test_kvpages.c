/* Tests of src/engine/kvpages.c. */
#include "config.h"
#include "src/engine/kvpages.h"

#include <criterion/criterion.h>
#include <stdbool.h>
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

/* Whether each position that a step of n_row rows sees is still in its place when all rows are stored. */
static bool is_kept(int32_t window, int32_t n_row, int32_t n_page)
{
    enum { N_POS = 1024 };
    int32_t holds[N_POS]; /* the position in each place */
    for (int32_t pos = 0; pos + n_row <= N_POS; pos += n_row) {
        for (int32_t p = pos; p < pos + n_row; p++)
            holds[p % (n_page * LK_KV_PAGE)] = p;
        for (int32_t p = pos < window ? 0 : pos - window + 1; p < pos + n_row; p++)
            if (holds[p % (n_page * LK_KV_PAGE)] != p)
                return false;
    }
    return true;
}

Test(kvpages, as_few_window_pages_as_possible)
{
    for (int32_t window = 1; window < 200; window += 7)
        for (int32_t n_row = 1; n_row < 140; n_row += 3) {
            int32_t n_page = lk_kv_window_pages(window, n_row);
            cr_assert(is_kept(window, n_row, n_page), "window %d, %d rows", window, n_row);
            cr_assert(n_page == 1 || !is_kept(window, n_row, n_page - 1), "window %d, %d rows", window,
                      n_row);
        }
}
