/* What the machine can do at most: the figures that every timing is printed beside. */
#pragma once

#include <stddef.h>

#include "kernels/cpu/pool.h"
#include "kernels/lk.h"

double bench_now(void); /* seconds */

/* Into name[n]: the processor as the system calls it. */
void bench_processor(char *name, size_t n);

/* Best rate at which n_thread threads read these bytes, each one stream: GB/s. */
double bench_read(struct pool *pool, int n_thread, const void *mem, size_t bytes);

/* Best rate of multiplications and additions in float32 with vectors of a level: GFLOP/s, or 0 if this build
 * knows no such instruction. */
double bench_fma(struct pool *pool, int n_thread, unsigned flags);

/* Nanoseconds for one node of a list whose chunks do nothing, and for a list of one node. */
void bench_barrier(struct pool *pool, int n_thread, double *ret_node_ns, double *ret_list_ns);
