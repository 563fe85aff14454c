/* Every named intermediate of every step, in a file each: for finding where two computations part.
 *
 * A step becomes <dir>/step-000000.safetensors and so on: "<name>.<layer>" (or "<name>") F32 [rows][n] for
 * each trace of the architecture, in their order, "input_ids" and "positions" I32 [rows]. Intermediates of a
 * prompt tell much about it: only its owner may read a file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/backend.h"
#include "src/base/err.h"

struct tracefile;

/* Makes the directory unless it is there. EX_NOPERM, EX_NOINPUT, EX_IOERR, -errno. */
int tracefile_open(struct tracefile **ret_trace, const char *dir, int32_t n_layer, struct why *why);
struct tracefile *tracefile_free(struct tracefile *trace);

/* A file for this step. 0, -errno. */
int tracefile_begin(struct tracefile *trace, const struct lk_batch *batch);
/* An lk_trace_fn; ctx is the struct tracefile. What fails is told by tracefile_end. */
void tracefile_add(void *trace, const char *name, int32_t layer, const float *x, int32_t n_row, int32_t n);
/* Completes the file, or removes it where the step itself has failed. 0, -errno: it could not be written. */
int tracefile_end(struct tracefile *trace, bool has_failed);
