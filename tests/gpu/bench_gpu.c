/* Measures what a GPU can do at most, and how near the matrix-vector products come; prints Markdown.
 *
 *   bench_gpu --describe             one line: the compute capability without its dot, then the name
 *   bench_gpu FATBIN                 all figures, in under two minutes
 *   bench_gpu FATBIN --small         the same calls on small data, checked but not measured: for an emulated
 * driver
 *
 * FATBIN is tests/gpu/probe.cu. Every figure is the best of several runs. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/bench_matvec.h"
#include "tests/gpu/gauge.h"

enum { CHAIN = 1000, BARRIERS = 1000, MAX_BLOCKS_PER_SM = 4 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What is read by sweeps: more than any cache holds. */
static size_t sweep_bytes(struct context *c, bool small)
{
    size_t free_bytes = 0, total = 0;
    CUresult r = c->driver.cuMemGetInfo_v2(&free_bytes, &total);
    if (r)
        gauge_fail("cuMemGetInfo failed: %s", driver_error(&c->driver, r));
    return small ? (size_t)1 << 20 : smaller((size_t)4 << 30, free_bytes / 4 >> 20 << 20);
}

static void print_device(const struct context *c, size_t bytes)
{
    const struct driver_device *d = &c->device;
    int clock = 0, width = 0;
    c->driver.cuDeviceGetAttribute(&clock, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, c->handle);
    c->driver.cuDeviceGetAttribute(&width, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, c->handle);
    printf("| | |\n| --- | --- |\n");
    printf("| GPU | %s, compute capability %d.%d, %d multiprocessors |\n", d->name, d->major, d->minor,
           d->n_multiprocessor);
    printf("| memory | %.1f GiB, L2 %.0f MiB |\n", (double)d->total_bytes / (1 << 30),
           (double)d->l2_bytes / (1 << 20));
    if (clock > 0 && width > 0)
        printf("| bandwidth by clock and width | %.0f GB/s (%d MHz, %d bits, two transfers a clock) |\n",
               2e3 * clock * (width / 8) * 1e-9, clock / 1000, width);
    printf("| driver | CUDA %d.%d |\n", c->driver.version / 1000, c->driver.version % 1000 / 10);
    printf("| data of sweeps and copies | %.2f GB |\n", (double)bytes * 1e-9);
}

/* A sweep must have read everything: the sum of its words is known. */
static void check_sum(struct context *c, CUdeviceptr sum, size_t n_word, unsigned word)
{
    unsigned got;
    gauge_download(c, &got, sum, sizeof got);
    if (got != (unsigned)(n_word * word))
        gauge_fail("a read sweep summed to %u, not to %u", got, (unsigned)(n_word * word));
}

/* GB/s of reading; the best over blocks and loads under way. */
static double sweep(struct context *c, CUdeviceptr data, size_t bytes, bool small)
{
    static const int flights[] = {1, 2, 4, 8};
    CUdeviceptr sum = gauge_memory(c, sizeof(unsigned), 0);
    double best = 0;
    printf("\n## Reading %.2f GB, 16 bytes a load\n\n", (double)bytes * 1e-9);
    printf("| loads under way a thread | GB/s with 1 block of 512 threads a multiprocessor | 2 | 4 |\n"
           "| --- | --- | --- | --- |\n");
    for (size_t f = 0; f < sizeof flights / sizeof *flights; f++) {
        char name[32];
        snprintf(name, sizeof name, "probe_read_%d", flights[f]);
        struct gauge_call call = {.kernel = gauge_find(c, name), .launch = {.block = {512}}};
        call.arguments[0] = sum, call.arguments[1] = data, call.arguments[2] = bytes / 16;
        printf("| %d |", flights[f]);
        for (unsigned blocks = 1; blocks <= MAX_BLOCKS_PER_SM; blocks *= 2) {
            call.launch.grid[0] = blocks * (unsigned)c->device.n_multiprocessor;
            gauge_clear(c, sum, sizeof(unsigned));
            gauge_once(c, &call);
            check_sum(c, sum, bytes / 4, 0x01010101u);
            if (small) {
                printf(" right |");
                continue;
            }
            double rate = (double)bytes * 1e-9 / gauge_calls(c, &call, 1, false);
            best = rate > best ? rate : best;
            printf(" %.0f |", rate);
        }
        printf("\n");
        fflush(stdout);
    }
    return best;
}

