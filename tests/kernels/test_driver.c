/* The CUDA driver's failures, on a driver that computes nothing (fake_cuda.c): the right sentence each time,
 * and nothing left open. Speaks TAP. Started in the build folder's top, where the libraries are. */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda/cublas.h"
#include "kernels/cuda/driver.h"
#include "kernels/cuda/library.h"
#include "tests/kernels/check.h"

static const char fake_cuda[] = "./tests/kernels/libfake_cuda.so";
static const char fake_cublas[] = "./tests/kernels/libfake_cublas.so";
static const char image[] = "an image";

static int (*live_objects)(void);
static int (*live_handles)(void);
static int (*calls)(void);
static bool (*overlap)(void);

static int n_live(void)
{
    return live_objects() + live_handles();
}

static void plan(const char *words)
{
    setenv("LORCH_LIBCUDA", fake_cuda, 1);
    setenv("LORCH_LIBCUBLAS", fake_cublas, 1);
    setenv("FAKE_CUDA", words, 1);
    unsetenv("FAKE_CUBLAS");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* A context that cannot be opened: its code, and what the sentence has in it. */
static void expect_refusal(int code, int ordinal, const char *a, const char *b)
{
    struct context c;
    char why[DRIVER_WHY] = "";
    int r = context_open(&c, ordinal, image, "80 90", why);
    check_point(r == code && strstr(why, a) && strstr(why, b) && n_live() == 0, "refused: %s", why);
    if (r == 0)
        context_close(&c);
}

static void test_refusals(void)
{
    plan("");
    setenv("LORCH_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    expect_refusal(LK_E_NO_DEVICE, 0, "no CUDA driver", "/nowhere/libcuda.so.1");
    setenv("LORCH_LIBCUDA", fake_cublas, 1);
    expect_refusal(LK_E_NO_DEVICE, 0, "no CUDA driver", "cuDriverGetVersion");
    plan("version=11080");
    expect_refusal(LK_E_NO_DEVICE, 0, "too old", "11.8, and 12.0");
    plan("init=100");
    expect_refusal(LK_E_NO_DEVICE, 0, "no GPU", "CUDA_ERROR_NO_DEVICE");
    plan("init=999");
    expect_refusal(LK_E_NO_DEVICE, 0, "cuInit", "CUDA_ERROR_UNKNOWN");
    plan("devices=0");
    expect_refusal(LK_E_NO_DEVICE, 0, "sees no GPU", "");
    plan("devices=0");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    expect_refusal(LK_E_NO_DEVICE, 0, "CUDA_VISIBLE_DEVICES is ''", "no GPU");
    plan("devices=2");
    expect_refusal(LK_E_NO_DEVICE, 2, "no GPU 2", "sees 2");
    expect_refusal(LK_E_NO_DEVICE, -1, "no GPU -1", "sees 2");
    plan("major=7 minor=5");
    expect_refusal(LK_E_NO_DEVICE, 0, "too old", "7.5, and 8.0");
}

/* All that a back end does, once; 0 or the first failure. */
static int use_all(struct context *c, struct cublas *blas, CUdeviceptr *a, CUdeviceptr *b,
                   char why[DRIVER_WHY])
{
    unsigned char bytes[64], back[64] = {0};
    CUfunction kernel;
    void *arguments[] = {a};
    const struct context_launch launch = {.grid = {2}, .block = {32}, .cooperative = true, .overlap = true};
    memset(bytes, 7, sizeof bytes);
    int r = context_alloc(c, sizeof bytes, a, why);
    if (r == 0)
        r = context_alloc(c, sizeof bytes, b, why);
    if (r == 0)
        r = context_fill(c, *b, 1, sizeof bytes, why);
    if (r == 0)
        r = context_upload(c, *a, bytes, sizeof bytes, why);
    if (r == 0)
        r = context_download(c, back, *a, sizeof back, why);
    if (r == 0 && memcmp(bytes, back, sizeof back))
        return snprintf(why, DRIVER_WHY, "the copies differ");
    if (r == 0)
        r = context_find(c, "kernel", 100 << 10, &kernel, why);
    if (r == 0)
        r = context_run(c, kernel, &launch, arguments, why);
    if (r == 0)
        r = cublas_matmul(blas, c, *a, *b, *a, LK_BF16, 1, 4, 4, why);
    if (r == 0)
        r = context_wait(c, why);
    return r;
}

static int open_and_use(char why[DRIVER_WHY])
{
    struct context c;
    struct cublas blas = CUBLAS_NULL;
    CUdeviceptr a = 0, b = 0;
    int r = context_open(&c, 0, image, "80 90", why);
    if (r)
        return r;
    r = use_all(&c, &blas, &a, &b, why);
    cublas_close(&blas, &c);
    context_free(&c, a);
    context_free(&c, b);
    context_close(&c);
    return r;
}

/* Every call of a run fails in turn; those that only give something back are not worth a word. */
static void test_each_call(void)
{
    char words[64], why[DRIVER_WHY] = "";
    int n_named = 0, n_silent = 0, n_ending = 0, n_left = 0;
    plan("memory=67108864");
    check_point(open_and_use(why) == 0, "all of a back end's calls succeed %s", why);
    const int n_call = calls();
    for (int i = 1; i <= n_call; i++) {
        snprintf(words, sizeof words, "memory=67108864 fail=%d", i);
        plan(words);
        int r = open_and_use(why);
        n_left += n_live();
        n_ending += r == 0;
        if (r && strstr(why, ": CUDA_ERROR_UNKNOWN"))
            n_named++;
        else if (r)
            n_silent++, check_wrong("call %d: %d, '%s'", i, r, why);
    }
    /* Freeing three pieces of memory, the stream, the module, the context (put aside, released). */
    check_point(n_ending == 7 && n_silent == 0 && n_named == n_call - n_ending,
                "%d of %d calls, failing in turn, are named with the error, %d end something", n_named,
                n_call, n_ending);
    check_point(n_left == 0, "nothing stays open after any of them");
}

static void test_memory(void)
{
    struct context c;
    CUdeviceptr p, q;
    char why[DRIVER_WHY] = "";
    plan("memory=1000");
    check_point(context_open(&c, 0, image, "90", why) == 0, "a context opens %s", why);
    check_point(context_alloc(&c, 600, &p, why) == 0, "what fits is given");
    int r = context_alloc(&c, 500, &q, why);
    check_point(r == LK_E_NO_MEMORY && q == 0 && strstr(why, "500 bytes") && strstr(why, "400 of 1000") &&
                    strstr(why, "CUDA_ERROR_OUT_OF_MEMORY"),
                "what does not fit is refused: %s", why);
    r = context_alloc(&c, 0, &q, why);
    check_point(r == CONTEXT_E_FAILED && strstr(why, "CUDA_ERROR_INVALID_VALUE"), "nothing is no size: %s",
                why);
    context_free(&c, p);
    check_point(context_alloc(&c, 1000, &p, why) == 0, "what was given back can be taken again");
    context_free(&c, p);
    context_close(&c);
    check_point(n_live() == 0, "nothing stays open");
}

static void test_kernels(void)
{
    struct context c;
    CUfunction kernel;
    char why[DRIVER_WHY] = "";
    plan("");
    check_point(context_open(&c, 0, image, "90", why) == 0, "a context opens %s", why);
    int r = context_find(&c, "missing", 0, &kernel, why);
    check_point(r == CONTEXT_E_FAILED && strstr(why, "'missing'") && strstr(why, "CUDA_ERROR_NOT_FOUND"),
                "an unknown kernel is named: %s", why);
    r = context_find(&c, "kernel", 228 << 10, &kernel, why);
    check_point(r == CONTEXT_E_FAILED && strstr(why, "233472") && strstr(why, "232448"),
                "too much shared memory is refused with both numbers: %s", why);
    context_close(&c);
    plan("load=209");
    expect_refusal(LK_E_NO_DEVICE, 0, "compute capability 9.0", "kernels are for 80 90");
    check_point(n_live() == 0, "nothing stays open");
}

/* Overlap is asked for where the GPU and the kernels have it, else left out. */
static void test_overlap(void)
{
    static const struct {
        const char *words;
        bool overlaps;
    } rows[] = {{"", true}, {"compiled=80", false}, {"major=8 compiled=80", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct context c;
        CUfunction kernel;
        char why[DRIVER_WHY] = "";
        const struct context_launch launch = {.overlap = true};
        plan(rows[i].words);
        bool ran = context_open(&c, 0, image, "90", why) == 0 &&
                   context_find(&c, "kernel", 0, &kernel, why) == 0 &&
                   context_run(&c, kernel, &launch, NULL, why) == 0;
        check_point(ran && overlap() == rows[i].overlaps, "kernels %s with '%s' %s",
                    rows[i].overlaps ? "overlap" : "do not overlap", rows[i].words, why);
        context_close(&c);
    }
}

static void test_cublas(void)
{
    struct context c;
    struct cublas blas = CUBLAS_NULL;
    char why[DRIVER_WHY] = "", turn[16];
    int n_named = 0;
    plan("memory=67108864");
    check_point(context_open(&c, 0, image, "90", why) == 0, "a context opens %s", why);
    setenv("LORCH_LIBCUBLAS", "/nowhere/libcublas.so", 1);
    int r = cublas_matmul(&blas, &c, 64, 64, 64, LK_F16, 1, 4, 4, why);
    check_point(r == LK_E_NO_DEVICE && strstr(why, "no cuBLAS") && strstr(why, "/nowhere/libcublas.so"),
                "a missing cuBLAS is named: %s", why);
    setenv("LORCH_LIBCUBLAS", fake_cuda, 1);
    r = cublas_matmul(&blas, &c, 64, 64, 64, LK_F16, 1, 4, 4, why);
    check_point(r == LK_E_NO_DEVICE && strstr(why, "lacks cublas"), "another library is refused: %s", why);
    setenv("LORCH_LIBCUBLAS", fake_cublas, 1);
    for (int i = 1; i <= 4; i++) {
        snprintf(turn, sizeof turn, "%d", i);
        setenv("FAKE_CUBLAS", turn, 1);
        r = cublas_matmul(&blas, &c, 64, 64, 64, LK_F16, 1, 4, 4, why);
        n_named += r == CONTEXT_E_FAILED && strstr(why, "failed: CUBLAS_STATUS_INVALID_VALUE") != NULL;
        cublas_close(&blas, &c);
    }
    check_point(n_named == 4, "each call of cuBLAS that fails is named: %s", why);
    unsetenv("FAKE_CUBLAS");
    plan("memory=1000");
    context_close(&c);
    check_point(context_open(&c, 0, image, "90", why) == 0, "a small device opens");
    r = cublas_matmul(&blas, &c, 64, 64, 64, LK_F16, 1, 4, 4, why);
    check_point(r == LK_E_NO_MEMORY && strstr(why, "33554432"), "no room for the workspace: %s", why);
    context_close(&c);
    check_point(n_live() == 0, "nothing stays open");
}

int main(void)
{
    void *cuda = dlopen(fake_cuda, RTLD_NOW | RTLD_LOCAL);
    void *blas = dlopen(fake_cublas, RTLD_NOW | RTLD_LOCAL);
    if (!cuda || !blas || !library_find(cuda, "fake_cuda_live", &live_objects) ||
        !library_find(cuda, "fake_cuda_calls", &calls) ||
        !library_find(cuda, "fake_cuda_overlap", &overlap) ||
        !library_find(blas, "fake_cublas_live", &live_handles)) {
        check_point(false, "the fake libraries open: %s", dlerror());
        return check_done();
    }
    test_refusals();
    test_each_call();
    test_memory();
    test_kernels();
    test_overlap();
    test_cublas();
    dlclose(blas);
    dlclose(cuda);
    return check_done();
}
