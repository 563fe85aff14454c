/* Times on a GPU: see gauge.h. */
#include "config.h"

#include "tests/gpu/gauge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_MEMORY = 64, N_RUN = 5, MAX_IMAGE = 256 << 20 };

static CUdeviceptr memory[MAX_MEMORY];
static void *host_memory[MAX_MEMORY];
static int n_memory, n_host_memory;

void gauge_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bench_gpu: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static void must(struct context *c, CUresult r, const char *call)
{
    if (r)
        gauge_fail("%s failed: %s", call, driver_error(&c->driver, r));
}

static void *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        gauge_fail("%s cannot be read", path);
    long n = ftell(file);
    char *data = n > 0 && n < MAX_IMAGE ? malloc((size_t)n + 1) : NULL;
    rewind(file);
    if (!data || fread(data, 1, (size_t)n, file) != (size_t)n)
        gauge_fail("%s cannot be read", path);
    data[n] = '\0';
    fclose(file);
    return data;
}

void gauge_open(struct context *c, const char *path)
{
    char why[DRIVER_WHY];
    void *image = read_file(path);
    if (context_open(c, 0, image, path, why))
        gauge_fail("%s", why);
    free(image);
}

CUdeviceptr gauge_memory(struct context *c, size_t n, uint8_t fill)
{
    char why[DRIVER_WHY];
    if (n_memory == MAX_MEMORY)
        gauge_fail("more than %d pieces of memory", MAX_MEMORY);
    CUdeviceptr *p = &memory[n_memory++];
    if (context_alloc(c, n, p, why) || context_fill(c, *p, fill, n, why) || context_wait(c, why))
        gauge_fail("%s", why);
    return *p;
}

void *gauge_host_memory(struct context *c, size_t n)
{
    if (n_host_memory == MAX_MEMORY)
        gauge_fail("more than %d pieces of host memory", MAX_MEMORY);
    void **p = &host_memory[n_host_memory++];
    must(c, c->driver.cuMemHostAlloc(p, n, 0), "cuMemHostAlloc");
    return *p;
}

void gauge_close(struct context *c)
{
    while (n_memory)
        context_free(c, memory[--n_memory]);
    while (n_host_memory)
        c->driver.cuMemFreeHost(host_memory[--n_host_memory]);
    context_close(c);
}

CUfunction gauge_find(struct context *c, const char *name)
{
    char why[DRIVER_WHY];
    CUfunction kernel;
    if (context_find(c, name, 0, &kernel, why))
        gauge_fail("%s", why);
    return kernel;
}

void gauge_download(struct context *c, void *dst, CUdeviceptr src, size_t n)
{
    char why[DRIVER_WHY];
    if (context_download(c, dst, src, n, why))
        gauge_fail("%s", why);
}

void gauge_clear(struct context *c, CUdeviceptr p, size_t n)
{
    char why[DRIVER_WHY];
    if (context_fill(c, p, 0, n, why) || context_wait(c, why))
        gauge_fail("%s", why);
}

static void queue(struct context *c, const struct gauge_call *calls, int n_call)
{
    char why[DRIVER_WHY];
    for (int i = 0; i < n_call; i++) {
        void *arguments[GAUGE_MAX_ARGUMENT];
        for (int k = 0; k < GAUGE_MAX_ARGUMENT; k++)
            arguments[k] = (void *)&calls[i].arguments[k];
        if (context_run(c, calls[i].kernel, &calls[i].launch, arguments, why))
            gauge_fail("%s", why);
    }
}

