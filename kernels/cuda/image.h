/* The kernels as nvcc made them: one fatbin, embedded in the program. */
#pragma once

#include <stddef.h>

/* The fatbin, as the driver loads it; NULL and 0 bytes in a build without CUDA kernels. */
const void *image_kernels(size_t *ret_bytes);
/* The compute capabilities that it has machine code for, "80 90"; empty without kernels. */
const char *image_archs(void);
