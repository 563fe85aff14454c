/* One safetensors file: see safetensors.h. The format is that of the README of
 * github.com/huggingface/safetensors, section "Format"; what is refused follows the reference implementation
 * there. */
#include "config.h"
#include "src/weights/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/arena.h"
#include "src/base/json.h"

enum { LENGTH_BYTES = 8 }; /* of the number before the header */

static const struct element_type {
    const char *name;
    unsigned bits;
    int type; /* enum lk_dtype or -1 */
} element_types[] = {
    {"F32", 32, LK_F32},    {"F16", 16, LK_F16},    {"BF16", 16, LK_BF16}, {"F64", 64, -1},
    {"I64", 64, -1},        {"I32", 32, -1},        {"I16", 16, -1},       {"I8", 8, -1},
    {"U64", 64, -1},        {"U32", 32, -1},        {"U16", 16, -1},       {"U8", 8, -1},
    {"BOOL", 8, -1},        {"C64", 64, -1},        {"F8_E5M2", 8, -1},    {"F8_E4M3", 8, -1},
    {"F8_E5M2FNUZ", 8, -1}, {"F8_E4M3FNUZ", 8, -1}, {"F8_E8M0", 8, -1},    {"F6_E2M3", 6, -1},
    {"F6_E3M2", 6, -1},     {"F4", 4, -1},
};

struct pair {
    const char *key, *value;
};

struct safetensors {
    struct mapfile map;
    struct arena arena; /* everything below */
    struct tensor *tensors;
    const struct tensor **by_name;
    size_t n_tensor;
    struct pair *metadata;
    size_t n_metadata;
};

/* What is known while a header is read. */
struct reader {
    struct safetensors *file;
    const uint8_t *data; /* after the header */
    uint64_t n_data;
};

static int out_of_memory(struct why *why)
{
    return why_set(why, -ENOMEM, "out of memory");
}

/* An offset into the data in bytes, from the pointer that a tensor has before its place is settled. */
static uint64_t begin_of(const struct reader *reader, const struct tensor *t)
{
    return (uint64_t)((const uint8_t *)t->data - reader->data);
}

/* A value for a sentence: a number as it is, of anything else its kind. */
static const char *describe(const struct json *v, char text[32])
{
    if (!json_is_number(v))
        return json_kind(v);
    snprintf(text, 32, "%.17g", json_number(v, 0));
    return text;
}

static const struct element_type *find_type(const char *name)
{
    for (size_t i = 0; i < sizeof element_types / sizeof *element_types; i++)
        if (strcmp(element_types[i].name, name) == 0)
            return &element_types[i];
    return NULL;
}

