/* Whether all weights are numbers. */
#pragma once

#include <stdbool.h>

#include "src/base/err.h"
#include "src/weights/checkpoint.h"

/* Reads every tensor of a type that kernels take, and scales of MXFP4; calls progress(ctx, fraction) in
 * between and stops early, returning 0, where it returns false (NULL: nobody asks). EX_DATAERR: a NaN or an
 * infinity, by tensor and index.
 */
int verify_finite(const struct checkpoint *checkpoint, checkpoint_progress_fn progress, void *ctx,
                  struct why *why);
