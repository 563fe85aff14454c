/* What kernels are run by: shared memory, graphs over two streams, barriers over the grid. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/gpu/rig_cuda.h"

enum { N = 256 };

static bool must(CUresult r, const char *call)
{
    return r == CUDA_SUCCESS || check_wrong("%s: %s", call, driver_error(&rig_context()->driver, r));
}

/* What a graph over two streams needs; what there is of it is not NULL. */
struct two_streams {
    CUstream second;
    CUevent fork, join;
    CUgraph graph;
    CUgraphExec exec;
};

static bool two_streams_open(const struct driver *d, struct two_streams *s)
{
    return must(d->cuStreamCreate(&s->second, CU_STREAM_NON_BLOCKING), "cuStreamCreate") &&
           must(d->cuEventCreate(&s->fork, CU_EVENT_DISABLE_TIMING), "cuEventCreate") &&
           must(d->cuEventCreate(&s->join, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

static bool two_streams_close(const struct driver *d, struct two_streams *s)
{
    bool ok = !s->exec || must(d->cuGraphExecDestroy(s->exec), "cuGraphExecDestroy");
    ok = (!s->graph || must(d->cuGraphDestroy(s->graph), "cuGraphDestroy")) && ok;
    ok = (!s->join || must(d->cuEventDestroy_v2(s->join), "cuEventDestroy")) && ok;
    ok = (!s->fork || must(d->cuEventDestroy_v2(s->fork), "cuEventDestroy")) && ok;
    return (!s->second || must(d->cuStreamDestroy_v2(s->second), "cuStreamDestroy")) && ok;
}

/* Captures y += x on the second stream, then z += y on the first. */
static bool capture_sums(struct context *c, struct two_streams *s, CUdeviceptr dx, CUdeviceptr dy,
                         CUdeviceptr dz)
{
    const struct driver *d = &c->driver;
    unsigned long long n4 = N / 4;
    const struct context_launch launch = {.grid = {2}, .block = {32}};
    const CUstream first = c->stream;
    if (!must(d->cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture"))
        return false;
    bool ok = must(d->cuEventRecord(s->fork, first), "cuEventRecord") &&
              must(d->cuStreamWaitEvent(s->second, s->fork, 0), "cuStreamWaitEvent");
    if (ok) {
        c->stream = s->second;
        rig_run("add", &launch, (void *[]){&dy, &dx, &n4});
        c->stream = first;
        ok = must(d->cuEventRecord(s->join, s->second), "cuEventRecord") &&
             must(d->cuStreamWaitEvent(first, s->join, 0), "cuStreamWaitEvent");
        rig_run("add", &launch, (void *[]){&dz, &dy, &n4});
    }
    return must(d->cuStreamEndCapture(first, &s->graph), "cuStreamEndCapture") && ok &&
           must(d->cuGraphInstantiateWithFlags(&s->exec, s->graph, 0), "cuGraphInstantiate");
}

/* Two sums of y += x, on two streams that are joined by events, captured and run three times with new input.
 */
static bool replay(void)
{
    struct context *c = rig_context();
    const struct driver *d = &c->driver;
    float x[N], want[N] = {0}, zeros[N] = {0};
    CUdeviceptr dx = rig_new(sizeof x), dy = rig_put(zeros, sizeof zeros), dz = rig_put(zeros, sizeof zeros);
    struct two_streams s = {0};
    bool ok = two_streams_open(d, &s) && capture_sums(c, &s, dx, dy, dz);
    for (int round = 1; ok && round <= 3; round++) {
        char why[DRIVER_WHY];
        for (int i = 0; i < N; i++) {
            x[i] = (float)(i * round);
            want[i] += (float)(i * (round * (round + 1) / 2));
        }
        ok = context_upload(c, dx, x, sizeof x, why) == 0 &&
             must(d->cuGraphLaunch(s.exec, c->stream), "cuGraphLaunch") && context_wait(c, why) == 0;
    }
    float *got = rig_get(dz, sizeof want);
    ok = ok && check_same(want, got, N, "the sum of sums");
    free(got);
    ok = two_streams_close(d, &s) && ok;
    rig_end();
    return ok;
}

/* Kernels that may begin before their predecessors end, one by one and as a graph. */
static bool chain(bool as_graph)
{
    enum { N_LINK = 8, N_THREAD = 64 };
    struct context *c = rig_context();
    const struct driver *d = &c->driver;
    float x[N_THREAD], want[N_THREAD];
    char why[DRIVER_WHY];
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    for (int i = 0; i < N_THREAD; i++) {
        x[i] = (float)i;
        want[i] = (float)(i + N_LINK);
    }
    CUdeviceptr from = rig_put(x, sizeof x), to = rig_new(sizeof x);
    const struct context_launch launch = {.block = {N_THREAD}, .overlap = true};
    bool ok = !as_graph || must(d->cuStreamBeginCapture_v2(c->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                                "cuStreamBeginCapture");
    for (int i = 0; i < N_LINK; i += 2) {
        rig_run("probe_link", &launch, (void *[]){&to, &from});
        rig_run("probe_link", &launch, (void *[]){&from, &to});
    }
    if (as_graph && ok)
        ok = must(d->cuStreamEndCapture(c->stream, &graph), "cuStreamEndCapture") &&
             must(d->cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate") &&
             must(d->cuGraphLaunch(exec, c->stream), "cuGraphLaunch") && context_wait(c, why) == 0;
    float *got = rig_get(from, sizeof want);
    ok = ok && check_same(want, got, N_THREAD, "the end of the chain");
    free(got);
    if (exec)
        d->cuGraphExecDestroy(exec);
    if (graph)
        d->cuGraphDestroy(graph);
    rig_end();
    return ok;
}

static bool barriers(void)
{
    enum { N_BLOCK = 5, N_THREAD = 64 };
    const unsigned zero = 0;
    int n = 7;
    CUdeviceptr counter = rig_put(&zero, sizeof zero), wrong = rig_put(&zero, sizeof zero);
    CUdeviceptr data = rig_new(N_BLOCK * N_THREAD * sizeof(int));
    rig_run("probe_exchange",
            &(struct context_launch){.grid = {N_BLOCK}, .block = {N_THREAD}, .cooperative = true},
            (void *[]){&counter, &data, &wrong, &n});
    unsigned *n_arrived = rig_get(counter, sizeof *n_arrived), *n_wrong = rig_get(wrong, sizeof *n_wrong);
    bool ok = *n_wrong == 0 || check_wrong("%u values were not what another block had left", *n_wrong);
    if (*n_arrived != 2 * N_BLOCK * (unsigned)n)
        ok = check_wrong("%d blocks counted %d barriers to %u", N_BLOCK, 2 * n, *n_arrived);
    free(n_arrived), free(n_wrong);
    rig_end();
    return ok;
}

/* As much shared memory as a block can have: more than it may use without asking. */
static bool shared_memory(void)
{
    const unsigned zero = 0;
    unsigned n = (unsigned)(rig_device()->shared_bytes / sizeof n);
    CUdeviceptr wrong = rig_put(&zero, sizeof zero);
    rig_run("probe_shared", &(struct context_launch){.block = {128}, .shared_bytes = n * (unsigned)sizeof n},
            (void *[]){&wrong, &n});
    unsigned *n_wrong = rig_get(wrong, sizeof *n_wrong);
    bool ok = *n_wrong == 0 || check_wrong("%u of %u words of shared memory are wrong", *n_wrong, n);
    free(n_wrong);
    rig_end();
    return ok;
}

void test_graphs(void)
{
    check_point(shared_memory(), "all of a block's shared memory");
    check_point(replay(), "a graph over two streams, replayed");
    check_point(chain(false) && chain(true), "kernels that begin before their predecessors end");
    if (rig_device()->cooperative)
        check_point(barriers(), "barriers over the grid");
}
