/* A CUDA driver that computes nothing: for what a program has to say and to give back when something fails.
 *
 * A shared library that LORCH_LIBCUDA names. The environment's FAKE_CUDA is its plan, read at
 * cuDriverGetVersion, the first call that a program makes; words of the form key=number:
 *
 *   version  of CUDA (13000)          devices  how many (1)           major, minor  compute capability (9, 0)
 *   memory   bytes of a device        fail     the n-th call from then on fails (0: none)
 *   error    with this code (999)     init, load   what cuInit and cuModuleLoadData return (0)
 *   compiled compute capability of the kernels (90)
 *
 * Memory is real, so that copies can be looked at. A program that gave everything back leaves
 * fake_cuda_live() at 0; every object is allocated, so that a leak checker sees the rest. */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/driver.h"

enum { UNKNOWN = 999, SHARED = 227 << 10 };

static struct {
    int version, devices, major, minor, compiled, fail, error, init, load;
    size_t memory;
} plan = {.version = 13000, .devices = 1, .major = 9, .compiled = 90, .error = UNKNOWN, .memory = 1 << 20};

static int n_call, n_live;
static bool overlap;
static size_t n_used;

int fake_cuda_live(void);
int fake_cuda_calls(void);
bool fake_cuda_overlap(void);

/* The declarations that a driver's header would have. */
#define DRIVER(name, arguments) CUresult name arguments;
#include "kernels/cuda/driver.def"

int fake_cuda_live(void)
{
    return n_live;
}

int fake_cuda_calls(void)
{
    return n_call;
}

/* Whether the last launch might begin before its predecessor's end. */
bool fake_cuda_overlap(void)
{
    return overlap;
}

static long word(const char *text, const char *key, long fallback)
{
    const char *at = text ? strstr(text, key) : NULL;
    return at && at[strlen(key)] == '=' ? strtol(at + strlen(key) + 1, NULL, 10) : fallback;
}

static void read_plan(void)
{
    const char *text = getenv("FAKE_CUDA");
    plan.version = (int)word(text, "version", 13000);
    plan.devices = (int)word(text, "devices", 1);
    plan.major = (int)word(text, "major", 9);
    plan.minor = (int)word(text, "minor", 0);
    plan.compiled = (int)word(text, "compiled", 90);
    plan.fail = (int)word(text, "fail", 0);
    plan.error = (int)word(text, "error", UNKNOWN);
    plan.init = (int)word(text, "init", 0);
    plan.load = (int)word(text, "load", 0);
    plan.memory = (size_t)word(text, "memory", 1 << 20);
    n_call = 0;
}

/* Whether it is this call's turn to fail. */
static bool fails(void)
{
    return ++n_call == plan.fail;
}

#define STEP()                           \
    do {                                 \
        if (fails())                     \
            return (CUresult)plan.error; \
    } while (0)

/* An object of any kind is one byte; calls that end one do end it, even if they report a failure. */
static void *make(void)
{
    n_live++;
    return calloc(1, 1);
}

static CUresult end(void *object)
{
    bool failed = fails();
    n_live -= object != NULL;
    free(object);
    return failed ? (CUresult)plan.error : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    read_plan();
    STEP();
    *version = plan.version;
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags)
{
    (void)flags;
    STEP();
    return (CUresult)plan.init;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    static const struct {
        CUresult error;
        const char *name;
    } names[] = {
#define CONSTANT(name_, value) {value, #name_},
#include "kernels/cuda/driver.def"
    };
    *name = "CUDA_ERROR_UNKNOWN";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error && !strncmp(names[i].name, "CUDA_", 5))
            *name = names[i].name;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n)
{
    STEP();
    *n = plan.devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    STEP();
    *device = ordinal;
    return ordinal < plan.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    STEP();
    snprintf(name, (size_t)size, "Fake \"%d\"", device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    STEP();
    *bytes = plan.memory;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    STEP();
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? plan.major
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR          ? plan.minor
             : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT              ? 4
             : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? SHARED
                                                                                  : 1;
    return CUDA_SUCCESS;
}

/* One at a time: its release does not name it. */
static CUcontext primary;

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    STEP();
    *context = primary = make();
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUcontext context = primary;
    (void)device;
    primary = NULL;
    return end(context);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    (void)context;
    STEP();
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    STEP();
    *free_bytes = plan.memory - n_used;
    *total = plan.memory;
    return CUDA_SUCCESS;
}

/* Memory has its size before it. */
struct block {
    size_t n;
    _Alignas(64) unsigned char bytes[];
};

static struct block *block_of(CUdeviceptr p)
{
    return (struct block *)((uintptr_t)p - offsetof(struct block, bytes));
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
    STEP();
    if (n == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (n > plan.memory - n_used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct block *block = aligned_alloc(64, (sizeof *block + n + 63) / 64 * 64);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    block->n = n;
    n_used += n;
    n_live++;
    *p = (CUdeviceptr)(uintptr_t)block->bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
    struct block *block = p ? block_of(p) : NULL;
    n_used -= block ? block->n : 0;
    return end(block);
}

CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
    (void)flags;
    STEP();
    *p = malloc(n);
    n_live += *p != NULL;
    return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFreeHost(void *p)
{
    return end(p);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, CUstream stream)
{
    (void)stream;
    STEP();
    memcpy((void *)(uintptr_t)dst, src, n);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream stream)
{
    (void)stream;
    STEP();
    memcpy(dst, (void *)(uintptr_t)src, n);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream)
{
    (void)stream;
    STEP();
    memmove((void *)(uintptr_t)dst, (void *)(uintptr_t)src, n);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
    (void)stream;
    STEP();
    memset((void *)(uintptr_t)dst, value, n);
    return CUDA_SUCCESS;
}

/* Functions live as long as their module, so the module's address will do for all. */
CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    STEP();
    if (!image || plan.load)
        return plan.load ? (CUresult)plan.load : CUDA_ERROR_INVALID_VALUE;
    *module = make();
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    return end(module);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    STEP();
    if (!strcmp(name, "missing"))
        return CUDA_ERROR_NOT_FOUND;
    *function = (CUfunction)(void *)module;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function, (void)attribute;
    STEP();
    *value = plan.compiled;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function, (void)attribute;
    STEP();
    return value <= SHARED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    (void)flags;
    STEP();
    *stream = make();
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    return end(stream);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    STEP();
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)stream, (void)event, (void)flags;
    STEP();
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    STEP();
    *event = make();
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    return end(event);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    STEP();
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    STEP();
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent stop)
{
    (void)start, (void)stop;
    STEP();
    *ms = 1;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra)
{
    (void)function, (void)arguments, (void)extra;
    STEP();
    overlap = false;
    for (unsigned i = 0; i < config->numAttrs; i++)
        overlap |= config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    return config->gridDimX && config->blockDimX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    (void)stream, (void)mode;
    STEP();
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    (void)stream;
    STEP();
    *graph = make();
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    (void)graph, (void)flags;
    STEP();
    *exec = make();
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    (void)exec, (void)stream;
    STEP();
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
    return end(graph);
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    return end(exec);
}
