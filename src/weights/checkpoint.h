/* A model on disk: its configuration and its tensors, wherever they lie.
 *
 * A Hugging Face directory: config.json, generation_config.json (optional), tokenizer_config.json (optional),
 * model.safetensors or the shards that model.safetensors.index.json names. Knows nothing of architectures. */
#pragma once

#include <stdbool.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/weights/tensor.h"

struct checkpoint;

/* 0; <sysexits.h> codes as in src/base/err.h, the sentence begins with the path; -errno. */
int checkpoint_open(struct checkpoint **ret_checkpoint, const char *path, struct why *why);
struct checkpoint *checkpoint_free(struct checkpoint *cp);

const char *checkpoint_path(const struct checkpoint *cp);
/* Parsed files; config is never NULL, the others are NULL where the file is missing. */
const struct json *checkpoint_config(const struct checkpoint *cp);
const struct json *checkpoint_generation_config(const struct checkpoint *cp);
const struct json *checkpoint_tokenizer_config(const struct checkpoint *cp);

/* All tensors, sorted by name. */
size_t checkpoint_n_tensor(const struct checkpoint *cp);
const struct tensor *checkpoint_tensor_at(const struct checkpoint *cp, size_t i);
const struct tensor *checkpoint_find(const struct checkpoint *cp, const char *name);
/* Bytes of all tensors. */
uint64_t checkpoint_bytes(const struct checkpoint *cp);

/* A tensor that is of use while loading only: checkpoint_hold reads it into memory, checkpoint_release lets
 * its memory go, and checkpoint_populate leaves it out from then on. It may be read all the same. EX_IOERR
 * where the file cannot be read any more; -errno. */
int checkpoint_hold(const struct checkpoint *cp, const struct tensor *t, struct why *why);
void checkpoint_release(struct checkpoint *cp, const struct tensor *t);

/* Reads all weights into memory in slices (populates the maps); calls progress(ctx, fraction) in between,
 * and stops early, returning 0, where it returns false. The last fraction is 1. EX_IOERR where a file cannot
 * be read any more; -errno. */
typedef bool (*checkpoint_progress_fn)(void *ctx, double fraction);
int checkpoint_populate(struct checkpoint *cp, checkpoint_progress_fn progress, void *ctx, struct why *why);
