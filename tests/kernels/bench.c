/* Times the kernels beside the limits of the machine, measured in the same run.
 *
 *   bench [THREADS [LEVEL]]      all threads and the best level (c, avx2, avx512) unless given
 *
 * Weights and pages rotate through a buffer that no cache holds, so a product of one row runs at the speed of
 * memory as it does in decoding. Every figure is the best of several runs: other work on the machine can only
 * add to a time. "x C" compares one thread with one thread of the C definition. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/kernels/bench_probe.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/check.h"

#define BUFFER_BYTES ((size_t)512 << 20)

enum {
    MAX_NODE = 4096,
    MAX_ROW = 512,
    MAX_IN = 16384,
    MAX_OUT = 16384,
    CHUNK_BYTES = 64 * 1024, /* of weights, as the CPU back end hands them out; with many rows more */
    MANY_CHUNK_BYTES = 256 * 1024,
    MANY_ROWS = 16,
    MAX_QUERY = 64,
    C_PRODUCTS = 1 << 22, /* multiplications of a timing of C */
};

#define MIN_SECONDS 0.3 /* a figure takes */
#define MAX_GFLOP 8.0   /* of one run */

static struct {
    struct pool *pool;
    int n_thread;
    struct lk_cpu cpu, c;
    char *buffer;
    float *x, *y;
    double read, fma; /* limits at n_thread threads: GB/s, GFLOP/s */
} bench;

static void *allocate(size_t bytes)
{
    void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mem == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    madvise(mem, bytes, MADV_HUGEPAGE);
    return mem;
}

/* Best seconds of one pass over a list. */
static double best_pass(const struct pool_node *nodes, int n_node)
{
    double best = 1e9, start = bench_now();
    for (int i = 0; i < 3 || bench_now() - start < MIN_SECONDS; i++) {
        double from = bench_now();
        pool_run(bench.pool, NULL, nodes, n_node, NULL);
        double seconds = bench_now() - from;
        best = seconds < best ? seconds : best;
    }
    return best;
}

/* ---- Products ---- */

struct product {
    lk_matmul_fn fn;
    const char *w;
    size_t n_in, n_out, n_row, row_bytes, step;
};

static void product_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const struct product *p = arg;
    size_t from = (size_t)i_chunk * p->step, n = p->n_out - from < p->step ? p->n_out - from : p->step;
    p->fn(bench.y + from, p->n_out, p->w + from * p->row_bytes, p->n_in, n, NULL, bench.x, p->n_in, p->n_row);
}

/* The limits once more: a machine that is shared changes its mind within seconds. */
static void probe(void)
{
    bench.read = bench_read(bench.pool, bench.n_thread, bench.buffer, BUFFER_BYTES);
    bench.fma = bench_fma(bench.pool, bench.n_thread, bench.cpu.flags);
    printf("\nnow %d threads read %.1f GB/s and multiply %.1f GFLOP/s\n", bench.n_thread, bench.read,
           bench.fma);
}

/* Nanoseconds a multiplication, one thread of C. */
static double c_product_ns(enum lk_dtype type, size_t n_in, size_t n_out, size_t n_row)
{
    size_t n = C_PRODUCTS / n_in / n_row + 1;
    n = n < n_out ? n : n_out;
    double start = bench_now();
    bench.c.matmul[type](bench.y, n, bench.buffer, n_in, n, NULL, bench.x, n_in, n_row);
    return (bench_now() - start) * 1e9 / ((double)n * (double)n_in * (double)n_row);
}

static void time_product(enum lk_dtype type, const struct case_matmul *shape, size_t n_row)
{
    static struct product products[MAX_NODE];
    static struct pool_node nodes[MAX_NODE];
    size_t n_in = (size_t)shape->n_in, n_out = (size_t)shape->n_out, row_bytes = lk_dtype_bytes(type, n_in);
    size_t chunk_bytes = n_row < MANY_ROWS ? CHUNK_BYTES : MANY_CHUNK_BYTES;
    size_t step = (chunk_bytes / row_bytes + 31) / 32 * 32;
    double flop = 2.0 * (double)n_in * (double)n_out * (double)n_row;
    int n_node = 0;
    for (size_t at = 0; n_node < MAX_NODE && at + row_bytes * n_out <= BUFFER_BYTES &&
                        (!n_node || flop * (n_node + 1) < MAX_GFLOP * 1e9);
         at += row_bytes * n_out, n_node++) {
        products[n_node] =
            (struct product){bench.cpu.matmul[type], bench.buffer + at, n_in, n_out, n_row, row_bytes, step};
        nodes[n_node] =
            (struct pool_node){product_chunk, &products[n_node], (int32_t)((n_out + step - 1) / step)};
    }
    double seconds = best_pass(nodes, n_node) / n_node;
    double gbs = (double)(row_bytes * n_out) / seconds / 1e9, gflops = flop / seconds / 1e9;
    double ns = seconds * bench.n_thread * 1e9 / (flop / 2);
    printf("%-5s %-9s %5zu x %5zu %5zu %10.1f %7.1f %4.0f%% %8.1f", lk_dtype_name(type), shape->name, n_in,
           n_out, n_row, seconds * 1e6, gbs, 100 * gbs / bench.read, gflops);
    if (bench.fma > 0)
        printf(" %4.0f%%", 100 * gflops / bench.fma);
    else
        printf("    -");
    printf(" %6.1f\n", c_product_ns(type, n_in, n_out, n_row) / ns);
}

