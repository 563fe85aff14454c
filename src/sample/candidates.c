/* The tokens that may still be drawn, and the filters that thin them out. */
#include "config.h"
#include "src/sample/candidates.h"

#include <math.h>
#include <string.h>

static double total_weight(const struct candidate *list, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += list[i].weight;
    return sum;
}

static int is_better(const struct candidate *a, const struct candidate *b)
{
    return a->key > b->key || (a->key == b->key && a->id < b->id);
}

/* Lets list[at] sink to where it is better than both of its children. */
static void heap_sink(struct candidate *list, size_t n, size_t at)
{
    struct candidate sinking = list[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && is_better(&list[child + 1], &list[child]))
            child++;
        if (!is_better(&list[child], &sinking))
            break;
        list[at] = list[child];
        at = child;
    }
    list[at] = sinking;
}

static void heap_make(struct candidate *list, size_t n)
{
    for (size_t at = n / 2; at-- > 0;)
        heap_sink(list, n, at);
}

/* Moves the best of the heap behind its end. */
static const struct candidate *heap_pop(struct candidate *list, size_t n)
{
    struct candidate best = list[0];
    list[0] = list[n - 1];
    list[n - 1] = best;
    heap_sink(list, n - 1, 0);
    return &list[n - 1];
}

/* Takes the best until there are max of them or their weights reach `enough`; they end up in front, best
 * first. */
static size_t take_best(struct candidate *list, size_t n, size_t max, double enough)
{
    size_t n_taken = 0;
    double sum = 0;
    heap_make(list, n);
    do
        sum += heap_pop(list, n - n_taken++)->weight;
    while (n_taken < max && sum < enough);

    for (size_t i = n - n_taken, j = n - 1; i < j; i++, j--) {
        struct candidate swapped = list[i];
        list[i] = list[j];
        list[j] = swapped;
    }
    memmove(list, list + n - n_taken, n_taken * sizeof *list);
    return n_taken;
}

static void key_by_weight(struct candidate *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        list[i].key = list[i].weight;
}

size_t candidates_top_k(struct candidate *list, size_t n, size_t k)
{
    if (k >= n)
        return n;
    key_by_weight(list, n);
    return take_best(list, n, k, INFINITY);
}

size_t candidates_top_p(struct candidate *list, size_t n, double p)
{
    key_by_weight(list, n);
    return take_best(list, n, n, p * total_weight(list, n));
}

size_t candidates_min_p(struct candidate *list, size_t n, double p)
{
    double best = 0;
    for (size_t i = 0; i < n; i++)
        best = fmax(best, list[i].weight);

    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i].weight >= p * best)
            list[n_kept++] = list[i];
    return n_kept;
}

size_t candidates_typical_p(struct candidate *list, size_t n, double p)
{
    const double total = total_weight(list, n);
    double entropy = 0;
    for (size_t i = 0; i < n; i++) {
        double share = list[i].weight / total;
        if (share > 0)
            entropy -= share * log(share);
    }
    for (size_t i = 0; i < n; i++)
        list[i].key = -fabs(-log(list[i].weight / total) - entropy);
    return take_best(list, n, n, p * total);
}

int32_t candidates_draw(const struct candidate *list, size_t n, double u)
{
    const double goal = u * total_weight(list, n);
    double sum = 0;
    size_t last = 0; /* rounding may leave the goal above the sum: then the last that can be drawn at all */
    for (size_t i = 0; i < n; i++) {
        if (list[i].weight <= 0)
            continue;
        sum += list[i].weight;
        last = i;
        if (sum > goal)
            break;
    }
    return list[last].id;
}
