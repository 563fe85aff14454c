/* Tests of src/sample/candidates.c against a full sort and sums in the textbook's order. */
#include "config.h"
#include "src/sample/candidates.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/sample/rng.h"

enum { N = 300, N_ROUND = 200 };

static size_t make(struct candidate *list, uint64_t seed)
{
    size_t n = 1 + (size_t)(rng_uniform(seed, 0) * (N - 1));
    double spread = 1 + 12 * rng_uniform(seed, 1);
    bool coarse = rng_uniform(seed, 2) < 0.3; /* many ties */
    for (size_t i = 0; i < n; i++) {
        double x = spread * rng_uniform(seed, 10 + i);
        list[i] = (struct candidate){.weight = exp(coarse ? floor(x) : x), .id = (int32_t)(2 * i)};
    }
    return n;
}

static int by_weight(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    return a->weight > b->weight ? -1 : a->weight < b->weight ? 1 : a->id < b->id ? -1 : 1;
}

static int by_key(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    return a->key > b->key ? -1 : a->key < b->key ? 1 : a->id < b->id ? -1 : 1;
}

static double total(const struct candidate *list, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += list[i].weight;
    return sum;
}

static void expect_ids(const struct candidate *got, size_t n_got, const struct candidate *want, size_t n_want,
                       uint64_t seed)
{
    cr_assert(n_got == n_want, "seed %llu: %zu, want %zu", (unsigned long long)seed, n_got, n_want);
    for (size_t i = 0; i < n_got; i++)
        cr_assert(got[i].id == want[i].id, "seed %llu: place %zu has id %d, want %d",
                  (unsigned long long)seed, i, got[i].id, want[i].id);
}

Test(candidates, top_k)
{
    struct candidate list[N], sorted[N];
    for (uint64_t seed = 0; seed < N_ROUND; seed++) {
        size_t n = make(list, seed), k = 1 + (size_t)(rng_uniform(seed, 5) * N);
        memcpy(sorted, list, sizeof list);
        if (k < n)
            qsort(sorted, n, sizeof *sorted, by_weight);
        size_t got = candidates_top_k(list, n, k);
        expect_ids(list, got, sorted, k < n ? k : n, seed);
    }
}

static size_t reach(const struct candidate *sorted, size_t n, double enough)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += sorted[i].weight;
        if (sum >= enough)
            return i + 1;
    }
    return n;
}

Test(candidates, top_p)
{
    struct candidate list[N], sorted[N];
    for (uint64_t seed = 0; seed < N_ROUND; seed++) {
        size_t n = make(list, seed);
        double p = rng_uniform(seed, 5);
        double enough = p * total(list, n);
        memcpy(sorted, list, sizeof list);
        qsort(sorted, n, sizeof *sorted, by_weight);
        size_t got = candidates_top_p(list, n, p);
        expect_ids(list, got, sorted, reach(sorted, n, enough), seed);
    }
}

Test(candidates, min_p)
{
    struct candidate list[N], want[N];
    for (uint64_t seed = 0; seed < N_ROUND; seed++) {
        size_t n = make(list, seed), n_want = 0;
        double p = rng_uniform(seed, 5), best = 0;
        for (size_t i = 0; i < n; i++)
            best = list[i].weight > best ? list[i].weight : best;
        for (size_t i = 0; i < n; i++)
            if (list[i].weight >= p * best)
                want[n_want++] = list[i];
        size_t got = candidates_min_p(list, n, p);
        expect_ids(list, got, want, n_want, seed);
    }
}

Test(candidates, typical_p)
{
    struct candidate list[N], sorted[N];
    for (uint64_t seed = 0; seed < N_ROUND; seed++) {
        size_t n = make(list, seed);
        double p = rng_uniform(seed, 5), sum = total(list, n), entropy = 0;
        for (size_t i = 0; i < n; i++) {
            double share = list[i].weight / sum;
            entropy -= share * log(share);
        }
        memcpy(sorted, list, sizeof list);
        for (size_t i = 0; i < n; i++)
            sorted[i].key = -fabs(-log(sorted[i].weight / sum) - entropy);
        qsort(sorted, n, sizeof *sorted, by_key);
        size_t got = candidates_typical_p(list, n, p);
        expect_ids(list, got, sorted, reach(sorted, n, p * sum), seed);
    }
}

Test(candidates, weights_of_zero_come_last)
{
    struct candidate list[] = {{.weight = 0, .id = 0}, {.weight = 1, .id = 1}, {.weight = 0, .id = 2}};
    struct candidate copy[3];
    memcpy(copy, list, sizeof list);
    cr_expect(candidates_typical_p(copy, 3, 0.5) == 1 && copy[0].id == 1);
    memcpy(copy, list, sizeof list);
    cr_expect(candidates_top_p(copy, 3, 1) == 1 && copy[0].id == 1);
    memcpy(copy, list, sizeof list);
    cr_expect(candidates_min_p(copy, 3, 1e-30) == 1 && copy[0].id == 1);
}

Test(candidates, draw_walks_the_weights)
{
    const struct candidate list[] = {{.weight = 0, .id = 5}, {.weight = 1, .id = 6}, {.weight = 3, .id = 7}};
    cr_expect(candidates_draw(list, 3, 0) == 6);
    cr_expect(candidates_draw(list, 3, 0.2499) == 6);
    cr_expect(candidates_draw(list, 3, 0.25) == 7);
    cr_expect(candidates_draw(list, 3, 1 - 0x1p-53) == 7);
}
