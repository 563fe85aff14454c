/* All kernels in one file: nvcc makes one fatbin of one source. */
#include "kernels/cuda/attend.cu"
#include "kernels/cuda/gemm.cu"
#include "kernels/cuda/matvec.cu"
#include "kernels/cuda/norm.cu"
#include "kernels/cuda/rope.cu"
#include "kernels/cuda/rows.cu"
#include "kernels/cuda/sample.cu"
