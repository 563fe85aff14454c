/* Probes: read bandwidth, arithmetic peak, and what it costs to run a list of nodes. */
#include "config.h"

#include "tests/kernels/bench_probe.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    REPEATS = 7,
    FMA_ROUNDS = 4000000, /* of 12 instructions: a few milliseconds */
    BARRIER_NODES = 1024,
    READ_STEP = 256,
};

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_processor(char *name, size_t n)
{
    char line[256], field[64], model[64] = "?", family[16] = "?", number[16] = "?";
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f) && *line != '\n') {
        char *value = strchr(line, ':');
        if (!value || sscanf(line, "%63[^\t:]", field) != 1)
            continue;
        value += value[1] == ' ' ? 2 : 1;
        value[strcspn(value, "\n")] = 0;
        if (!strcmp(field, "model name"))
            snprintf(model, sizeof model, "%.63s", value);
        if (!strcmp(field, "cpu family"))
            snprintf(family, sizeof family, "%.15s", value);
        if (!strcmp(field, "model"))
            snprintf(number, sizeof number, "%.15s", value);
    }
    if (f)
        fclose(f);
    snprintf(name, n, "%s, family %s model %s", model, family, number);
}

/* Best seconds of several runs. */
static double best_run(struct pool *pool, void *ctx, const struct pool_node *nodes, int n_node)
{
    double best = 1e9;
    for (int i = 0; i < REPEATS; i++) {
        double start = bench_now();
        pool_run(pool, ctx, nodes, n_node, NULL);
        double seconds = bench_now() - start;
        best = seconds < best ? seconds : best;
    }
    return best;
}

/* ---- Reading ---- */

struct stream {
    const char *mem;
    size_t bytes; /* a thread */
};

typedef uint64_t line __attribute__((vector_size(64)));

static void read_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const struct stream *s = arg;
    const line *p = (const line *)(s->mem + (size_t)i_chunk * s->bytes), *end = p + s->bytes / sizeof *p;
    line sum[READ_STEP / sizeof(line)] = {0};
    for (; p < end; p += READ_STEP / sizeof(line))
        for (size_t i = 0; i < READ_STEP / sizeof(line); i++)
            sum[i] ^= p[i];
    line all = sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
    __asm__ volatile("" ::"m"(all));
}

double bench_read(struct pool *pool, int n_thread, const void *mem, size_t bytes)
{
    struct stream s = {mem, bytes / (size_t)n_thread / READ_STEP * READ_STEP};
    struct pool_node node = {read_chunk, &s, n_thread};
    return (double)s.bytes * n_thread / best_run(pool, NULL, &node, 1) / 1e9;
}

/* ---- Arithmetic ---- */

#ifdef LORCH_X86
/* Twelve independent accumulators hide the latency of four cycles at two instructions a cycle. */
#define FMA(r, n) "vfmadd231ps %%" r "0, %%" r "1, %%" r #n "\n"
#define FMAS(r) \
    FMA(r, 2)   \
    FMA(r, 3)   \
    FMA(r, 4) FMA(r, 5) FMA(r, 6) FMA(r, 7) FMA(r, 8) FMA(r, 9) FMA(r, 10) FMA(r, 11) FMA(r, 12) FMA(r, 13)
#define FMA_CHUNK(name, r)                                                                                 \
    static void name(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)                        \
    {                                                                                                      \
        (void)ctx, (void)arg, (void)i_chunk, (void)i_thread;                                               \
        long n = FMA_ROUNDS;                                                                               \
        __asm__ volatile("vxorps %%xmm0, %%xmm0, %%xmm0\nvxorps %%xmm1, %%xmm1, %%xmm1\n1:\n" FMAS(        \
                             r) "dec %0\njnz 1b\nvzeroupper\n"                                             \
                         : "+r"(n)                                                                         \
                         :                                                                                 \
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                           "xmm10", "xmm11", "xmm12", "xmm13");                                            \
    }
FMA_CHUNK(fma_256, "ymm")
FMA_CHUNK(fma_512, "zmm")
#endif

double bench_fma(struct pool *pool, int n_thread, unsigned flags)
{
#ifdef LORCH_X86
    int lanes = flags & LK_CPU_AVX512 ? 16 : flags & LK_CPU_AVX2 ? 8 : 0;
    struct pool_node node = {lanes == 16 ? fma_512 : fma_256, NULL, n_thread};
    if (lanes)
        return 12.0 * 2 * lanes * FMA_ROUNDS * n_thread / best_run(pool, NULL, &node, 1) / 1e9;
#else
    (void)pool, (void)n_thread, (void)flags;
#endif
    return 0;
}

/* ---- The pool ---- */

static void no_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)arg, (void)i_chunk, (void)i_thread;
}

void bench_barrier(struct pool *pool, int n_thread, double *ret_node_ns, double *ret_list_ns)
{
    struct pool_node nodes[BARRIER_NODES];
    for (int i = 0; i < BARRIER_NODES; i++)
        nodes[i] = (struct pool_node){no_chunk, NULL, n_thread};
    *ret_node_ns = best_run(pool, NULL, nodes, BARRIER_NODES) * 1e9 / BARRIER_NODES;
    *ret_list_ns = best_run(pool, NULL, nodes, 1) * 1e9;
}
