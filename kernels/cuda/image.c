/* The kernels as nvcc made them: see image.h. The assembler takes the file in, so that no tool is needed to
 * turn it into C; its name is relative to the folder that the compiler runs in, the top of the build tree. */
#include "config.h"

#include "kernels/cuda/image.h"

__asm__(".section .rodata\n"
        ".balign 64\n"
        "image_begin:\n"
        ".incbin \"kernels/cuda/kernels.fatbin\"\n"
        "image_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char image_begin[], image_end[];

const void *image_kernels(size_t *ret_bytes)
{
    *ret_bytes = (size_t)(image_end - image_begin);
    return image_begin;
}

const char *image_archs(void)
{
    return LORCH_CUDA_ARCHS;
}
