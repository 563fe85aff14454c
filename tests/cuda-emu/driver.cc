/* The CUDA driver API of kernels/cuda/driver.def on the emulator.
 *
 * Built into a shared object together with the kernels, it stands in for libcuda.so.1 (LORCH_LIBCUDA), so
 * that a whole program runs without a GPU: loader, memory, streams, graphs, kernels. Meant to be unforgiving
 * rather than fast:
 *
 *   - a stream does nothing until somebody waits for it, so a read that forgets to synchronise, or a host
 * buffer that is reused too early, goes wrong every time;
 *   - device memory starts out as NaN, and every copy is range-checked;
 *   - dynamic shared memory above 48 KiB needs to be asked for, up to 227 KiB;
 *   - CUEMU_MEM_MB caps device memory (4096);
 *   - CUEMU_FAIL=name:n makes the n-th call of that function fail. */
#include "tests/cuda-emu/driver.h"
#define DRIVER(name, arguments) extern "C" CUresult name arguments;
#include "kernels/cuda/driver.def"

#include <chrono>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/* A kernel with its arguments, as they were at the launch. */
struct Call {
    const cuemu::Kernel *kernel;
    dim3 grid, block;
    size_t shared_bytes;
    bool cooperative, overlap;
    std::vector<char> bytes;
    std::vector<void *> args;
};

/* What a stream does: a kernel or anything else. */
struct Op {
    std::shared_ptr<Call> call;
    std::function<void()> other;
};
typedef std::vector<Op> Graph;

struct CUfunc_st {
    const cuemu::Kernel *k;
    size_t smem_max;
};
struct CUmod_st {
    std::map<std::string, CUfunc_st> fn;
};
struct CUstream_st {
    std::deque<Op> q;
    uint64_t queued = 0, done = 0;
    Graph *capture = nullptr;
};
struct CUevent_st {
    CUstream s = nullptr;
    uint64_t at = 0;
    double time = 0;
    Graph *capture = nullptr;
};
struct CUgraph_st {
    Graph ops;
};
struct CUgraphExec_st {
    std::shared_ptr<Graph> ops;
};

static std::map<CUdeviceptr, size_t> mem;
static size_t mem_used;
static std::vector<CUstream> streams;
static CUstream null_stream;

static size_t mem_total()
{
    const char *e = getenv("CUEMU_MEM_MB");
    return size_t(e ? atoi(e) : 4096) << 20;
}
static bool fail(const char *name)
{
    static const char *spec = getenv("CUEMU_FAIL");
    static int count;
    size_t n = strlen(name);
    return spec && !strncmp(spec, name, n) && spec[n] == ':' && ++count == atoi(spec + n + 1);
}
#define FAIL(err)       \
    if (fail(__func__)) \
    return err
/* Any host thread may call; the emulated device does one thing at a time. */
static std::recursive_mutex big_lock;
#define ENTER std::lock_guard<std::recursive_mutex> lock_(big_lock)

static bool valid(CUdeviceptr p, size_t n)
{
    auto i = mem.upper_bound(p);
    if (i == mem.begin())
        return false;
    --i;
    return p - i->first <= i->second && n <= i->second - (p - i->first);
}

/* Kernels that have been begun and not finished, so that successors launched with overlap can get ahead of
 * them. */
struct Pending {
    cuemu::Launch *launch;
    std::shared_ptr<Call> call;
};
static std::deque<Pending> pending;

static void finish_first()
{
    cuemu::finish(pending.front().launch);
    pending.pop_front();
}

static void settle()
{
    while (!pending.empty())
        finish_first();
}

static void perform(const Op &op)
{
    if (!op.call) {
        settle();
        op.other();
        return;
    }
    Call &c = *op.call;
    if (!c.overlap)
        settle();
    if (pending.size() > cuemu::MAX_AHEAD)
        finish_first();
    cuemu::Launch *launch = cuemu::begin(c.kernel, c.grid, c.block, c.shared_bytes, c.args.data(),
                                         c.cooperative, pending.empty() ? nullptr : pending.back().launch);
    pending.push_back({launch, op.call});
}

