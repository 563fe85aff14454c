/* The few words in which a .cu file differs between nvcc and the host emulator, and wrappers for what exists as PTX
 * only. Kernels include this header instead of CUDA's own. */
#pragma once

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define CU_SHARED(T, name, n) __shared__ T name[n]
#define CU_EXPORT(kernel)
#else
#include "tests/cuda-emu/cuda_emu.h"
#define CU_SHARED(T, name, n)     \
    static char cu_key_##name;    \
    T(&name)[n] = *static_cast<T(*)[n]>(cuemu::block_shared(&cu_key_##name, sizeof(T[n])))
#define CU_EXPORT(kernel) static cuemu::Registrar cu_reg_##kernel(#kernel, kernel)
#endif