static void time_products(void)
{
    static const size_t rows[] = {1, 4, 16, MAX_ROW};
    for (enum lk_dtype type = 0; type < LK_N_DTYPE; type++) {
        probe();
        printf("%-5s %-9s %13s %5s %10s %7s %5s %8s %5s %6s\n", "type", "matrix", "in x out", "rows", "us",
               "GB/s", "read", "GFLOP/s", "FMA", "x C");
        for (int i = 0; i < CASE_COUNT(case_real); i++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows && case_real[i].n_row == 1; r++)
                time_product(type, &case_real[i], rows[r]);
    }
}

/* ---- Attention ---- */

struct attention {
    lk_attn_page_fn fn;
    size_t head_dim, n_q, n_page;
};

/* A chunk is a thread's share of the pages. */
static void attention_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const struct attention *a = arg;
    size_t page = LK_KV_PAGE * a->head_dim;
    float max[MAX_QUERY], sum[MAX_QUERY], out[MAX_QUERY * 256];
    int32_t first[MAX_QUERY] = {0}, last[MAX_QUERY];
    for (size_t i = 0; i < a->n_q; i++)
        last[i] = LK_KV_PAGE;
    const float *k = (const float *)bench.buffer + (size_t)i_chunk * a->n_page * 2 * page;
    for (size_t i = 0; i < a->n_page; i++, k += 2 * page)
        a->fn(max, sum, out, bench.x, a->head_dim, a->n_q, first, last, k, k + page, a->head_dim, 0.125f, 0,
              NULL);
}

static void time_attention(size_t head_dim, size_t n_q)
{
    size_t page_bytes = 2 * LK_KV_PAGE * head_dim * sizeof(float);
    size_t n_page = BUFFER_BYTES / 4 / page_bytes / (size_t)bench.n_thread / (n_q < 8 ? 1 : 8);
    struct attention a = {bench.cpu.attn_page, head_dim, n_q, n_page}, c = a;
    struct pool_node node = {attention_chunk, &a, bench.n_thread};
    double seconds = best_pass(&node, 1) / (double)n_page / bench.n_thread;
    c.fn = bench.c.attn_page;
    c.n_page = 64;
    double start = bench_now();
    attention_chunk(NULL, &c, 0, 0);
    double c_seconds = (bench_now() - start) / (double)c.n_page;
    double gbs = (double)page_bytes / seconds / 1e9;
    double gflops = 4.0 * LK_KV_PAGE * (double)head_dim * (double)n_q / seconds / 1e9;
    printf("%8zu %7zu %10.2f %7.1f %4.0f%% %8.1f %6.1f\n", head_dim, n_q, seconds * 1e6, gbs,
           100 * gbs / bench.read, gflops, c_seconds / (seconds * bench.n_thread));
}

static void time_attentions(void)
{
    static const size_t queries[] = {1, 4, MAX_QUERY};
    probe();
    printf("%8s %7s %10s %7s %5s %8s %6s   (a page of %d keys)\n", "head_dim", "queries", "us", "GB/s",
           "read", "GFLOP/s", "x C", LK_KV_PAGE);
    for (size_t head_dim = 64; head_dim <= 128; head_dim *= 2)
        for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
            time_attention(head_dim, queries[i]);
}

/* ---- Element by element ---- */

enum { ELEMENTS = 2048, ELEMENT_CALLS = 4096 };

static void time_element(const char *name, void (*run)(const struct lk_cpu *cpu))
{
    double best[2] = {1e9, 1e9};
    const struct lk_cpu *cpus[] = {&bench.cpu, &bench.c};
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < ELEMENT_CALLS / (which ? 64 : 1); i++) {
            double start = bench_now();
            run(cpus[which]);
            double seconds = bench_now() - start;
            best[which] = seconds < best[which] ? seconds : best[which];
        }
    printf("%-12s %8.0f ns %8.2f elements/ns %6.1f x C\n", name, best[0] * 1e9, ELEMENTS / best[0] / 1e9,
           best[1] / best[0]);
}

static void run_rmsnorm(const struct lk_cpu *cpu)
{
    cpu->rmsnorm(bench.y, bench.x, bench.x, ELEMENTS, 1e-5f);
}