static CUgraphExec capture(struct context *c, const struct gauge_call *calls, int n_call)
{
    const struct driver *d = &c->driver;
    CUgraph graph;
    CUgraphExec exec;
    must(c, d->cuStreamBeginCapture_v2(c->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
         "cuStreamBeginCapture");
    queue(c, calls, n_call);
    must(c, d->cuStreamEndCapture(c->stream, &graph), "cuStreamEndCapture");
    must(c, d->cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
    must(c, d->cuGraphDestroy(graph), "cuGraphDestroy");
    return exec;
}

void gauge_once(struct context *c, const struct gauge_call *call)
{
    char why[DRIVER_WHY];
    queue(c, call, 1);
    if (context_wait(c, why))
        gauge_fail("%s", why);
}

/* Seconds between two events around what `run` queues, after what `prepare` (may be NULL) queues; the first
 * run is not counted. */
static double best_run(struct context *c, void (*prepare)(struct context *c, void *ctx),
                       void (*run)(struct context *c, void *ctx), void *ctx)
{
    const struct driver *d = &c->driver;
    CUevent start, end;
    double best = 1e9;
    must(c, d->cuEventCreate(&start, CU_EVENT_DEFAULT), "cuEventCreate");
    must(c, d->cuEventCreate(&end, CU_EVENT_DEFAULT), "cuEventCreate");
    for (int i = 0; i <= N_RUN; i++) {
        float ms = 0;
        if (prepare)
            prepare(c, ctx);
        must(c, d->cuEventRecord(start, c->stream), "cuEventRecord");
        run(c, ctx);
        must(c, d->cuEventRecord(end, c->stream), "cuEventRecord");
        must(c, d->cuEventSynchronize(end), "cuEventSynchronize");
        must(c, d->cuEventElapsedTime(&ms, start, end), "cuEventElapsedTime");
        if (i > 0 && ms * 1e-3 < best)
            best = ms * 1e-3;
    }
    must(c, d->cuEventDestroy_v2(start), "cuEventDestroy");
    must(c, d->cuEventDestroy_v2(end), "cuEventDestroy");
    return best;
}

struct calls {
    const struct gauge_call *calls;
    int n;
    CUgraphExec graph; /* NULL: one by one */
};

static void run_calls(struct context *c, void *ctx)
{
    struct calls *calls = ctx;
    if (calls->graph)
        must(c, c->driver.cuGraphLaunch(calls->graph, c->stream), "cuGraphLaunch");
    else
        queue(c, calls->calls, calls->n);
}

double gauge_calls(struct context *c, const struct gauge_call *calls, int n_call, bool as_graph)
{
    struct calls all = {.calls = calls, .n = n_call, .graph = as_graph ? capture(c, calls, n_call) : NULL};
    double seconds = best_run(c, NULL, run_calls, &all);
    if (all.graph)
        must(c, c->driver.cuGraphExecDestroy(all.graph), "cuGraphExecDestroy");
    return seconds;
}

struct cleared {
    const struct gauge_call *call;
    CUdeviceptr p;
    size_t n;
};

static void clear(struct context *c, void *ctx)
{
    const struct cleared *cleared = ctx;
    must(c, c->driver.cuMemsetD8Async(cleared->p, 0, cleared->n, c->stream), "cuMemsetD8Async");
}

static void run_cleared(struct context *c, void *ctx)
{
    const struct cleared *cleared = ctx;
    queue(c, cleared->call, 1);
}

double gauge_cleared(struct context *c, const struct gauge_call *call, CUdeviceptr p, size_t n)
{
    struct cleared cleared = {.call = call, .p = p, .n = n};
    return best_run(c, clear, run_cleared, &cleared);
}

struct copy {
    enum gauge_copy direction;
    CUdeviceptr a, b;
    void *host;
    size_t n;
};

static void run_copy(struct context *c, void *ctx)
{
    const struct copy *copy = ctx;
    CUresult r = copy->direction == GAUGE_ON_DEVICE
                     ? c->driver.cuMemcpyDtoDAsync_v2(copy->a, copy->b, copy->n, c->stream)
                 : copy->direction == GAUGE_TO_DEVICE
                     ? c->driver.cuMemcpyHtoDAsync_v2(copy->a, copy->host, copy->n, c->stream)
                     : c->driver.cuMemcpyDtoHAsync_v2(copy->host, copy->a, copy->n, c->stream);
    must(c, r, "a copy");
}

double gauge_copy(struct context *c, enum gauge_copy direction, CUdeviceptr a, CUdeviceptr b, void *host,
                  size_t n)
{
    struct copy copy = {.direction = direction, .a = a, .b = b, .host = host, .n = n};
    return best_run(c, NULL, run_copy, &copy);
}
