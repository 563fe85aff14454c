/* All kernels in one file: nvcc makes one fatbin of one source. */
#include "kernels/cuda/norm.cu"