static int read_name(struct reader *reader, struct tensor *t, const char *key, struct why *why)
{
    t->name = arena_strdup(&reader->file->arena, key);
    if (!t->name)
        return out_of_memory(why);
    if (!*key)
        return why_set(why, EX_DATAERR, "a tensor without a name");
    for (const unsigned char *c = (const unsigned char *)key; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            return why_set(why, EX_DATAERR, "tensor '%s': the name holds the control character 0x%02x", key,
                           *c);
    return 0;
}

static int read_type(struct tensor *t, const struct json *entry, const struct element_type **ret_type,
                     struct why *why)
{
    const char *name = json_string(json_get(entry, "dtype"), NULL);
    if (!name)
        return why_set(why, EX_DATAERR, "tensor '%s': 'dtype' is %s, must be a string", t->name,
                       json_kind(json_get(entry, "dtype")));
    const struct element_type *type = find_type(name);
    if (!type)
        return why_set(why, EX_DATAERR, "tensor '%s': unknown type '%s'", t->name, name);
    t->type = type->type;
    t->type_name = type->name;
    *ret_type = type;
    return 0;
}

/* Also sets n_byte, to what the shape and the type ask for. */
static int read_shape(struct tensor *t, const struct json *entry, const struct element_type *type,
                      struct why *why)
{
    const struct json *shape = json_get(entry, "shape");
    if (!json_is_array(shape))
        return why_set(why, EX_DATAERR, "tensor '%s': 'shape' is %s, must be an array", t->name,
                       json_kind(shape));
    uint64_t n_bit = type->bits;
    char text[32];
    for (const struct json *v = json_first(shape); v; v = json_next(v)) {
        int64_t dim;
        if (t->n_dim == TENSOR_MAX_DIM)
            return why_set(why, EX_DATAERR, "tensor '%s' has %zu dimensions, at most %d are known", t->name,
                           json_count(shape), TENSOR_MAX_DIM);
        if (!json_is_whole(v, 0, INT64_MAX, &dim))
            return why_set(why, EX_DATAERR, "tensor '%s': dimension %d is %s, must be a whole number from 0",
                           t->name, t->n_dim, describe(v, text));
        t->dim[t->n_dim++] = (uint64_t)dim;
        if (__builtin_mul_overflow(n_bit, (uint64_t)dim, &n_bit))
            return why_set(why, EX_DATAERR,
                           "tensor '%s': its shape is too large, at dimension %d of %" PRId64, t->name,
                           t->n_dim - 1, dim);
    }
    if (n_bit % 8 != 0)
        return why_set(why, EX_DATAERR, "tensor '%s': %" PRIu64 " bits of type %s are no whole bytes",
                       t->name, n_bit, type->name);
    t->n_byte = n_bit / 8;
    return 0;
}

static int read_offsets(const struct reader *reader, struct tensor *t, const struct json *entry,
                        struct why *why)
{
    const struct json *offsets = json_get(entry, "data_offsets"), *first = json_first(offsets);
    if (!json_is_array(offsets) || json_count(offsets) != 2)
        return why_set(why, EX_DATAERR, "tensor '%s': 'data_offsets' must be an array of two numbers",
                       t->name);
    int64_t begin, end;
    char text[2][32];
    if (!json_is_whole(first, 0, INT64_MAX, &begin) || !json_is_whole(json_next(first), 0, INT64_MAX, &end))
        return why_set(why, EX_DATAERR,
                       "tensor '%s': 'data_offsets' are %s and %s, must be whole numbers from 0", t->name,
                       describe(first, text[0]), describe(json_next(first), text[1]));
    if (begin > end)
        return why_set(why, EX_DATAERR,
                       "tensor '%s' begins at byte %" PRId64 " and ends before it, at %" PRId64, t->name,
                       begin, end);
    if ((uint64_t)end > reader->n_data)
        return why_set(why, EX_DATAERR,
                       "tensor '%s' ends at byte %" PRId64 ", but the file has %" PRIu64 " bytes of data",
                       t->name, end, reader->n_data);
    if ((uint64_t)(end - begin) != t->n_byte)
        return why_set(why, EX_DATAERR,
                       "tensor '%s' has %" PRId64 " bytes, its shape of type %s needs %" PRIu64, t->name,
                       end - begin, t->type_name, t->n_byte);
    t->data = reader->data + begin;
    return 0;
}

static int read_tensor(struct reader *reader, struct tensor *t, const struct json *entry, struct why *why)
{
    const struct element_type *type = NULL;
    int r = read_name(reader, t, json_key(entry), why);
    if (r == 0 && !json_is_object(entry))
        r = why_set(why, EX_DATAERR, "tensor '%s' is %s, must be an object", t->name, json_kind(entry));
    r = r ? r : read_type(t, entry, &type, why);
    r = r ? r : read_shape(t, entry, type, why);
    return r ? r : read_offsets(reader, t, entry, why);
}

static int read_metadata(struct safetensors *file, const struct json *object, struct why *why)
{
    if (file->metadata)
        return why_set(why, EX_DATAERR, "'__metadata__' is there twice");
    if (json_is_null(object))
        return 0; /* as some writers say that there is none */
    if (!json_is_object(object))
        return why_set(why, EX_DATAERR, "'__metadata__' is %s, must be an object", json_kind(object));
    file->metadata = arena_array(&file->arena, json_count(object), sizeof *file->metadata);
    if (!file->metadata)
        return out_of_memory(why);
    for (const struct json *v = json_first(object); v; v = json_next(v)) {
        if (!json_is_string(v))
            return why_set(why, EX_DATAERR, "'__metadata__': '%s' is %s, must be a string", json_key(v),
                           json_kind(v));
        struct pair *pair = &file->metadata[file->n_metadata++];
        pair->key = arena_strdup(&file->arena, json_key(v));
        pair->value = arena_strdup(&file->arena, json_string(v, ""));
        if (!pair->key || !pair->value)
            return out_of_memory(why);
    }
    return 0;
}

static int compare_data(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    uintptr_t x_begin = (uintptr_t)x->data, y_begin = (uintptr_t)y->data;
    if (x_begin != y_begin)
        return x_begin < y_begin ? -1 : 1;
    return (x->n_byte > y->n_byte) - (x->n_byte < y->n_byte);
}

/* Sorts the tensors by their data, which must be the whole data, each byte once. */
static int check_layout(const struct reader *reader, struct why *why)
{
    struct safetensors *file = reader->file;
    qsort(file->tensors, file->n_tensor, sizeof *file->tensors, compare_data);
    uint64_t end = 0;
    for (size_t i = 0; i < file->n_tensor; i++) {
        const struct tensor *t = &file->tensors[i];
        uint64_t begin = begin_of(reader, t);
        if (begin < end)
            return why_set(why, EX_DATAERR,
                           "tensor '%s' begins at byte %" PRIu64 ", inside '%s', which ends at %" PRIu64,
                           t->name, begin, file->tensors[i - 1].name, end);
        if (begin > end)
            return why_set(why, EX_DATAERR,
                           "no tensor has the bytes from %" PRIu64 " to %" PRIu64 ", where '%s' begins", end,
                           begin, t->name);
        end = begin + t->n_byte;
    }
    if (end != reader->n_data)
        return why_set(why, EX_DATAERR,
                       "the tensors end at byte %" PRIu64 ", but the file has %" PRIu64 " bytes of data", end,
                       reader->n_data);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct tensor *const *)a)->name, (*(const struct tensor *const *)b)->name);
}

