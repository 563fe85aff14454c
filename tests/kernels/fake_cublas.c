/* A cuBLAS that computes nothing, on fake_cuda.c's terms: the environment's FAKE_CUBLAS is the number of the
 * call that fails (from cublasCreate on, 0: none), and fake_cublas_live() how many handles are open. */
#include "config.h"

#include <stdlib.h>

#include "kernels/cuda/cublas.h"

static int n_call, n_live;

#define CUBLAS(name, arguments) cublasStatus_t name arguments;
#include "kernels/cuda/cublas.def"
const char *cublasGetStatusName(cublasStatus_t status);
int fake_cublas_live(void);

int fake_cublas_live(void)
{
    return n_live;
}

static cublasStatus_t step(void)
{
    const char *plan = getenv("FAKE_CUBLAS");
    return plan && ++n_call == atoi(plan) ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_SUCCESS";
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    n_call = 0;
    cublasStatus_t status = step();
    if (status)
        return status;
    *handle = calloc(1, 1);
    n_live++;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    n_live--;
    free(handle);
    return step();
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, CUstream stream)
{
    (void)handle, (void)stream;
    return step();
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *memory, size_t n)
{
    (void)handle;
    return memory && n ? step() : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda,
                            const void *b, cudaDataType b_type, int ldb, const void *beta, void *c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    (void)handle, (void)op_a, (void)op_b, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)a_type;
    (void)lda, (void)b, (void)b_type, (void)ldb, (void)beta, (void)c, (void)c_type, (void)ldc;
    (void)compute, (void)algo;
    return step();
}
