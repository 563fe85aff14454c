/* What the tests of the CUDA kernels share: see rig_cuda.h. */
#include "config.h"

#include "tests/gpu/rig_cuda.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_MEMORY = 32 };

struct lk_cpu rig_c;
bool rig_quick;

static struct context context;
static CUdeviceptr memory[MAX_MEMORY];
static int n_memory;

static void must(int r, const char *why)
{
    if (r == 0)
        return;
    fflush(stdout);
    fprintf(stderr, "test_cuda: %s\n", why);
    exit(1);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t n = 0;
    while (file && !feof(file) && !ferror(file)) {
        data = realloc(data, n + (1 << 20) + 1);
        must(!data, "no memory");
        n += fread(data + n, 1, 1 << 20, file);
    }
    must(!file || ferror(file) || fclose(file), path);
    data[n] = '\0';
    return data;
}

void rig_open(const char *image_path)
{
    char why[DRIVER_WHY];
    char *image = read_file(image_path);
    must(context_open(&context, 0, image, image_path, why), why);
    free(image);
    lk_cpu_init(&rig_c, 0);
}

void rig_close(void)
{
    context_close(&context);
}

const struct driver_device *rig_device(void)
{
    return &context.device;
}

struct context *rig_context(void)
{
    return &context;
}

CUdeviceptr rig_new(size_t n)
{
    char why[DRIVER_WHY];
    must(n_memory == MAX_MEMORY, "too much memory in a case");
    must(context_alloc(&context, n, &memory[n_memory], why), why);
    return memory[n_memory++];
}

CUdeviceptr rig_put(const void *src, size_t n)
{
    char why[DRIVER_WHY];
    CUdeviceptr p = rig_new(n);
    must(context_upload(&context, p, src, n, why), why);
    return p;
}

void *rig_get(CUdeviceptr p, size_t n)
{
    char why[DRIVER_WHY];
    void *dst = check_allocate(n, 1);
    must(context_download(&context, dst, p, n, why), why);
    return dst;
}

void rig_end(void)
{
    while (n_memory)
        context_free(&context, memory[--n_memory]);
}

void rig_run(const char *kernel, const struct context_launch *launch, void **arguments)
{
    char why[DRIVER_WHY];
    CUfunction function;
    must(context_find(&context, kernel, launch->shared_bytes, &function, why), why);
    must(context_run(&context, function, launch, arguments, why), why);
}

float *rig_floats(struct check_rng *rng, size_t n, enum check_kind kind)
{
    float *x = check_allocate(n, sizeof *x);
    check_fill(rng, x, n, kind);
    return x;
}

bool rig_close_to(const float *got, const double *want, const double *bound, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok = check_close(got[i], want[i], bound[i], i) && ok;
    return ok;
}
