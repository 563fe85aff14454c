/* Table-driven binding of tensors: see bind.h. */
#include "config.h"

#include "src/model/bind.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    WIDEN_CHUNK = 1024, /* floats widened at a time */
};

/* What older checkpoints carry although it follows from the configuration. */
static const char *const ignorable_suffixes[] = {".rotary_emb.inv_freq", ".masked_bias"};

/* A tensor for a field, or a copy. */
struct bind_claim {
    const struct tensor *tensor;
    void *field;
    enum bind_kind kind;
    const struct bind_copy *copy; /* NULL: the former */
};

static int compare_tensors(const void *a, const void *b)
{
    return strcmp((*(const struct tensor *const *)a)->name, (*(const struct tensor *const *)b)->name);
}

static int compare_name(const void *name, const void *tensor)
{
    return strcmp(name, (*(const struct tensor *const *)tensor)->name);
}

int bind_init(struct bind *bind, struct checkpoint *checkpoint, struct arena *arena)
{
    size_t n = checkpoint_n_tensor(checkpoint);
    *bind = (struct bind){
        .checkpoint = checkpoint,
        .arena = arena,
        .by_name = arena_array(arena, n, sizeof *bind->by_name),
        .claims = arena_array(arena, n, sizeof *bind->claims),
        .is_taken = arena_array(arena, n, sizeof *bind->is_taken),
        .n_tensor = n,
    };
    if (!bind->by_name || !bind->claims || !bind->is_taken)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        bind->by_name[i] = checkpoint_tensor_at(checkpoint, i);
    qsort(bind->by_name, n, sizeof *bind->by_name, compare_tensors);
    return 0;
}

/* Index into by_name, or n_tensor. */
static size_t find(const struct bind *bind, const char *name)
{
    const struct tensor **found = bsearch(name, bind->by_name, bind->n_tensor, sizeof *found, compare_name);
    return found ? (size_t)(found - bind->by_name) : bind->n_tensor;
}

static const char *format_dims(char *text, size_t n, const uint64_t *dim, int n_dim)
{
    size_t at = (size_t)snprintf(text, n, "[");
    for (int i = 0; i < n_dim && at < n; i++)
        at += (size_t)snprintf(text + at, n - at, "%s%" PRIu64, i ? "," : "", dim[i]);
    if (at < n)
        snprintf(text + at, n - at, "]");
    return text;
}

static int check_dims(const struct tensor *t, const int32_t *dim, int n_dim, struct why *why)
{
    uint64_t want[BIND_MAX_DIM];
    bool is_same = t->n_dim == n_dim;
    for (int i = 0; i < n_dim; i++) {
        want[i] = (uint64_t)dim[i];
        is_same = is_same && t->dim[i] == want[i];
    }
    char got_text[192], want_text[64];
    if (!is_same)
        return why_set(why, EX_DATAERR, "tensor '%s' is %s, config.json asks for %s", t->name,
                       format_dims(got_text, sizeof got_text, t->dim, t->n_dim),
                       format_dims(want_text, sizeof want_text, want, n_dim));
    return 0;
}

static int check_type(const struct tensor *t, bool is_bytes, struct why *why)
{
    if (is_bytes && strcmp(t->type_name, "U8") != 0)
        return why_set(why, EX_DATAERR, "tensor '%s' has type %s, must be U8", t->name, t->type_name);
    if (!is_bytes && t->type < 0)
        return why_set(why, EX_DATAERR, "tensor '%s' has type %s, weights are F32, F16 or BF16", t->name,
                       t->type_name);
    return 0;
}

static size_t aligned(size_t n_byte)
{
    return (n_byte + BIND_ALIGN - 1) / BIND_ALIGN * BIND_ALIGN;
}

/* type -1: the tensor's own; else it holds bytes that count as of this type. */
static int take(struct bind *bind, const char *name, const int32_t *dim, int n_dim, int type,
                const struct tensor **ret_tensor, struct why *why)
{
    size_t i = find(bind, name);
    if (i == bind->n_tensor)
        return why_set(why, EX_DATAERR, "tensor '%s' is missing", name);
    const struct tensor *t = bind->by_name[i];
    int r = check_dims(t, dim, n_dim, why);
    r = r ? r : check_type(t, type >= 0, why);
    if (r)
        return r;
    assert(!bind->is_taken[i]); /* two rows of a table with one name */
    bind->is_taken[i] = true;
    bind->n_byte += t->n_byte;
    bind->type_bytes[type < 0 ? t->type : type] += t->n_byte;
    *ret_tensor = t;
    return 0;
}

static int take_for_copy(struct bind *bind, const char *name, const int32_t *dim, int n_dim, int type,
                         const struct tensor **ret_tensor, struct why *why)
{
    int r = take(bind, name, dim, n_dim, type, ret_tensor, why);
    if (!r)
        bind->copied_bytes += (*ret_tensor)->n_byte;
    return r;
}

int bind_take(struct bind *bind, const char *name, const int32_t *dim, int n_dim,
              const struct tensor **ret_tensor, struct why *why)
{
    return take_for_copy(bind, name, dim, n_dim, -1, ret_tensor, why);
}

int bind_take_bytes(struct bind *bind, const char *name, const int32_t *dim, int n_dim, enum lk_dtype type,
                    const struct tensor **ret_tensor, struct why *why)
{
    return take_for_copy(bind, name, dim, n_dim, (int)type, ret_tensor, why);
}