static void copies(struct context *c, CUdeviceptr data, size_t bytes, bool small)
{
    size_t half = bytes / 2, n_host = small ? half : smaller(half, (size_t)256 << 20);
    unsigned char *host = gauge_host_memory(c, n_host);
    memset(host, 1, n_host);
    double on = gauge_copy(c, GAUGE_ON_DEVICE, data, data + half, NULL, half);
    double up = gauge_copy(c, GAUGE_TO_DEVICE, data, 0, host, n_host);
    memset(host, 0, n_host);
    double down = gauge_copy(c, GAUGE_TO_HOST, data, 0, host, n_host);
    for (size_t i = 0; i < n_host; i += 4093)
        if (host[i] != 1)
            gauge_fail("byte %zu came back as %d, not as 1", i, host[i]);
    printf("\n## Copies\n\n| copy | bytes | GB/s |\n| --- | --- | --- |\n");
    if (small) {
        printf("| all three | %zu | right |\n", n_host);
        return;
    }
    printf("| on the device, bytes read and written | %zu | %.0f |\n", half, 2 * (double)half * 1e-9 / on);
    printf("| pinned host to device | %zu | %.1f |\n", n_host, (double)n_host * 1e-9 / up);
    printf("| device to pinned host | %zu | %.1f |\n", n_host, (double)n_host * 1e-9 / down);
}

/* Microseconds of one launch in a chain. */
static double chain(struct context *c, const char *name, bool overlap, bool as_graph, bool small)
{
    struct gauge_call calls[CHAIN];
    const int n = small ? 10 : CHAIN;
    const struct gauge_call call = {
        .kernel = gauge_find(c, name),
        .launch = {.grid = {(unsigned)c->device.n_multiprocessor}, .block = {128}, .overlap = overlap}};
    for (int i = 0; i < n; i++)
        calls[i] = call;
    return gauge_calls(c, calls, n, as_graph) * 1e6 / n;
}

static void launches(struct context *c, bool small)
{
    double stream = chain(c, "probe_empty", false, false, small);
    double graph = chain(c, "probe_empty", false, true, small);
    double overlap = c->overlaps ? chain(c, "probe_empty_overlap", true, true, small) : 0;
    printf("\n## A chain of empty kernels, a block of 128 threads on each multiprocessor\n\n");
    printf("| launched | us a kernel |\n| --- | --- |\n");
    if (small) {
        printf("| one by one, as a graph, as a graph with overlap | ran |\n");
        return;
    }
    printf("| one by one | %.2f |\n| as a graph | %.2f |\n", stream, graph);
    if (c->overlaps)
        printf("| as a graph, each start overlapping its predecessor's end (PDL) | %.2f |\n", overlap);
    else
        printf("| as a graph with overlap (PDL) | not before compute capability 9.0 |\n");
}

static void barriers(struct context *c, bool small)
{
    static const unsigned sizes[] = {128, 256, 512, 1024};
    const int n = small ? 4 : BARRIERS;
    const unsigned n_block = (unsigned)c->device.n_multiprocessor;
    CUdeviceptr counter = gauge_memory(c, sizeof(unsigned), 0);
    printf("\n## A barrier over the grid, a block on each multiprocessor\n\n");
    if (!c->device.cooperative) {
        printf("This device has no cooperative launch.\n");
        return;
    }
    printf("| threads a block | us a barrier |\n| --- | --- |\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned got;
        struct gauge_call call = {
            .kernel = gauge_find(c, "probe_barrier"),
            .launch = {.grid = {n_block}, .block = {small ? 32 : sizes[i]}, .cooperative = true}};
        call.arguments[0] = counter, call.arguments[1] = (unsigned)n;
        gauge_clear(c, counter, sizeof(unsigned));
        gauge_once(c, &call);
        gauge_download(c, &got, counter, sizeof got);
        if (got != n_block * (unsigned)n)
            gauge_fail("%d barriers of %u blocks counted to %u", n, n_block, got);
        if (small) {
            printf("| %u | right |\n", sizes[i]);
            continue;
        }
        /* The counter goes on from where it is, and no block waits: one run from zero each time. */
        printf("| %u | %.2f |\n", sizes[i], gauge_cleared(c, &call, counter, sizeof(unsigned)) * 1e6 / n);
    }
}

static int describe(void)
{
    struct driver driver;
    struct driver_device device;
    char why[DRIVER_WHY];
    int n, r = driver_open(&driver, why);
    if (r == 0)
        r = driver_count(&driver, &n, why);
    if (r == 0)
        r = driver_describe(&driver, 0, &device, why);
    if (r == 0)
        r = driver_check(&device, why);
    if (r) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    printf("%d%d %s\n", device.major, device.minor, device.name);
    return 0;
}

int main(int argc, char **argv)
{
    struct context c;
    const bool small = argc == 3 && !strcmp(argv[2], "--small");
    if (argc == 2 && !strcmp(argv[1], "--describe"))
        return describe();
    if (argc != 2 && !small) {
        fprintf(stderr, "usage: bench_gpu --describe | bench_gpu FATBIN [--small]\n");
        return 64;
    }
    gauge_open(&c, argv[1]);
    const size_t bytes = sweep_bytes(&c, small);
    CUdeviceptr data = gauge_memory(&c, bytes, 1);
    if (!small)
        print_device(&c, bytes);
    double best = sweep(&c, data, bytes, small);
    copies(&c, data, bytes, small);
    launches(&c, small);
    barriers(&c, small);
    bench_matvec(&c, data, bytes, best, small);
    gauge_close(&c);
    return fflush(stdout) == 0 ? 0 : 74;
}
