/* The calls of kernels/cuda/cublas.def on the emulated device, in double and one thread (LORCH_LIBCUBLAS
 * names the same shared object as LORCH_LIBCUDA). Column-major, as the real one: for C = op(A) op(B) the
 * first is transposed and the second is not, which is all that is used. */
#include <memory>

#include "tests/cuda-emu/driver.h"

extern "C" {
#include "kernels/cuda/cublas.h"
#define CUBLAS(name, arguments) cublasStatus_t name arguments;
#include "kernels/cuda/cublas.def"
const char *cublasGetStatusName(cublasStatus_t status);
}

struct cublasContext {
    CUstream stream;
    size_t workspace;
};

static double element(const void *x, cudaDataType type, size_t i)
{
    const uint16_t bits = static_cast<const uint16_t *>(x)[i];
    return double(type == CUDA_R_16BF ? __bfloat162float({bits}) : __half2float({bits}));
}

extern "C" {
const char *cublasGetStatusName(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS           ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED"
                                                     : "CUBLAS_STATUS_INVALID_VALUE";
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = new cublasContext{nullptr, 0};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, CUstream stream)
{
    *handle = {stream, 0};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *memory, size_t n)
{
    handle->workspace = n;
    return memory && n ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

/* Without a workspace of its own the real one may allocate, which a capture does not allow: here it is
 * refused. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda,
                            const void *b, cudaDataType b_type, int ldb, const void *beta, void *c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t)
{
    if (!handle->workspace)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (op_a != CUBLAS_OP_T || op_b != CUBLAS_OP_N || c_type != CUDA_R_32F || compute != CUBLAS_COMPUTE_32F ||
        a_type != b_type || (a_type != CUDA_R_16F && a_type != CUDA_R_16BF) || lda < k || ldb < k ||
        ldc < m || *static_cast<const float *>(beta) != 0.0f)
        return CUBLAS_STATUS_INVALID_VALUE;
    const double factor = double(*static_cast<const float *>(alpha));
    cuemu::submit(handle->stream, [=] {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (int p = 0; p < k; p++)
                    sum += element(a, a_type, size_t(i) * size_t(lda) + size_t(p)) *
                           element(b, b_type, size_t(j) * size_t(ldb) + size_t(p));
                static_cast<float *>(c)[size_t(j) * size_t(ldc) + size_t(i)] = float(factor * sum);
            }
    });
    return CUBLAS_STATUS_SUCCESS;
}
}
