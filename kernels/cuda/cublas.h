/* cuBLAS for large matrix products, opened at run time and only when the first one comes: mapping it costs
 * much more than a driver that is already there. What is used of it is listed in cublas.def. */
#pragma once

#include <stddef.h>

#include "kernels/cuda/context.h"
#include "kernels/dtype.h"

typedef unsigned cublasStatus_t;
typedef unsigned cublasOperation_t;
typedef unsigned cublasComputeType_t;
typedef int cublasGemmAlgo_t;
typedef unsigned cudaDataType;
typedef struct cublasContext *cublasHandle_t;

enum cublas_constant {
#define CONSTANT(name, value) name = value,
#include "kernels/cuda/cublas.def"
};

/* Memory that products may use on the side, so that none is taken while a graph is captured: what cuBLAS asks
 * for on the GPUs with the largest appetite, 32 MiB. */
enum { CUBLAS_WORKSPACE = 32 << 20 };

struct cublas {
    void *library;
    const char *(*cublasGetStatusName)(cublasStatus_t status);
#define CUBLAS(name, arguments) cublasStatus_t(*name) arguments;
#include "kernels/cuda/cublas.def"
    cublasHandle_t handle;
    CUdeviceptr workspace;
};

#define CUBLAS_NULL \
    {               \
        0           \
    }

/* y[n_row][n_out] = x[n_row][n_in] w[n_out][n_in]^T on the context's stream; w and x of one type (F16 or
 * BF16), y float32, sums in float32. The first call opens the library (libcublas.so.13, else .12, or the file
 * that LORCH_LIBCUBLAS names) for this context. 0 or, with a sentence: LK_E_NO_DEVICE (no library that
 * works), LK_E_NO_MEMORY, CONTEXT_E_FAILED. */
int cublas_matmul(struct cublas *blas, struct context *c, CUdeviceptr y, CUdeviceptr w, CUdeviceptr x,
                  enum lk_dtype type, int n_row, int n_in, int n_out, char why[DRIVER_WHY]);
/* Gives back what was opened; before its context closes. */
void cublas_close(struct cublas *blas, struct context *c);