/* Fills by_name; refuses what is there twice. */
static int index_names(struct safetensors *file, struct why *why)
{
    file->by_name = arena_array(&file->arena, file->n_tensor, sizeof *file->by_name);
    if (!file->by_name)
        return out_of_memory(why);
    for (size_t i = 0; i < file->n_tensor; i++)
        file->by_name[i] = &file->tensors[i];
    qsort(file->by_name, file->n_tensor, sizeof *file->by_name, compare_names);
    for (size_t i = 1; i < file->n_tensor; i++)
        if (strcmp(file->by_name[i - 1]->name, file->by_name[i]->name) == 0)
            return why_set(why, EX_DATAERR, "tensor '%s' is there twice", file->by_name[i]->name);
    return 0;
}

/* Kernels load whole elements; data that the file does not align for that is copied. */
static int align_data(struct safetensors *file, struct why *why)
{
    for (size_t i = 0; i < file->n_tensor; i++) {
        struct tensor *t = &file->tensors[i];
        unsigned bytes = find_type(t->type_name)->bits / 8;
        if (bytes < 2 || (uintptr_t)t->data % bytes == 0)
            continue;
        void *copy = arena_array(&file->arena, t->n_byte, 1);
        if (!copy)
            return why_set(why, -ENOMEM,
                           "out of memory for a copy of tensor '%s' of %" PRIu64
                           " bytes, which the file does not align",
                           t->name, t->n_byte);
        memcpy(copy, t->data, t->n_byte);
        t->data = copy;
    }
    return 0;
}

static int read_entries(struct reader *reader, const struct json *header, struct why *why)
{
    struct safetensors *file = reader->file;
    size_t n_entry = json_count(header);
    file->tensors = arena_array(&file->arena, n_entry, sizeof *file->tensors);
    if (!file->tensors)
        return out_of_memory(why);
    for (const struct json *entry = json_first(header); entry; entry = json_next(entry)) {
        int r;
        if (strcmp(json_key(entry), "__metadata__") == 0)
            r = read_metadata(file, entry, why);
        else if (file->n_tensor == SAFETENSORS_MAX_TENSOR)
            r = why_set(why, EX_DATAERR, "%zu tensors, at most %d are read", n_entry, SAFETENSORS_MAX_TENSOR);
        else
            r = read_tensor(reader, &file->tensors[file->n_tensor++], entry, why);
        if (r != 0)
            return r;
    }
    return 0;
}