void bind_add_copy(struct bind *bind, const struct bind_copy *copy)
{
    bind->claims[bind->n_claim++] = (struct bind_claim){.copy = copy};
    bind->n_param += copy->n_param;
    bind->placed_bytes += aligned(copy->n_byte);
}

static void claim(struct bind *bind, const struct tensor *t, void *field, const struct bind_row *row)
{
    bind->claims[bind->n_claim++] = (struct bind_claim){.tensor = t, .field = field, .kind = row->kind};
    bind->n_param += t->n_byte / lk_dtype_bytes((enum lk_dtype)t->type, 1);
    if (row->kind == BIND_KIND_MATRIX)
        *(struct lk_mat *)field =
            (struct lk_mat){.type = (enum lk_dtype)t->type, .n_out = row->dim[0], .n_in = row->dim[1]};
    else
        bind->placed_bytes += aligned((size_t)row->dim[0] * sizeof(float));
}

int bind_rows(struct bind *bind, void *base, const struct bind_row *rows, size_t n_row, struct why *why,
              const char *prefix, ...)
{
    char name[BIND_MAX_NAME];
    va_list args;
    va_start(args, prefix);
    int n = vsnprintf(name, sizeof name, prefix, args);
    va_end(args);
    assert(n >= 0 && (size_t)n < sizeof name);
    for (const struct bind_row *row = rows; row < rows + n_row; row++) {
        if (row->absent)
            continue;
        snprintf(name + n, sizeof name - (size_t)n, "%s", row->name);
        const struct tensor *t;
        int r = take(bind, name, row->dim, row->kind == BIND_KIND_MATRIX ? 2 : 1, -1, &t, why);
        if (r)
            return r;
        claim(bind, t, (char *)base + row->offset, row);
    }
    return 0;
}

void bind_ignore(struct bind *bind, const char *name)
{
    size_t i = find(bind, name);
    if (i < bind->n_tensor)
        bind->is_taken[i] = true;
}

static bool is_ignorable(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ignorable_suffixes / sizeof *ignorable_suffixes; i++) {
        size_t n_suffix = strlen(ignorable_suffixes[i]);
        if (n >= n_suffix && !strcmp(name + n - n_suffix, ignorable_suffixes[i]))
            return true;
    }
    return false;
}

int bind_finish(const struct bind *bind, struct why *why)
{
    const char *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < bind->n_tensor; i++)
        if (!bind->is_taken[i] && !is_ignorable(bind->by_name[i]->name) && n++ == 0)
            first = bind->by_name[i]->name;
    if (n == 0)
        return 0;
    if (n == 1)
        return why_set(why, EX_DATAERR, "tensor '%s' has no place in the model that config.json describes",
                       first);
    return why_set(why, EX_DATAERR,
                   "tensor '%s' has no place in the model that config.json describes, nor have %zu more",
                   first, n - 1);
}

/* Widens a vector into back end memory, adding 1 if it is an offset. */
static void place_vector(struct lk_backend *be, float *dst, const struct tensor *t, size_t n, bool is_offset)
{
    float chunk[WIDEN_CHUNK];
    for (size_t from = 0; from < n; from += WIDEN_CHUNK) {
        size_t n_chunk = n - from < WIDEN_CHUNK ? n - from : WIDEN_CHUNK;
        for (size_t i = 0; i < n_chunk; i++)
            chunk[i] = tensor_value(t, from + i) + (is_offset ? 1 : 0);
        be->ops->upload(be, dst + from, chunk, n_chunk * sizeof *chunk);
    }
}

static int place_copy(const struct bind *bind, struct lk_backend *be, const struct bind_copy *copy, char *mem,
                      struct why *why)
{
    int r = 0;
    for (int i = 0; i < BIND_MAX_SOURCE && copy->source[i] && !r; i++)
        r = checkpoint_hold(bind->checkpoint, copy->source[i], why);
    if (r)
        return r;
    copy->place(copy, be, mem);
    for (int i = 0; i < BIND_MAX_SOURCE && copy->source[i]; i++)
        checkpoint_release(bind->checkpoint, copy->source[i]);
    return 0;
}

int bind_place(const struct bind *bind, struct lk_backend *be, void *mem, bind_progress_fn progress,
               void *ctx, struct why *why)
{
    size_t at = 0;
    for (const struct bind_claim *c = bind->claims; c < bind->claims + bind->n_claim; c++) {
        if (c->copy) {
            if (!progress(ctx, (double)at / (double)bind->placed_bytes))
                return 0;
            int r = place_copy(bind, be, c->copy, (char *)mem + at, why);
            if (r)
                return r;
            at += aligned(c->copy->n_byte);
            continue;
        }
        if (c->kind == BIND_KIND_MATRIX) {
            struct lk_mat *mat = c->field;
            int r = be->ops->weights(be, c->tensor->data, c->tensor->n_byte, &mat->data);
            if (r)
                return r;
            continue;
        }
        size_t n = (size_t)c->tensor->dim[0];
        float *dst = (float *)((char *)mem + at);
        place_vector(be, dst, c->tensor, n, c->kind == BIND_KIND_OFFSET);
        *(const float **)c->field = dst;
        at += aligned(n * sizeof(float));
    }
    assert(at == bind->placed_bytes);
    return 0;
}
