/* Times on a GPU: what tests/gpu/bench_gpu.c measures with. Every call ends the program with a sentence if
 * the device fails. One GPU, one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/context.h"

enum { GAUGE_MAX_ARGUMENT = 10 };

/* A launch, ready to be queued again and again. A parameter shorter than 8 bytes is the low part of its
 * value: machines with a GPU are little-endian. */
struct gauge_call {
    CUfunction kernel;
    struct context_launch launch;
    uint64_t arguments[GAUGE_MAX_ARGUMENT];
};

/* Opens device 0 with the kernels of a fatbin's file. */
void gauge_open(struct context *c, const char *path);

/* Memory that lives until gauge_close; filled with one value (host memory: pinned). */
CUdeviceptr gauge_memory(struct context *c, size_t n, uint8_t fill);
void *gauge_host_memory(struct context *c, size_t n);
void gauge_close(struct context *c);

CUfunction gauge_find(struct context *c, const char *name);
void gauge_download(struct context *c, void *dst, CUdeviceptr src, size_t n);
void gauge_clear(struct context *c, CUdeviceptr p, size_t n); /* to zero, done on return */

/* Runs one call and waits. */
void gauge_once(struct context *c, const struct gauge_call *call);
/* The least seconds of several runs of all calls in turn, as one graph (which is how a step of decoding is
 * run) or one by one: other work on the machine can only add to a time. */
double gauge_calls(struct context *c, const struct gauge_call *calls, int n_call, bool as_graph);
/* The same of one call for which n bytes have to be zero, cleared outside the time. */
double gauge_cleared(struct context *c, const struct gauge_call *call, CUdeviceptr p, size_t n);
/* The same of one copy of n bytes. Device addresses may stand for either side, host memory for one. */
enum gauge_copy { GAUGE_ON_DEVICE, GAUGE_TO_DEVICE, GAUGE_TO_HOST };
double gauge_copy(struct context *c, enum gauge_copy direction, CUdeviceptr a, CUdeviceptr b, void *host,
                  size_t n);

/* Ends the program with a sentence. */
void gauge_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
