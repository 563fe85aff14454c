/* A loaded model: the engine sees this and nothing below it.
 *
 * A forward pass takes rows of one or many sequences, each row one token at one position, and leaves logits
 * for the rows that were asked for. Which pages hold whose keys and values is the caller's business; a
 * sequence's state is its page list and its length, nothing else. One thread uses a model at a time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/backend.h"
#include "src/base/err.h"

struct model;

enum {
    MODEL_DEFAULT_CONTEXT = 16384, /* the most that is taken without being asked for */
    MODEL_MAX_END = 64,            /* end ids */
    MODEL_MAX_LOGIT_ROW = 64,      /* rows whose logits one step can deliver */
};

struct model_options {
    const char *path;
    const char *device; /* "cpu" */
    const char *level;  /* see struct lk_options */
    int32_t n_thread;
    int32_t n_ctx;         /* 0: the default rule */
    int32_t max_row;       /* rows of a step at most */
    bool verify;           /* look for weights that are no numbers */
    const char *trace_dir; /* see src/model/tracefile.h; NULL: no trace */
};

/* Sampling defaults of generation_config.json; NaN or -1 where it says nothing. */
struct model_defaults {
    float temperature, top_p, min_p, typical_p, repeat_penalty;
    int32_t top_k;
};

struct model_info {
    const char *path;
    const char *arch; /* "llama" */
    const char *type; /* of most weight bytes: "BF16" */
    uint64_t type_bytes[LK_N_DTYPE];
    const char *device; /* "cpu" */
    const char *level;  /* "avx512" */
    int32_t n_layer, n_head, n_kv_head, head_dim, dim, ff_dim, n_vocab;
    int32_t window, n_window_layer; /* positions that so many layers see; 0 layers: all see all */
    int32_t n_expert, n_expert_chosen, expert_dim, n_expert_layer; /* mixtures; n_expert 0: none */
    int32_t n_ctx_train;                                           /* the model's own limit */
    int32_t n_ctx;                                                 /* the limit in force */
    uint64_t n_param, weight_bytes, kv_bytes, scratch_bytes, available_bytes;
    uint64_t copied_bytes; /* of the weights: not used where they lie in the file */
    int32_t n_thread, max_row;
    uint64_t fingerprint; /* of configuration and tensor directory: two models that differ here differ */
    int32_t end[MODEL_MAX_END];
    int32_t n_end; /* ends of config.json, generation_config.json */
    struct model_defaults defaults;
};

/* progress(ctx, fraction 0..1, phase); returning false stops the load with EX_TEMPFAIL. */
typedef bool (*model_progress_fn)(void *ctx, double fraction, const char *phase);

/* Loads a model: reads, checks, binds, reserves memory, commits KV pages, lays out weights that are copied,
 * populates the others, verifies all if wanted, warms up. 0; <sysexits.h> codes as in src/base/err.h with a
 * sentence; -errno.
 */
int model_open(struct model **ret_model, const struct model_options *options, model_progress_fn progress,
               void *ctx, struct why *why);
/* Checks everything that model_open would, without reading the weights (unless they are to be verified) or
 * committing memory; info is valid as long as the model. A model opened so cannot compute. */
int model_check(struct model **ret_model, const struct model_options *options, struct why *why);
struct model *model_free(struct model *model);

const struct model_info *model_info(const struct model *model);

/* Pages in the KV pool: enough for one sequence of n_ctx positions. */
int32_t model_n_page(const struct model *model);
/* Window pages in the KV pool (kernels/kv.h): so many are enough for a sequence of any length that names them
 * in turn. 0: no layer has a window. */
int32_t model_n_window_page(const struct model *model);

/* One step. logit_rows[n_logit] are the rows whose logits are wanted (n_logit may be 0, at most
 * MODEL_MAX_LOGIT_ROW). A span's length is what its sequence may reach (prompt and max_tokens): variants of
 * RoPE that depend on it choose by that. 0, LK_E_ABORTED (nothing has changed), -errno (of a trace that
 * cannot be written, too). */
struct model_batch {
    struct lk_batch rows;
    const int32_t *logit_rows; /* [n_logit] */
    int32_t n_logit;
};
int model_forward(struct model *model, const struct model_batch *batch, const atomic_bool *abort);
/* Logits [n_vocab] of the i-th wanted row of the last step, in host memory until the next step. */
const float *model_logits(const struct model *model, int32_t i);

/* Every named intermediate of later steps goes to fn (NULL: none). For tests. */
void model_trace(struct model *model, lk_trace_fn fn, void *ctx);
