/* The tensor directory of a GGUF file: see gguf.h. Types and their blocks are ggml's (ggml.h, ggml-common.h).
 */
#include "config.h"
#include "src/weights/gguf_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum { MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8 }; /* of an entry of one dimension */

/* By ggml's number. A block of `count` elements takes `bytes` bytes; no name: there is no such type any more.
 */
static const struct block {
    const char *name;
    uint16_t count, bytes;
    int8_t type; /* enum lk_dtype or -1 */
} blocks[] = {
    [0] = {"F32", 1, 4, LK_F32},     [1] = {"F16", 1, 2, LK_F16},     [2] = {"Q4_0", 32, 18, -1},
    [3] = {"Q4_1", 32, 20, -1},      [6] = {"Q5_0", 32, 22, -1},      [7] = {"Q5_1", 32, 24, -1},
    [8] = {"Q8_0", 32, 34, -1},      [9] = {"Q8_1", 32, 36, -1},      [10] = {"Q2_K", 256, 84, -1},
    [11] = {"Q3_K", 256, 110, -1},   [12] = {"Q4_K", 256, 144, -1},   [13] = {"Q5_K", 256, 176, -1},
    [14] = {"Q6_K", 256, 210, -1},   [15] = {"Q8_K", 256, 292, -1},   [16] = {"IQ2_XXS", 256, 66, -1},
    [17] = {"IQ2_XS", 256, 74, -1},  [18] = {"IQ3_XXS", 256, 98, -1}, [19] = {"IQ1_S", 256, 50, -1},
    [20] = {"IQ4_NL", 32, 18, -1},   [21] = {"IQ3_S", 256, 110, -1},  [22] = {"IQ2_S", 256, 82, -1},
    [23] = {"IQ4_XS", 256, 136, -1}, [24] = {"I8", 1, 1, -1},         [25] = {"I16", 1, 2, -1},
    [26] = {"I32", 1, 4, -1},        [27] = {"I64", 1, 8, -1},        [28] = {"F64", 1, 8, -1},
    [29] = {"IQ1_M", 256, 56, -1},   [30] = {"BF16", 1, 2, LK_BF16},  [34] = {"TQ1_0", 256, 54, -1},
    [35] = {"TQ2_0", 256, 66, -1},   [39] = {"MXFP4", 32, 17, -1},
};

enum { N_BLOCK = sizeof blocks / sizeof blocks[0] };

/* The dimensions, which the file lists innermost first, and the bytes that follow from them. */
static int read_shape(struct gguf_reader *r, struct tensor *t, uint64_t *ret_n, uint64_t *ret_row)
{
    uint32_t n_dim = 0;
    uint64_t n = 1;
    int code = gguf_read_u32(r, t->name, &n_dim);
    if (code)
        return code;
    if (n_dim == 0 || n_dim > GGUF_MAX_DIM)
        return why_set(r->why, EX_DATAERR, "tensor '%s' has %u dimensions, must be 1 to %d", t->name, n_dim,
                       GGUF_MAX_DIM);
    t->n_dim = (int)n_dim;
    for (uint32_t i = n_dim; i-- > 0;) {
        code = gguf_read_u64(r, t->name, &t->dim[i]);
        if (code)
            return code;
        if (t->dim[i] == 0 || __builtin_mul_overflow(n, t->dim[i], &n) || n > INT64_MAX)
            return why_set(r->why, EX_DATAERR, "tensor '%s': dimension %u is %" PRIu64 ", which is %s",
                           t->name, n_dim - 1 - i, t->dim[i],
                           t->dim[i] ? "too large with the others" : "too small");
    }
    *ret_n = n;
    *ret_row = t->dim[n_dim - 1];
    return 0;
}

static int read_layout(struct gguf_reader *r, struct tensor *t, uint64_t n, uint64_t row)
{
    uint32_t type = 0;
    int code = gguf_read_u32(r, t->name, &type);
    if (code)
        return code;
    const struct block *block = type < N_BLOCK && blocks[type].name ? &blocks[type] : NULL;
    if (!block)
        return why_set(r->why, EX_DATAERR, "tensor '%s' has type %u, which is not known", t->name, type);
    if (row % block->count != 0)
        return why_set(r->why, EX_DATAERR,
                       "tensor '%s' has rows of %" PRIu64 " elements, type %s needs a multiple of %u",
                       t->name, row, block->name, block->count);
    if (__builtin_mul_overflow(n / block->count, (uint64_t)block->bytes, &t->n_byte))
        return why_set(r->why, EX_DATAERR, "tensor '%s' of %" PRIu64 " elements is too large", t->name, n);
    t->type = block->type;
    t->type_name = block->name;
    return 0;
}

