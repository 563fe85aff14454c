/* What an architecture file provides. See ARCHITECTURE.md, "Anatomy of an architecture". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/json.h"

struct bind;
struct lk_backend;
struct model_batch;

/* A mixture's sizes, for who asks. */
struct arch_experts {
    int32_t n, n_chosen; /* of a layer; for a token. n 0: there is no mixture */
    int32_t ff_dim;      /* of one expert */
    int32_t n_layer;     /* layers that are mixtures */
};

/* Sizes every architecture has; the engine and the page pool need no more. */
struct arch_shape {
    int32_t n_layer, n_head, n_kv_head, head_dim, dim, ff_dim, n_vocab;
    int32_t n_ctx;         /* the model's own limit */
    const int32_t *window; /* [n_layer]: positions that a layer sees, its own included; 0: all. NULL: every
                              layer sees all. In the arena */
    struct arch_experts experts;
};

/* One step as an architecture sees it. */
struct arch_step {
    struct lk_backend *be;
    const struct model_batch *batch;
    void *scratch; /* scratch_bytes(self, max_row) of back end memory, aligned to 64 bytes */
    float *logits; /* [n_logit][n_vocab], back end memory */
};

struct arch {
    const char *name;               /* "llama" */
    const char *const *model_types; /* config.json's model_type, NULL-terminated; case does not matter */
    const char *const *classes;     /* config.json's architectures[0], likewise */

    /* Reads config.json into *ret_shape and a private struct in the arena. EX_DATAERR, -ENOMEM. */
    int (*read_config)(const struct json *config, struct arena *arena, struct arch_shape *ret_shape,
                       void **ret_self, struct why *why);
    /* Claims every weight (src/model/bind.h). EX_DATAERR. */
    int (*bind)(void *self, struct bind *bind, struct why *why);
    /* Bytes of scratch that a step of at most max_row rows needs. */
    size_t (*scratch_bytes)(const void *self, int32_t max_row);
    /* Records one step. */
    void (*forward)(const void *self, const struct arch_step *step);
};

/* arch_llama and so on. */
#define ARCH(name) extern const struct arch arch_##name;
#include "src/model/arch_list.def"
#undef ARCH

/* The architecture that config.json asks for: by model_type, else by architectures[0]. EX_DATAERR with the
 * list of those that exist, by their model_type. */
int arch_find(const struct json *config, const struct arch **ret_arch, struct why *why);
