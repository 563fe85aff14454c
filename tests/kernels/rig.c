/* A back end for a test, with memory that goes away with it. */
#include "config.h"

#include "tests/kernels/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rig_open(struct rig *rig, int32_t n_thread, int32_t max_row, const char *level)
{
    *rig = (struct rig){.rng = {check_seed()}};
    struct lk_options options = {.n_thread = n_thread, .max_row = max_row, .level = level};
    char why[256] = "";
    int r = lk_open("cpu", &options, &rig->be, why);
    if (r) {
        fprintf(stderr, "lk_open: %d %s\n", r, why);
        exit(2);
    }
}

void rig_close(struct rig *rig)
{
    for (int i = 0; i < rig->n_memory; i++)
        rig->be->ops->free(rig->be, rig->memory[i].mem, rig->memory[i].bytes);
    rig->be->ops->close(rig->be);
}

static void *memory(struct rig *rig, size_t bytes)
{
    void *mem;
    if (rig->n_memory == RIG_MAX_MEMORY || rig->be->ops->alloc(rig->be, bytes, &mem)) {
        fprintf(stderr, "no memory for the test\n");
        exit(2);
    }
    rig->memory[rig->n_memory].mem = mem;
    rig->memory[rig->n_memory++].bytes = bytes;
    return mem;
}

float *rig_floats(struct rig *rig, size_t n)
{
    return memory(rig, n * sizeof(float));
}

float *rig_random(struct rig *rig, size_t n)
{
    float *x = rig_floats(rig, n);
    check_fill(&rig->rng, x, n, CHECK_PLAIN);
    return x;
}

struct lk_mat rig_matrix(struct rig *rig, enum lk_dtype type, int32_t n_out, int32_t n_in, double *ret_value)
{
    size_t n = (size_t)n_out * (size_t)n_in;
    float *values = rig_random(rig, n);
    void *data = memory(rig, lk_dtype_bytes(type, n));
    check_store(data, type, values, n, ret_value);
    return (struct lk_mat){.data = data, .type = type, .n_out = n_out, .n_in = n_in};
}

void rig_begin(struct rig *rig, struct lk_batch *batch, struct lk_span *span, const int32_t *token,
               int32_t n_row, int32_t pos)
{
    *span = (struct lk_span){.row = 0, .n_row = n_row, .pos = pos};
    *batch = (struct lk_batch){.token = token, .n_row = n_row, .span = span, .n_span = 1};
    rig->be->ops->begin(rig->be, batch);
}
