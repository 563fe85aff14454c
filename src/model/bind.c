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
    VECTOR_ALIGN = 64,  /* a cache line, and the widest load */
    WIDEN_CHUNK = 1024, /* floats widened at a time */
};

/* What older checkpoints carry although it follows from the configuration. */
static const char *const ignorable_suffixes[] = {".rotary_emb.inv_freq", ".masked_bias"};

struct bind_claim {
    const struct tensor *tensor;
    void *field;
    enum bind_kind kind;
};

static int compare_tensors(const void *a, const void *b)
{
    return strcmp((*(const struct tensor *const *)a)->name, (*(const struct tensor *const *)b)->name);
}

static int compare_name(const void *name, const void *tensor)
{
    return strcmp(name, (*(const struct tensor *const *)tensor)->name);
}

int bind_init(struct bind *bind, const struct checkpoint *checkpoint, struct arena *arena)
{
    size_t n = checkpoint_n_tensor(checkpoint);
    *bind = (struct bind){
        .checkpoint = checkpoint,
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

static int check(const struct tensor *t, const struct bind_row *row, struct why *why)
{
    int n_dim = row->kind == BIND_KIND_MATRIX ? 2 : 1;
    uint64_t want[BIND_MAX_DIM];
    bool is_same = t->n_dim == n_dim;
    for (int i = 0; i < n_dim; i++) {
        want[i] = (uint64_t)row->dim[i];
        is_same = is_same && t->dim[i] == want[i];
    }
    char got_text[192], want_text[64];
    if (!is_same)
        return why_set(why, EX_DATAERR, "tensor '%s' is %s, config.json asks for %s", t->name,
                       format_dims(got_text, sizeof got_text, t->dim, t->n_dim),
                       format_dims(want_text, sizeof want_text, want, n_dim));
    if (t->type < 0)
        return why_set(why, EX_DATAERR, "tensor '%s' has type %s, weights are F32, F16 or BF16", t->name,
                       t->type_name);
    return 0;
}

static void claim(struct bind *bind, size_t i, void *field, const struct bind_row *row)
{
    const struct tensor *t = bind->by_name[i];
    assert(!bind->is_taken[i]); /* two rows of a table with one name */
    bind->is_taken[i] = true;
    bind->claims[bind->n_claim++] = (struct bind_claim){.tensor = t, .field = field, .kind = row->kind};
    bind->n_byte += t->n_byte;
    bind->type_bytes[t->type] += t->n_byte;
    uint64_t n = (uint64_t)row->dim[0];
    if (row->kind == BIND_KIND_MATRIX) {
        n *= (uint64_t)row->dim[1];
        *(struct lk_mat *)field =
            (struct lk_mat){.type = (enum lk_dtype)t->type, .n_out = row->dim[0], .n_in = row->dim[1]};
    } else {
        bind->vector_bytes += ((size_t)n * sizeof(float) + VECTOR_ALIGN - 1) / VECTOR_ALIGN * VECTOR_ALIGN;
    }
    bind->n_param += n;
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
        size_t i = find(bind, name);
        if (i == bind->n_tensor)
            return why_set(why, EX_DATAERR, "tensor '%s' is missing", name);
        int r = check(bind->by_name[i], row, why);
        if (r)
            return r;
        claim(bind, i, (char *)base + row->offset, row);
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
            switch ((enum lk_dtype)t->type) {
            case LK_F16:
                chunk[i] = lk_f32_from_f16(((const uint16_t *)t->data)[from + i]);
                break;
            case LK_BF16:
                chunk[i] = lk_f32_from_bf16(((const uint16_t *)t->data)[from + i]);
                break;
            default:
                chunk[i] = ((const float *)t->data)[from + i];
            }
        for (size_t i = 0; i < n_chunk && is_offset; i++)
            chunk[i] += 1;
        be->ops->upload(be, dst + from, chunk, n_chunk * sizeof *chunk);
    }
}

int bind_place(const struct bind *bind, struct lk_backend *be, void *vectors)
{
    size_t at = 0;
    for (const struct bind_claim *c = bind->claims; c < bind->claims + bind->n_claim; c++) {
        if (c->kind == BIND_KIND_MATRIX) {
            struct lk_mat *mat = c->field;
            int r = be->ops->weights(be, c->tensor->data, c->tensor->n_byte, &mat->data);
            if (r)
                return r;
            continue;
        }
        size_t n = (size_t)c->tensor->dim[0];
        float *dst = (float *)((char *)vectors + at);
        place_vector(be, dst, c->tensor, n, c->kind == BIND_KIND_OFFSET);
        *(const float **)c->field = dst;
        at += (n * sizeof(float) + VECTOR_ALIGN - 1) / VECTOR_ALIGN * VECTOR_ALIGN;
    }
    assert(at == bind->vector_bytes);
    return 0;
}
