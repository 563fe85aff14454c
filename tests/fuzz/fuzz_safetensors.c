/* A model file of any bytes: opened, and every tensor that passed is looked at from its first to its last
 * byte. */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/weights/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile uint8_t sink; /* so that no read is optimized away */

static void touch(const struct safetensors *file, const struct tensor *t)
{
    if (safetensors_find(file, t->name) != t || t->n_dim > TENSOR_MAX_DIM || !t->data)
        abort();
    if (t->type >= 0) {
        uint64_t n = 1;
        for (int i = 0; i < t->n_dim; i++)
            n *= t->dim[i];
        size_t bytes = lk_dtype_bytes((enum lk_dtype)t->type, 1);
        if (t->n_byte != n * bytes || (uintptr_t)t->data % bytes != 0)
            abort();
    }
    for (uint64_t i = 0; i < t->n_byte; i++)
        sink = (uint8_t)(sink + ((const uint8_t *)t->data)[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* A file without a name, so that nothing is left on a disk. */
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n)
        abort();
    struct safetensors *file = NULL;
    struct why why = {""};
    int r = safetensors_open(&file, path, &why);
    if ((r == 0) != (file != NULL) || (r == 0) != (why.text[0] == '\0'))
        abort();
    if (file) {
        for (size_t i = 0; i < safetensors_count(file); i++)
            touch(file, safetensors_at(file, i));
        safetensors_metadata(file, "format");
    }
    safetensors_free(file);
    close(fd);
    return 0;
}
