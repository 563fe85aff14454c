/* How near the matrix-vector products come to the speed of reading: see bench_matvec.h. */
#include "config.h"

#include "tests/gpu/bench_matvec.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_IN = 14336, N_OUT = 4096, MAX_CALL = 256, PROBE_THREADS = 256 };

/* Weights of a type: bytes of values and of scales (0: none) per 32 weights. */
static const struct {
    const char *name;
    int value_bytes, scale_bytes;
} types[] = {{"f32", 128, 0}, {"f16", 64, 0}, {"bf16", 64, 0}, {"q8_0", 32, 2}, {"q4_0", 16, 2}};

static const int flights[] = {1, 2, 4, 8};

/* Copies of the matrix, one after the other in `data`: at least two caches full, if there is room. */
static int count_copies(const struct context *c, size_t bytes, size_t matrix)
{
    size_t wanted = (4 * c->device.l2_bytes + ((size_t)1 << 30)) / matrix + 1, fit = bytes / matrix;
    size_t n = wanted < fit ? wanted : fit;
    return n > MAX_CALL ? MAX_CALL : (int)n;
}

/* Everything that a product reads and writes besides its weights. */
struct vectors {
    CUdeviceptr x, xq, x_scale, y;
};

static double rate(struct context *c, int type, const char *kernel, CUdeviceptr data, size_t bytes,
                   const struct vectors *v, int n_in, int n_out, bool small)
{
    const size_t n32 = (size_t)n_in * (size_t)n_out / 32;
    const size_t values = n32 * (size_t)types[type].value_bytes,
                 scales = n32 * (size_t)types[type].scale_bytes;
    const int n = small ? 1 : count_copies(c, bytes, values + scales);
    struct gauge_call *calls = calloc((size_t)(n > 0 ? n : 1), sizeof *calls);
    if (!calls || n < 1)
        gauge_fail("no room for a matrix of %zu bytes", values + scales);
    for (int i = 0; i < n; i++) {
        const CUdeviceptr w = data + (size_t)i * (values + scales);
        const uint64_t dims[] = {(uint64_t)n_out, (uint64_t)n_in};
        calls[i] = (struct gauge_call){
            .kernel = gauge_find(c, kernel),
            .launch = {.grid = {((unsigned)n_out + PROBE_THREADS / 32 - 1) / (PROBE_THREADS / 32)},
                       .block = {PROBE_THREADS}},
            .arguments = {v->y, w, v->x, dims[0], dims[1]}};
        if (scales) {
            const uint64_t quantized[] = {v->y, w, w + values, v->xq, v->x_scale, dims[0], dims[1]};
            for (size_t k = 0; k < sizeof quantized / sizeof *quantized; k++)
                calls[i].arguments[k] = quantized[k];
        }
    }
    double seconds = gauge_calls(c, calls, n, true);
    free(calls);
    return (double)n * (double)(values + scales) * 1e-9 / seconds;
}

void bench_matvec(struct context *c, CUdeviceptr data, size_t bytes, double best, bool small)
{
    const int n_in = small ? 256 : N_IN, n_out = small ? 64 : N_OUT;
    const struct vectors v = {.x = gauge_memory(c, (size_t)n_in * 4, 0),
                              .xq = gauge_memory(c, (size_t)n_in, 0),
                              .x_scale = gauge_memory(c, (size_t)n_in / 32 * 8, 0),
                              .y = gauge_memory(c, (size_t)n_out * 4, 0)};
    printf("\n## Matrix times vector, %d x %d, copies that no cache holds, as a graph\n\n", n_out, n_in);
    printf("GB/s of weights, and its share of the fastest read sweep (%.0f GB/s), by 16-byte loads under way "
           "a lane.\n\n",
           best);
    printf("| weights |");
    for (size_t f = 0; f < sizeof flights / sizeof *flights; f++)
        printf(" %d |", flights[f]);
    printf("\n| --- | --- | --- | --- | --- |\n");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        printf("| %s |", types[t].name);
        for (size_t f = 0; f < sizeof flights / sizeof *flights; f++) {
            char kernel[48];
            snprintf(kernel, sizeof kernel, "probe_matvec_%s_%d", types[t].name, flights[f]);
            const double r = rate(c, (int)t, kernel, data, bytes, &v, n_in, n_out, small);
            if (small)
                printf(" ran |");
            else
                printf(" %.0f (%.0f %%) |", r, 100 * r / best);
        }
        printf("\n");
        fflush(stdout);
    }
}
