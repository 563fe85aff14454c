/* The rows of driver.def and cublas.def against the headers of a CUDA toolkit: compiles where they agree. */
#define __CUDA_API_VERSION_INTERNAL /* also declare what has a newer version: cuEventElapsedTime */
#include <cublas_v2.h>
#include <cuda.h>
#include <stddef.h>

#define CONSTANT(name, value) _Static_assert((int)(name) == (value), #name);
#define LAYOUT(type, member, offset, size)                                                    \
    _Static_assert(offsetof(type, member) == (offset) && sizeof((type *)0)->member == (size), \
                   #type "." #member);
#define DRIVER(name, arguments) CUresult(*const check_##name) arguments = name;
#include "kernels/cuda/driver.def"

#define CONSTANT(name, value) _Static_assert((int)(name) == (value), #name);
#define CUBLAS(name, arguments) cublasStatus_t(*const check_##name) arguments = name;
#include "kernels/cuda/cublas.def"