static void drain(CUstream s, uint64_t upto)
{
    while (s->done < upto && !s->q.empty()) {
        Op op = std::move(s->q.front());
        s->q.pop_front();
        s->done++;
        perform(op);
    }
    settle();
}
static void drain_all()
{
    for (size_t i = 0; i < streams.size(); i++)
        drain(streams[i], ~0ull);
}
static CUresult submit(CUstream s, Op op)
{
    if (!s)
        s = null_stream;
    if (s->capture)
        s->capture->push_back(std::move(op));
    else {
        s->q.push_back(std::move(op));
        s->queued++;
    }
    return CUDA_SUCCESS;
}
CUresult cuemu::submit(CUstream s, std::function<void()> other)
{
    ENTER;
    return ::submit(s, Op{nullptr, std::move(other)});
}
static double now()
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

extern "C" {
CUresult cuInit(unsigned)
{
    ENTER;
    FAIL(CUDA_ERROR_NO_DEVICE);
    if (!null_stream)
        streams.push_back(null_stream = new CUstream_st());
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult e, const char **name)
{
    *name = e == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : e == CUDA_ERROR_NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
            : e == CUDA_ERROR_NOT_FOUND   ? "CUDA_ERROR_NOT_FOUND"
            : e                           ? "CUDA_ERROR_INVALID_VALUE"
                                          : "CUDA_SUCCESS";
    return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *v)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *v = 13000;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *n)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *n = 1;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *d, int i)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *d = i;
    return i ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int size, CUdevice)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    snprintf(name, size_t(size), "host emulator");
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *v = a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                ? 4
         : a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR          ? 9
         : a == CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH                ? 1
         : a == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 227 * 1024
                                                                      : 0;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *c = reinterpret_cast<CUcontext>(1);
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(size_t *f, size_t *t)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *t = mem_total();
    *f = *t - mem_used;
    return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
    ENTER;
    FAIL(CUDA_ERROR_OUT_OF_MEMORY);
    void *m = nullptr;
    if (n == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (n > mem_total() - mem_used || posix_memalign(&m, 256, n))
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(m, 0xff, n);
    mem[ *p = reinterpret_cast<CUdeviceptr>(m)] = n;
    mem_used += n;
    return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr p)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!p)
        return CUDA_SUCCESS;
    auto i = mem.find(p);
    if (i == mem.end())
        return CUDA_ERROR_INVALID_VALUE;
    drain_all();
    mem_used -= i->second;
    mem.erase(i);
    free(reinterpret_cast<void *>(p));
    return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **p, size_t n, unsigned)
{
    ENTER;
    FAIL(CUDA_ERROR_OUT_OF_MEMORY);
    return (*p = malloc(n)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFreeHost(void *p)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    drain_all();
    free(p);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream st)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!valid(d, n))
        return CUDA_ERROR_INVALID_VALUE;
    return cuemu::submit(st, [=] { memcpy(reinterpret_cast<void *>(d), s, n); });
}
CUresult cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, CUstream st)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!valid(s, n))
        return CUDA_ERROR_INVALID_VALUE;
    return cuemu::submit(st, [=] { memcpy(d, reinterpret_cast<void *>(s), n); });
}
CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream st)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!valid(d, n))
        return CUDA_ERROR_INVALID_VALUE;
    return cuemu::submit(st, [=] { memset(reinterpret_cast<void *>(d), v, n); });
}
CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!image)
        return CUDA_ERROR_INVALID_VALUE;
    *m = new CUmod_st();
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule m)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    drain_all();
    delete m;
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    const cuemu::Kernel *k = cuemu::find_kernel(name);
    if (!k)
        return CUDA_ERROR_NOT_FOUND;
    *f = &m->fn.emplace(name, CUfunc_st{k, 48 * 1024}).first->second;
    return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *v = a == CU_FUNC_ATTRIBUTE_PTX_VERSION ? 90 : 0;
    return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (a != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || v < 0 || v > 227 * 1024)
        return CUDA_ERROR_INVALID_VALUE;
    f->smem_max = size_t(v);
    return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream *s, unsigned)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    streams.push_back(*s = new CUstream_st());
    return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream s)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    drain(s, ~0ull);
    for (size_t i = 0; i < streams.size(); i++)
        if (streams[i] == s)
            streams.erase(streams.begin() + long(i--));
    delete s;
    return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream s)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!s)
        s = null_stream;
    if (s->capture)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    drain(s, ~0ull);
    return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *e, unsigned)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *e = new CUevent_st();
    return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent e)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    drain_all();
    delete e;
    return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent e, CUstream s)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!s)
        s = null_stream;
    e->s = s;
    if ((e->capture = s->capture))
        return CUDA_SUCCESS;
    cuemu::submit(s, [=] { e->time = now(); });
    e->at = s->queued;
    return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!s)
        s = null_stream;
    if (e->capture) { /* fork or join inside a capture: the second stream joins it */
        s->capture = e->capture;
        return CUDA_SUCCESS;
    }
    CUstream from = e->s;
    uint64_t at = e->at;
    if (!from)
        return CUDA_SUCCESS;
    return cuemu::submit(s, [=] { drain(from, at); });
}
CUresult cuEventSynchronize(CUevent e)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (e->s)
        drain(e->s, e->at);
    return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *ms = float(b->time - a->time);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **args, void **)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    const dim3 g(c->gridDimX, c->gridDimY, c->gridDimZ), b(c->blockDimX, c->blockDimY, c->blockDimZ);
    if (!g.x || !g.y || !g.z || !b.x || !b.y || !b.z || g.y > 65535 || g.z > 65535)
        return CUDA_ERROR_INVALID_VALUE;
    if (size_t(b.x) * b.y * b.z > 1024 || c->sharedMemBytes > f->smem_max)
        return CUDA_ERROR_INVALID_VALUE;
    auto call = std::make_shared<Call>(Call{f->k, g, b, c->sharedMemBytes, false, false, {}, {}});
    for (unsigned i = 0; i < c->numAttrs; i++) {
        const bool set = c->attrs[i].value.value != 0;
        call->cooperative |= set && c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        call->overlap |= set && c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    }
    size_t total = 0;
    for (int i = 0; i < f->k->nargs; i++)
        total += (f->k->arg_size[i] + 15) & ~size_t(15);
    call->bytes.resize(total + 1);
    for (int i = 0, at = 0; i < f->k->nargs; i++) {
        memcpy(call->bytes.data() + at, args[i], f->k->arg_size[i]);
        call->args.push_back(call->bytes.data() + at);
        at += int((f->k->arg_size[i] + 15) & ~size_t(15));
    }
    return ::submit(c->hStream, Op{call, nullptr});
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    drain_all();
    return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *n = mem_total();
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream st)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!valid(d, n) || !valid(s, n))
        return CUDA_ERROR_INVALID_VALUE;
    return cuemu::submit(st, [=] { memmove(reinterpret_cast<void *>(d), reinterpret_cast<void *>(s), n); });
}

CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!s || s->capture)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    s->capture = new Graph();
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream s, CUgraph *g)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    if (!s->capture)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    Graph *c = s->capture;
    for (CUstream o : streams)
        if (o->capture == c)
            o->capture = nullptr;
    *g = new CUgraph_st{std::move(*c)};
    delete c;
    return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *x, CUgraph g, unsigned long long)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    *x = new CUgraphExec_st{std::make_shared<Graph>(g->ops)};
    return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec x, CUstream s)
{
    ENTER;
    FAIL(CUDA_ERROR_INVALID_VALUE);
    auto ops = x->ops;
    return cuemu::submit(s, [=] {
        for (const Op &op : *ops)
            perform(op);
        settle();
    });
}
CUresult cuGraphDestroy(CUgraph g)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    delete g;
    return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec x)
{
    FAIL(CUDA_ERROR_INVALID_VALUE);
    delete x;
    return CUDA_SUCCESS;
}
}
