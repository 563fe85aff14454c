/* The greatest of a row. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/rig_cuda.h"

static const float *sort_by;

static int by_value(const void *a, const void *b)
{
    const int i = *(const int *)a, j = *(const int *)b;
    return sort_by[i] < sort_by[j] ? 1 : sort_by[i] > sort_by[j] ? -1 : i - j;
}

/* Values out of few different ones have ties everywhere, at the border of the k greatest too. Zeros have both
 * signs then, and some tokens are out of the question. */
static bool sample_case(int n, int k, int n_value, unsigned n_thread)
{
    struct check_rng rng = check_rng_for((uint64_t)(n + k));
    float *x = rig_floats(&rng, (size_t)n, CHECK_PLAIN);
    int *order = check_allocate((size_t)n, sizeof *order);
    for (int i = 0; i < n; i++) {
        order[i] = i;
        if (n_value)
            x[i] = i % 11 == 10 ? -INFINITY : (float)check_range(&rng, -n_value, n_value);
        if (n_value && x[i] == 0)
            x[i] = i % 2 ? -0.0f : 0.0f;
    }
    sort_by = x;
    qsort(order, (size_t)n, sizeof *order, by_value);
    const unsigned long long zero = 0;
    CUdeviceptr dx = rig_put(x, (size_t)n * 4), best = rig_put(&zero, sizeof zero);
    CUdeviceptr values = rig_new((size_t)k * 4), indices = rig_new((size_t)k * 4);
    rig_run("argmax", &(struct context_launch){.grid = {3}, .block = {n_thread}}, (void *[]){&best, &dx, &n});
    rig_run("topk", &(struct context_launch){.block = {n_thread}},
            (void *[]){&values, &indices, &dx, &n, &k});
    unsigned long long *key = rig_get(best, sizeof *key);
    float *value = rig_get(values, (size_t)k * 4);
    int *index = rig_get(indices, (size_t)k * 4);
    check_case("%d of %d, %d values, %u threads", k, n, n_value, n_thread);
    bool ok = (int)~(uint32_t)*key == order[0] ||
              check_wrong("argmax is %d, not %d", (int)~(uint32_t)*key, order[0]);
    for (int i = 0; i < k; i++)
        if (index[i] != order[i] || value[i] != x[order[i]])
            ok = check_wrong("place %d has index %d, not %d", i, index[i], order[i]);
    free(x), free(order), free(key), free(value), free(index);
    rig_end();
    return ok;
}

void test_sample(void)
{
    check_point(sample_case(1, 1, 0, 256) && sample_case(1000, 5, 0, 256) && sample_case(5000, 256, 0, 512) &&
                    sample_case(256, 256, 0, 1024) && sample_case(777, 40, 0, 1024),
                "argmax and topk");
    check_point(sample_case(1000, 64, 3, 256) && sample_case(260, 256, 1, 256) &&
                    sample_case(500, 100, 1, 512),
                "argmax and topk, lowest index first among equals");
}
