/* What the tests of the CUDA kernels share: device memory that a case takes and gives back, launches by name.
 *
 * A call of the driver that fails ends the program with its sentence. One context, one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/context.h"
#include "kernels/lk.h"
#include "tests/kernels/check.h"

/* The C definitions of all operations. */
extern struct lk_cpu rig_c;
/* Small cases only: under a tool that makes kernels a hundred times as slow. */
extern bool rig_quick;

void rig_open(const char *image_path);
void rig_close(void);
const struct driver_device *rig_device(void);
struct context *rig_context(void);

/* Memory of the case: with contents, without (a launch has to write it), and back to the host (freed by the
 * caller). */
CUdeviceptr rig_put(const void *src, size_t n);
CUdeviceptr rig_new(size_t n);
void *rig_get(CUdeviceptr p, size_t n);
/* Frees the memory of the case. */
void rig_end(void);

void rig_run(const char *kernel, const struct context_launch *launch, void **arguments);

/* Random floats, by check_fill; freed by the caller. */
float *rig_floats(struct check_rng *rng, size_t n, enum check_kind kind);

/* All of got within bound[i] of want[i]? Says which is not. */
bool rig_close_to(const float *got, const double *want, const double *bound, size_t n);

/* The families, each a TAP line an operation. */
void test_rows(void);
void test_products(void);
void test_attend(void);
void test_sample(void);
void test_graphs(void);
void test_overlap(void);
