/* The CUDA driver API from plain C, opened at run time.
 *
 * No CUDA header or library is needed to build or to start: a machine without a driver gets a sentence. The
 * types have the names, sizes and values of the driver's own header; enumerations are unsigned, which is what
 * compilers make of them there. What is used of the API is listed in driver.def. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned CUresult;
typedef unsigned CUdevice_attribute;
typedef unsigned CUfunction_attribute;
typedef unsigned CUstreamCaptureMode;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

/* A property of a launch, such as CU_LAUNCH_ATTRIBUTE_COOPERATIVE: the value of those used is an int. */
typedef struct {
    unsigned id;
    char pad[4];
    union {
        char pad[64];
        int value;
    } value;
} CUlaunchAttribute;

typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

enum {
#define CONSTANT(name, value) name = value,
#include "kernels/cuda/driver.def"
};

enum {
    DRIVER_WHY = 256,           /* bytes of a sentence */
    DRIVER_MIN_VERSION = 12000, /* 1000 * major + 10 * minor of the CUDA version, the first with every row */
    DRIVER_MAX_DEVICE = 64,     /* devices that are looked at */
};

struct driver {
    void *library;
    int version; /* of CUDA, that this driver supports: 13000 is 13.0 */
#define DRIVER(name, arguments) CUresult(*name) arguments;
#include "kernels/cuda/driver.def"
};

/* Opens and initializes the driver: libcuda.so.1, or the file that the environment's LORCH_LIBCUDA names.
 * 0; LK_E_NO_DEVICE with a sentence: there is none, it is too old, or it does not start. */
int driver_open(struct driver *ret_driver, char why[DRIVER_WHY]);
/* The library stays mapped: a driver that has been initialized has threads of its own. */
void driver_close(struct driver *driver);

/* The driver's own name of an error, "CUDA_ERROR_OUT_OF_MEMORY". */
const char *driver_error(const struct driver *driver, CUresult error);

/* One GPU, as the driver describes it. */
struct driver_device {
    char name[128];
    int ordinal;
    int major, minor; /* compute capability */
    int n_multiprocessor;
    size_t total_bytes, l2_bytes, shared_bytes; /* the last: of a block, at most */
    int cooperative;                            /* whole grids can be made resident */
};

/* How many devices there are, those that CUDA_VISIBLE_DEVICES hides left out: 1 to DRIVER_MAX_DEVICE.
 * 0; LK_E_NO_DEVICE with a sentence: none, or the driver failed. */
int driver_count(const struct driver *driver, int *ret_n, char why[DRIVER_WHY]);
/* Describes one. 0; LK_E_NO_DEVICE with a sentence: no such device, or the driver failed. */
int driver_describe(const struct driver *driver, int ordinal, struct driver_device *ret_device,
                    char why[DRIVER_WHY]);
/* Whether the kernels can run on it. 0; LK_E_NO_DEVICE with a sentence: its compute capability is too low. */
int driver_check(const struct driver_device *device, char why[DRIVER_WHY]);

#ifdef __cplusplus
}
#endif
