/* One GPU opened for computing: see context.h. */
#include "config.h"

#include "kernels/cuda/context.h"

#include <stdio.h>

#include "kernels/backend.h"

/* Shared memory that every kernel may use without asking; above it the driver wants to be told. */
enum { SHARED_UNASKED = 48 << 10 };

/* From this compute capability on, kernels that were compiled for it can wait for their predecessors. */
enum { OVERLAP_SINCE = 90 };

static int failed(const struct context *c, int code, const char *what, CUresult error, char why[DRIVER_WHY])
{
    snprintf(why, DRIVER_WHY, "GPU %d (%.60s): %s failed: %s", c->device.ordinal, c->device.name, what,
             driver_error(&c->driver, error));
    return code;
}

static int load(struct context *c, const void *image, const char *archs, char why[DRIVER_WHY])
{
    CUresult r = c->driver.cuModuleLoadData(&c->module, image);
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU) {
        snprintf(why, DRIVER_WHY,
                 "GPU %d (%.60s) has compute capability %d.%d, and this program's kernels are for %.60s: %s",
                 c->device.ordinal, c->device.name, c->device.major, c->device.minor, archs,
                 driver_error(&c->driver, r));
        return LK_E_NO_DEVICE;
    }
    return r ? failed(c, LK_E_NO_DEVICE, "cuModuleLoadData", r, why) : 0;
}

static int check_ordinal(const struct context *c, int ordinal, char why[DRIVER_WHY])
{
    int n, r = driver_count(&c->driver, &n, why);
    if (r || (ordinal >= 0 && ordinal < n))
        return r;
    snprintf(why, DRIVER_WHY, "there is no GPU %d: the CUDA driver sees %d, numbered from 0", ordinal, n);
    return LK_E_NO_DEVICE;
}

/* What is open is not NULL, for context_close. */
static int open_parts(struct context *c, int ordinal, const void *image, const char *archs,
                      char why[DRIVER_WHY])
{
    int r = driver_open(&c->driver, why);
    if (r == 0)
        r = check_ordinal(c, ordinal, why);
    if (r == 0)
        r = driver_describe(&c->driver, ordinal, &c->device, why);
    if (r == 0)
        r = driver_check(&c->device, why);
    if (r)
        return r;
    CUresult error = c->driver.cuDeviceGet(&c->handle, ordinal);
    if (error)
        return failed(c, LK_E_NO_DEVICE, "cuDeviceGet", error, why);
    error = c->driver.cuDevicePrimaryCtxRetain(&c->primary, c->handle);
    if (error == CUDA_ERROR_OUT_OF_MEMORY)
        return failed(c, LK_E_NO_MEMORY, "cuDevicePrimaryCtxRetain", error, why);
    if (error)
        return failed(c, LK_E_NO_DEVICE, "cuDevicePrimaryCtxRetain", error, why);
    error = c->driver.cuCtxSetCurrent(c->primary);
    if (error)
        return failed(c, LK_E_NO_DEVICE, "cuCtxSetCurrent", error, why);
    r = load(c, image, archs, why);
    if (r)
        return r;
    error = c->driver.cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING);
    return error ? failed(c, LK_E_NO_DEVICE, "cuStreamCreate", error, why) : 0;
}

int context_open(struct context *ret, int ordinal, const void *image, const char *archs, char why[DRIVER_WHY])
{
    *ret = (struct context){0};
    int r = open_parts(ret, ordinal, image, archs, why);
    if (r)
        context_close(ret);
    return r;
}

/* Errors are of no interest any more: what a lost device held is gone with its context. */
void context_close(struct context *c)
{
    const struct driver *d = &c->driver;
    if (c->stream)
        d->cuStreamDestroy_v2(c->stream);
    if (c->module)
        d->cuModuleUnload(c->module);
    if (c->primary) {
        d->cuCtxSetCurrent(NULL);
        d->cuDevicePrimaryCtxRelease_v2(c->handle);
    }
    driver_close(&c->driver);
    *c = (struct context){0};
}

int context_alloc(struct context *c, size_t n, CUdeviceptr *ret, char why[DRIVER_WHY])
{
    size_t free_bytes = 0, total = c->device.total_bytes;
    *ret = 0;
    CUresult r = c->driver.cuMemAlloc_v2(ret, n);
    if (r == CUDA_SUCCESS)
        return 0;
    *ret = 0;
    if (r != CUDA_ERROR_OUT_OF_MEMORY)
        return failed(c, CONTEXT_E_FAILED, "cuMemAlloc", r, why);
    if (c->driver.cuMemGetInfo_v2(&free_bytes, &total))
        free_bytes = 0, total = c->device.total_bytes;
    snprintf(why, DRIVER_WHY, "GPU %d (%.60s): %zu bytes do not fit, %zu of %zu are free: %s",
             c->device.ordinal, c->device.name, n, free_bytes, total, driver_error(&c->driver, r));
    return LK_E_NO_MEMORY;
}

