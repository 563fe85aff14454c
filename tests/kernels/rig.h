/* A back end for a test, with memory that goes away with it. */
#pragma once

#include "kernels/backend.h"
#include "tests/kernels/check.h"

enum { RIG_MAX_MEMORY = 64 };

struct rig {
    struct lk_backend *be;
    struct check_rng rng;
    int n_memory;
    struct {
        void *mem;
        size_t bytes;
    } memory[RIG_MAX_MEMORY];
};

/* Ends the program if it cannot: no test can go on without. */
void rig_open(struct rig *rig, int32_t n_thread, int32_t max_row, const char *level);
void rig_close(struct rig *rig);

/* Zeroed, and random within [-1, 1). */
float *rig_floats(struct rig *rig, size_t n);
float *rig_random(struct rig *rig, size_t n);
/* A random matrix. Its values go to ret_value[n_out * n_in] (may be NULL). */
struct lk_mat rig_matrix(struct rig *rig, enum lk_dtype type, int32_t n_out, int32_t n_in, double *ret_value);

/* Starts a step of one sequence without KV: rows at positions pos, pos + 1, ... */
void rig_begin(struct rig *rig, struct lk_batch *batch, struct lk_span *span, const int32_t *token,
               int32_t n_row, int32_t pos);