/* One entry. Its offset is put into `data` as if the data began at the map's first byte. */
static int read_tensor(struct gguf_reader *r, struct tensor *t)
{
    uint64_t n = 0, row = 0, offset = 0;
    int code = gguf_copy_name(r, "a tensor's name", GGUF_MAX_NAME, &t->name);
    if (code == 0)
        code = read_shape(r, t, &n, &row);
    if (code == 0)
        code = read_layout(r, t, n, row);
    if (code == 0)
        code = gguf_read_u64(r, t->name, &offset);
    if (code)
        return code;
    if (offset % r->alignment != 0)
        return why_set(r->why, EX_DATAERR,
                       "tensor '%s' begins at byte %" PRIu64 ", which the alignment %zu does not divide",
                       t->name, offset, r->alignment);
    if (offset > r->n)
        return why_set(r->why, EX_DATAERR,
                       "tensor '%s' begins at byte %" PRIu64 " of the data, the file has %zu bytes", t->name,
                       offset, r->n);
    t->data = r->data + offset;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    const struct tensor *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static int compare_offsets(const void *a, const void *b)
{
    const struct tensor *left = a, *right = b;
    if (left->data != right->data)
        return left->data < right->data ? -1 : 1;
    return left->n_byte < right->n_byte ? -1 : left->n_byte > right->n_byte;
}

static int sort_names(struct gguf *file, struct why *why)
{
    file->by_name = arena_array(&file->arena, file->n_tensor, sizeof *file->by_name);
    if (!file->by_name)
        return -ENOMEM;
    for (size_t i = 0; i < file->n_tensor; i++)
        file->by_name[i] = &file->tensors[i];
    qsort(file->by_name, file->n_tensor, sizeof *file->by_name, compare_names);
    for (size_t i = 1; i < file->n_tensor; i++)
        if (strcmp(file->by_name[i - 1]->name, file->by_name[i]->name) == 0)
            return why_set(why, EX_DATAERR, "tensor '%s' is there twice", file->by_name[i]->name);
    return 0;
}

/* Moves the tensors to where their data lies: behind the directory, at the next multiple of the alignment. */
static int place(struct gguf_reader *r)
{
    struct gguf *file = r->file;
    size_t padding = (r->alignment - r->at % r->alignment) % r->alignment;
    if (file->n_tensor && padding > r->n - r->at)
        return gguf_short(r, padding, "the space before the tensors' data");
    size_t start = r->at + padding;
    uint64_t end = 0;
    for (size_t i = 0; i < file->n_tensor; i++) {
        struct tensor *t = &file->tensors[i];
        uint64_t offset = (uint64_t)((const uint8_t *)t->data - r->data);
        if (offset > r->n - start || t->n_byte > r->n - start - offset)
            return why_set(r->why, EX_DATAERR,
                           "tensor '%s' takes %" PRIu64 " bytes from byte %" PRIu64
                           " of the data, which has %zu bytes",
                           t->name, t->n_byte, offset, r->n - start);
        if (i && offset < end)
            return why_set(r->why, EX_DATAERR,
                           "tensor '%s' begins at byte %" PRIu64
                           ", inside tensor '%s', which ends at %" PRIu64,
                           t->name, offset, file->tensors[i - 1].name, end);
        end = offset + t->n_byte;
        t->data = r->data + start + offset;
    }
    return 0;
}

int gguf_read_tensors(struct gguf_reader *r, uint64_t n)
{
    struct gguf *file = r->file;
    if (n > GGUF_MAX_TENSOR)
        return why_set(r->why, EX_DATAERR, "%" PRIu64 " tensors, at most %d are allowed", n, GGUF_MAX_TENSOR);
    if (n > (r->n - r->at) / MIN_TENSOR_BYTES)
        return gguf_short(r, n * MIN_TENSOR_BYTES, "the tensor directory");
    file->tensors = arena_array(&file->arena, (size_t)n, sizeof *file->tensors);
    if (!file->tensors)
        return -ENOMEM;
    for (; file->n_tensor < n; file->n_tensor++) {
        int code = read_tensor(r, &file->tensors[file->n_tensor]);
        if (code)
            return code;
    }
    if (n)
        qsort(file->tensors, file->n_tensor, sizeof *file->tensors, compare_offsets);
    int code = sort_names(file, r->why);
    return code ? code : place(r);
}

size_t gguf_n_tensor(const struct gguf *file)
{
    return file->n_tensor;
}

const struct tensor *gguf_tensor_at(const struct gguf *file, size_t i)
{
    return &file->tensors[i];
}

static int compare_name(const void *name, const void *element)
{
    const struct tensor *const *t = element;
    return strcmp(name, (*t)->name);
}

const struct tensor *gguf_tensor_find(const struct gguf *file, const char *name)
{
    const struct tensor **found =
        file->n_tensor ? bsearch(name, file->by_name, file->n_tensor, sizeof *file->by_name, compare_name)
                       : NULL;
    return found ? *found : NULL;
}