void context_free(struct context *c, CUdeviceptr p)
{
    if (p)
        c->driver.cuMemFree_v2(p);
}

int context_upload(struct context *c, CUdeviceptr dst, const void *src, size_t n, char why[DRIVER_WHY])
{
    CUresult r = c->driver.cuMemcpyHtoDAsync_v2(dst, src, n, c->stream);
    return r ? failed(c, CONTEXT_E_FAILED, "cuMemcpyHtoDAsync", r, why) : context_wait(c, why);
}

int context_download(struct context *c, void *dst, CUdeviceptr src, size_t n, char why[DRIVER_WHY])
{
    CUresult r = c->driver.cuMemcpyDtoHAsync_v2(dst, src, n, c->stream);
    return r ? failed(c, CONTEXT_E_FAILED, "cuMemcpyDtoHAsync", r, why) : context_wait(c, why);
}

int context_fill(struct context *c, CUdeviceptr dst, uint8_t value, size_t n, char why[DRIVER_WHY])
{
    CUresult r = c->driver.cuMemsetD8Async(dst, value, n, c->stream);
    return r ? failed(c, CONTEXT_E_FAILED, "cuMemsetD8Async", r, why) : 0;
}

int context_find(struct context *c, const char *name, size_t shared_bytes, CUfunction *ret,
                 char why[DRIVER_WHY])
{
    CUresult r = c->driver.cuModuleGetFunction(ret, c->module, name);
    if (r) {
        snprintf(why, DRIVER_WHY, "GPU %d (%.60s): there is no kernel '%.60s': %s", c->device.ordinal,
                 c->device.name, name, driver_error(&c->driver, r));
        return CONTEXT_E_FAILED;
    }
    int compiled_for = 0;
    r = c->driver.cuFuncGetAttribute(&compiled_for, CU_FUNC_ATTRIBUTE_PTX_VERSION, *ret);
    if (r)
        return failed(c, CONTEXT_E_FAILED, "cuFuncGetAttribute", r, why);
    c->overlaps = compiled_for >= OVERLAP_SINCE && c->device.major * 10 >= OVERLAP_SINCE;
    if (shared_bytes <= SHARED_UNASKED)
        return 0;
    if (shared_bytes > c->device.shared_bytes) {
        snprintf(why, DRIVER_WHY,
                 "GPU %d (%.60s): kernel '%.60s' needs %zu bytes of shared memory, a block has %zu",
                 c->device.ordinal, c->device.name, name, shared_bytes, c->device.shared_bytes);
        return CONTEXT_E_FAILED;
    }
    r = c->driver.cuFuncSetAttribute(*ret, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     (int)shared_bytes);
    return r ? failed(c, CONTEXT_E_FAILED, "cuFuncSetAttribute", r, why) : 0;
}

static unsigned at_least_one(unsigned n)
{
    return n ? n : 1;
}

int context_run(struct context *c, CUfunction kernel, const struct context_launch *launch, void **arguments,
                char why[DRIVER_WHY])
{
    CUlaunchAttribute attributes[2];
    unsigned n = 0;
    if (launch->cooperative)
        attributes[n++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.value = 1};
    if (launch->overlap && c->overlaps)
        attributes[n++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                              .value.value = 1};
    const CUlaunchConfig config = {
        .gridDimX = at_least_one(launch->grid[0]),
        .gridDimY = at_least_one(launch->grid[1]),
        .gridDimZ = at_least_one(launch->grid[2]),
        .blockDimX = at_least_one(launch->block[0]),
        .blockDimY = at_least_one(launch->block[1]),
        .blockDimZ = at_least_one(launch->block[2]),
        .sharedMemBytes = launch->shared_bytes,
        .hStream = c->stream,
        .attrs = attributes,
        .numAttrs = n,
    };
    CUresult r = c->driver.cuLaunchKernelEx(&config, kernel, arguments, NULL);
    return r ? failed(c, CONTEXT_E_FAILED, "cuLaunchKernelEx", r, why) : 0;
}

int context_wait(struct context *c, char why[DRIVER_WHY])
{
    CUresult r = c->driver.cuStreamSynchronize(c->stream);
    return r ? failed(c, CONTEXT_E_FAILED, "cuStreamSynchronize", r, why) : 0;
}