/* cJSON would cut a string at U+0000 and let two names become one. */
static bool has_escaped_zero(const uint8_t *text, size_t n)
{
    for (size_t i = 0; i + 6 <= n; i++) {
        if (text[i] != '\\')
            continue;
        if (memcmp(text + i, "\\u0000", 6) == 0)
            return true;
        i++; /* the escaped character */
    }
    return false;
}

static int read_header(struct safetensors *file, struct why *why)
{
    const struct mapfile *map = &file->map;
    if (map->n < LENGTH_BYTES)
        return why_set(why, EX_DATAERR, "%zu bytes, a safetensors file has at least %d", map->n,
                       LENGTH_BYTES);
    uint64_t n_header = 0;
    for (int i = 0; i < LENGTH_BYTES; i++)
        n_header |= (uint64_t)map->data[i] << 8 * i;
    if (n_header > SAFETENSORS_MAX_HEADER)
        return why_set(why, EX_DATAERR,
                       "a header of %" PRIu64 " bytes, at most %d are read; is it safetensors?", n_header,
                       SAFETENSORS_MAX_HEADER);
    if (n_header > map->n - LENGTH_BYTES)
        return why_set(why, EX_DATAERR, "a header of %" PRIu64 " bytes in a file of %zu: the file is cut",
                       n_header, map->n);
    const uint8_t *text = map->data + LENGTH_BYTES;
    if (n_header == 0 || text[0] != '{')
        return why_set(why, EX_DATAERR, "the header of %" PRIu64 " bytes does not begin with '{'", n_header);
    if (has_escaped_zero(text, n_header))
        return why_set(why, EX_DATAERR, "the header holds the character U+0000");
    struct json *header;
    int r = json_parse(&header, text, n_header, why);
    if (r != 0)
        return why_prefix(why, r, "header");
    struct reader reader = {
        .file = file, .data = text + n_header, .n_data = map->n - LENGTH_BYTES - n_header};
    r = read_entries(&reader, header, why);
    json_free(header);
    r = r ? r : check_layout(&reader, why); /* sorts, so that the index comes after it */
    return r ? r : index_names(file, why);
}

int safetensors_open(struct safetensors **ret_file, const char *path, struct why *why)
{
    struct safetensors *file = calloc(1, sizeof *file);
    if (!file)
        return out_of_memory(why);
    int r = mapfile_open(&file->map, path, why);
    if (r == 0) {
        r = read_header(file, why);
        r = r ? r : align_data(file, why);
        if (r != 0)
            r = why_prefix(why, r, "%s", path);
    }
    if (r != 0) {
        safetensors_free(file);
        return r;
    }
    *ret_file = file;
    return 0;
}

struct safetensors *safetensors_free(struct safetensors *file)
{
    if (file) {
        mapfile_close(&file->map);
        arena_deinit(&file->arena);
        free(file);
    }
    return NULL;
}

size_t safetensors_count(const struct safetensors *file)
{
    return file->n_tensor;
}

const struct tensor *safetensors_at(const struct safetensors *file, size_t i)
{
    return &file->tensors[i];
}

const struct tensor *safetensors_find(const struct safetensors *file, const char *name)
{
    struct tensor wanted = {.name = name};
    const struct tensor *key = &wanted,
                        **found = bsearch(&key, file->by_name, file->n_tensor, sizeof key, compare_names);
    return found ? *found : NULL;
}

const char *safetensors_metadata(const struct safetensors *file, const char *key)
{
    for (size_t i = 0; i < file->n_metadata; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    return NULL;
}

size_t safetensors_n_metadata(const struct safetensors *file)
{
    return file->n_metadata;
}

void safetensors_metadata_at(const struct safetensors *file, size_t i, const char **ret_key,
                             const char **ret_value)
{
    *ret_key = file->metadata[i].key;
    *ret_value = file->metadata[i].value;
}

const struct mapfile *safetensors_map(const struct safetensors *file)
{
    return &file->map;
}
