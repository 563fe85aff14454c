/* Tensors of a checkpoint become the weights of an architecture: by table, strictly.
 *
 * Binding has two halves. First every weight is claimed: bind_rows checks name, type and shape, bind_finish
 * that nothing is left over (a bias that nobody reads would silently give wrong text). Then bind_place gives
 * the fields their memory: matrices are used where they lie in the map, in their stored type; vectors (norm
 * weights and biases, less than a thousandth of the bytes) are widened to float32 once, exactly, so that each
 * operation on them exists once. Weights that no operation can use as they lie are copied (struct bind_copy).
 * A check of a model stops after the first half. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/backend.h"
#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/weights/checkpoint.h"

enum {
    BIND_MAX_DIM = 4,    /* of a weight */
    BIND_ALIGN = 64,     /* of a vector or a copy: a cache line, and the widest load */
    BIND_MAX_NAME = 256, /* bytes of a tensor's name, the end included */
    BIND_MAX_SOURCE = 2, /* tensors of a copy */
};

enum bind_kind {
    BIND_KIND_MATRIX, /* field: struct lk_mat [dim[0]][dim[1]] */
    BIND_KIND_VECTOR, /* field: const float *, [dim[0]] */
    BIND_KIND_OFFSET, /* likewise; stored as w, used as 1 + w */
};

/* One weight of an architecture. */
struct bind_row {
    const char *name; /* after the prefix given to bind_rows */
    size_t offset;    /* of the field */
    enum bind_kind kind;
    int32_t dim[BIND_MAX_DIM];
    bool
        absent; /* this model has none: the field stays zero, and the tensor is an extra one if it is there */
};

/* BIND_MATRIX(struct llama_layer, wq): offset and kind of a row, checked against the field's type. */
#define BIND_FIELD(type, field, want, kind) \
    (offsetof(type, field) + 0 * sizeof(char[_Generic(((type *)0)->field, want : 1, default : -1)])), kind
#define BIND_MATRIX(type, field) BIND_FIELD(type, field, struct lk_mat, BIND_KIND_MATRIX)
#define BIND_VECTOR(type, field) BIND_FIELD(type, field, const float *, BIND_KIND_VECTOR)
#define BIND_OFFSET(type, field) BIND_FIELD(type, field, const float *, BIND_KIND_OFFSET)

/* Weights that are laid out anew, from tensors of bind_take. */
struct bind_copy {
    const struct tensor *source[BIND_MAX_SOURCE]; /* NULL: no further one */
    uint64_t n_param;
    size_t n_byte; /* of back end memory */
    /* Fills mem, aligned to BIND_ALIGN bytes, and sets the fields that point there. */
    void (*place)(const struct bind_copy *copy, struct lk_backend *be, char *mem);
};

/* fraction: 0 to 1 of what bind_place has to do; false stops it. */
typedef bool (*bind_progress_fn)(void *ctx, double fraction);

struct bind {
    struct checkpoint *checkpoint;
    struct arena *arena;
    const struct tensor **by_name; /* [n_tensor], sorted */
    struct bind_claim *claims;     /* [n_claim] */
    bool *is_taken;                /* [n_tensor], in the order of by_name */
    size_t n_tensor, n_claim;

    /* Of the claimed tensors: */
    uint64_t n_param, n_byte;
    uint64_t type_bytes[LK_N_DTYPE];
    size_t placed_bytes; /* of back end memory that bind_place will need */
    size_t copied_bytes; /* in the file, of tensors that bind_copy's lay out anew: of no use afterwards */
};

/* Everything a bind points to is in the arena. 0, -ENOMEM. */
int bind_init(struct bind *bind, struct checkpoint *checkpoint, struct arena *arena);
/* Claims the tensors named prefix (a format) + row name for the fields of *base. EX_DATAERR: missing,
 * misshapen or of a type that is no weight, with name, got and want. */
int bind_rows(struct bind *bind, void *base, const struct bind_row *rows, size_t n_row, struct why *why,
              const char *prefix, ...) __attribute__((format(printf, 6, 7)));
/* Claims one tensor of these dimensions for a copy. EX_DATAERR as bind_rows. */
int bind_take(struct bind *bind, const char *name, const int32_t *dim, int n_dim,
              const struct tensor **ret_tensor, struct why *why);
/* Likewise one of bytes (U8) that are a part of weights of this type. */
int bind_take_bytes(struct bind *bind, const char *name, const int32_t *dim, int n_dim, enum lk_dtype type,
                    const struct tensor **ret_tensor, struct why *why);
/* The copy must live as long as the bind. As many may be added as tensors were taken. */
void bind_add_copy(struct bind *bind, const struct bind_copy *copy);
/* Allows a tensor that this model does not need. */
void bind_ignore(struct bind *bind, const char *name);
/* EX_DATAERR: a tensor that nobody claimed, by name. */
int bind_finish(const struct bind *bind, struct why *why);
/* Gives all fields their data. mem: placed_bytes of back end memory, aligned to BIND_ALIGN bytes, which must
 * live as long as the fields are used. Calls progress between copies; stopped by it, returns 0 early, and the
 * fields are of no use. Sources of copies are held for no longer than it takes. Codes of the back end's
 * `weights` and of checkpoint_hold. */
int bind_place(const struct bind *bind, struct lk_backend *be, void *mem, bind_progress_fn progress,
               void *ctx, struct why *why);
