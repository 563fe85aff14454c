/* One GPU opened for computing: its primary context, the kernels as a module, one stream.
 *
 * Everything is queued on the stream, in order; `context_wait` waits for it. Functions return 0 or, with one
 * sentence in why: LK_E_NO_DEVICE (opening), LK_E_NO_MEMORY (memory), CONTEXT_E_FAILED (anything else: an
 * error of the device stays, so the context is of no use afterwards but to be closed). One thread uses a
 * context. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/driver.h"

enum { CONTEXT_E_FAILED = 16 }; /* beyond the codes of kernels/backend.h */

struct context {
    struct driver driver;
    struct driver_device device;
    CUdevice handle;
    CUcontext primary;
    CUmodule module;
    CUstream stream;
    bool overlaps; /* the GPU and the kernels know how */
};

/* How a kernel is launched. */
struct context_launch {
    unsigned grid[3], block[3]; /* 0 counts as 1 */
    unsigned shared_bytes;      /* dynamic shared memory */
    bool cooperative;           /* all blocks resident at once */
    bool overlap;               /* may start before its predecessor ends, and waits for it by itself (PDL);
                                   where the GPU or the image is older than 9.0 it starts afterwards */
};

/* Opens device `ordinal` and loads an image (a fatbin; archs: what it holds, for a sentence). On failure
 * nothing is left open. */
int context_open(struct context *ret, int ordinal, const void *image, const char *archs,
                 char why[DRIVER_WHY]);
/* Frees what context_open took; memory is the caller's to free before. */
void context_close(struct context *c);

/* Device memory of n > 0 bytes, with unspecified contents. */
int context_alloc(struct context *c, size_t n, CUdeviceptr *ret, char why[DRIVER_WHY]);
void context_free(struct context *c, CUdeviceptr p); /* 0 is allowed */

/* Copies between host and device, done when they return. */
int context_upload(struct context *c, CUdeviceptr dst, const void *src, size_t n, char why[DRIVER_WHY]);
int context_download(struct context *c, void *dst, CUdeviceptr src, size_t n, char why[DRIVER_WHY]);
/* Queues: n bytes of one value. */
int context_fill(struct context *c, CUdeviceptr dst, uint8_t value, size_t n, char why[DRIVER_WHY]);

/* A kernel by its name; it may use up to shared_bytes of dynamic shared memory. */
int context_find(struct context *c, const char *name, size_t shared_bytes, CUfunction *ret,
                 char why[DRIVER_WHY]);
/* Queues a launch. arguments: addresses of the parameters, in order, read before it returns. */
int context_run(struct context *c, CUfunction kernel, const struct context_launch *launch, void **arguments,
                char why[DRIVER_WHY]);
/* Waits for all that was queued. */
int context_wait(struct context *c, char why[DRIVER_WHY]);
