/* cuBLAS, opened when it is first needed: see cublas.h. */
#include "config.h"

#include "kernels/cuda/cublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/backend.h"
#include "kernels/cuda/library.h"

static const char *const files[] = {"libcublas.so.13", "libcublas.so.12"};

static int failed(const struct cublas *blas, const char *call, cublasStatus_t status, char why[DRIVER_WHY])
{
    const char *name = blas->cublasGetStatusName(status);
    snprintf(why, DRIVER_WHY, "cuBLAS's %s failed: %s", call, name ? name : "unknown status");
    return status == CUBLAS_STATUS_ALLOC_FAILED ? LK_E_NO_MEMORY : CONTEXT_E_FAILED;
}

static void *open_library(char why[DRIVER_WHY])
{
    const char *named = getenv("LORCH_LIBCUBLAS");
    void *library = NULL;
    if (named && *named)
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    else
        for (size_t i = 0; !library && i < sizeof files / sizeof *files; i++)
            library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *message = dlerror();
        snprintf(why, DRIVER_WHY, "there is no cuBLAS (%s or %s): %.120s", files[0], files[1],
                 message ? message : "no reason was given");
    }
    return library;
}

static int find_all(struct cublas *blas, char why[DRIVER_WHY])
{
    const char *missing = NULL;
    if (!library_find(blas->library, "cublasGetStatusName", &blas->cublasGetStatusName))
        missing = "cublasGetStatusName";
#define CUBLAS(name, arguments)                                       \
    if (!missing && !library_find(blas->library, #name, &blas->name)) \
        missing = #name;
#include "kernels/cuda/cublas.def"
    if (!missing)
        return 0;
    snprintf(why, DRIVER_WHY, "cuBLAS lacks %s", missing);
    return LK_E_NO_DEVICE;
}

/* The stream comes before the workspace: setting it takes back an earlier workspace. */
static int start(struct cublas *blas, struct context *c, char why[DRIVER_WHY])
{
    cublasStatus_t status = blas->cublasCreate_v2(&blas->handle);
    if (status) {
        blas->handle = NULL;
        return failed(blas, "cublasCreate", status, why);
    }
    status = blas->cublasSetStream_v2(blas->handle, c->stream);
    if (status)
        return failed(blas, "cublasSetStream", status, why);
    int r = context_alloc(c, CUBLAS_WORKSPACE, &blas->workspace, why);
    if (r)
        return r;
    status = blas->cublasSetWorkspace_v2(blas->handle, (void *)(uintptr_t)blas->workspace, CUBLAS_WORKSPACE);
    return status ? failed(blas, "cublasSetWorkspace", status, why) : 0;
}

static int open_all(struct cublas *blas, struct context *c, char why[DRIVER_WHY])
{
    blas->library = open_library(why);
    if (!blas->library)
        return LK_E_NO_DEVICE;
    int r = find_all(blas, why);
    if (r == 0)
        r = start(blas, c, why);
    if (r)
        cublas_close(blas, c);
    return r;
}

int cublas_matmul(struct cublas *blas, struct context *c, CUdeviceptr y, CUdeviceptr w, CUdeviceptr x,
                  enum lk_dtype type, int n_row, int n_in, int n_out, char why[DRIVER_WHY])
{
    const float one = 1, zero = 0;
    const cudaDataType cuda_type = type == LK_BF16 ? CUDA_R_16BF : CUDA_R_16F;
    int r = blas->handle ? 0 : open_all(blas, c, why);
    if (r)
        return r;
    /* Its matrices are stored by columns: ours, read so, are transposed. y^T[n_out][n_row] = w x^T. */
    cublasStatus_t status = blas->cublasGemmEx(
        blas->handle, CUBLAS_OP_T, CUBLAS_OP_N, n_out, n_row, n_in, &one, (const void *)(uintptr_t)w,
        cuda_type, n_in, (const void *)(uintptr_t)x, cuda_type, n_in, &zero, (void *)(uintptr_t)y, CUDA_R_32F,
        n_out, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return status ? failed(blas, "cublasGemmEx", status, why) : 0;
}

void cublas_close(struct cublas *blas, struct context *c)
{
    if (blas->handle)
        blas->cublasDestroy_v2(blas->handle);
    context_free(c, blas->workspace);
    if (blas->library)
        dlclose(blas->library);
    *blas = (struct cublas)CUBLAS_NULL;
}
