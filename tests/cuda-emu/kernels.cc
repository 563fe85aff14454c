/* All CUDA kernels as host code. */
#include "tests/gpu/probe.cu"