static void run_silu_mul(const struct lk_cpu *cpu)
{
    cpu->silu_mul(bench.y, bench.x, bench.x, ELEMENTS);
}

static void run_gelu_mul(const struct lk_cpu *cpu)
{
    cpu->gelu_mul(bench.y, bench.x, bench.x, ELEMENTS);
}

static void run_gelu_tanh_mul(const struct lk_cpu *cpu)
{
    cpu->gelu_tanh_mul(bench.y, bench.x, bench.x, ELEMENTS);
}

static void run_soft_cap(const struct lk_cpu *cpu)
{
    cpu->soft_cap(bench.y, ELEMENTS, 30);
}

static void run_add(const struct lk_cpu *cpu)
{
    cpu->add(bench.y, bench.x, ELEMENTS);
}

static void run_scale(const struct lk_cpu *cpu)
{
    cpu->scale(bench.y, ELEMENTS, 1);
}

static void run_widen_bf16(const struct lk_cpu *cpu)
{
    cpu->widen[LK_BF16](bench.y, bench.buffer, ELEMENTS);
}

static void time_elements(void)
{
    printf("\n%d elements, one thread\n", ELEMENTS);
    time_element("rmsnorm", run_rmsnorm);
    time_element("silu_mul", run_silu_mul);
    time_element("gelu_mul", run_gelu_mul);
    time_element("gelu_tanh_mul", run_gelu_tanh_mul);
    time_element("soft_cap", run_soft_cap);
    time_element("add", run_add);
    time_element("scale", run_scale);
    time_element("widen BF16", run_widen_bf16);
}

/* ---- The machine ---- */

static void fill(void)
{
    struct check_rng rng = {1};
    enum { BLOCK = 1 << 20 };
    float *block = allocate(BLOCK * sizeof *block);
    /* Halves whose upper and lower byte keep all types finite and small. */
    uint16_t *halves = (uint16_t *)block;
    for (size_t i = 0; i < 2 * BLOCK; i++)
        halves[i] = (uint16_t)(0x3800 | (check_u64(&rng) & 0x83ff));
    for (size_t at = 0; at < BUFFER_BYTES; at += BLOCK * sizeof *block)
        memcpy(bench.buffer + at, block, BLOCK * sizeof *block);
    check_fill(&rng, bench.x, (size_t)MAX_ROW * MAX_IN, CHECK_PLAIN);
    memset(bench.y, 0, (size_t)MAX_ROW * MAX_OUT * sizeof *bench.y);
}

static struct pool *open_pool(int n_thread)
{
    struct pool *pool = NULL;
    int r = pool_new(&pool, n_thread, MAX_NODE);
    if (r) {
        fprintf(stderr, "bench: no pool of %d threads: %s\n", n_thread, strerror(-r));
        exit(1);
    }
    return pool;
}

static void print_limits(unsigned flags)
{
    printf("%7s %10s %12s %10s %10s\n", "threads", "read GB/s", "FMA GFLOP/s", "node ns", "list ns");
    for (int n = 1;; n = 2 * n < bench.n_thread ? 2 * n : bench.n_thread) {
        struct pool *pool = open_pool(n);
        double node_ns, list_ns;
        double read = bench_read(pool, n, bench.buffer, BUFFER_BYTES), fma = bench_fma(pool, n, flags);
        bench_barrier(pool, n, &node_ns, &list_ns);
        printf("%7d %10.1f %12.1f %10.0f %10.0f\n", n, read, fma, node_ns, list_ns);
        pool_free(pool);
        if (n == bench.n_thread)
            return;
    }
}

int main(int argc, char **argv)
{
    bench.n_thread = argc > 1 ? atoi(argv[1]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    unsigned flags = lk_cpu_flags_for(argc > 2 ? argv[2] : NULL, lk_cpu_flags());
    if (bench.n_thread < 1 || bench.n_thread > POOL_MAX_THREAD || flags == ~0u) {
        fprintf(stderr, "usage: bench [THREADS [c|avx2|avx512]]\n");
        return 64;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    lk_cpu_init(&bench.cpu, flags);
    lk_cpu_init(&bench.c, 0);
    bench.buffer = allocate(BUFFER_BYTES);
    bench.x = allocate((size_t)MAX_ROW * MAX_IN * sizeof *bench.x);
    bench.y = allocate((size_t)MAX_ROW * MAX_OUT * sizeof *bench.y);
    fill();
    char processor[128];
    bench_processor(processor, sizeof processor);
    printf("%s; level %s\n", processor, bench.cpu.level);
    print_limits(flags);
    bench.pool = open_pool(bench.n_thread);
    time_products();
    time_attentions();
    time_elements();
    pool_free(bench.pool);
    return 0;
}
