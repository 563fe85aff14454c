/* One GGUF file: see gguf.h. Header and metadata are here, the tensor directory is in gguf_tensors.c. */
#include "config.h"
#include "src/weights/gguf.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/weights/gguf_parts.h"

enum {
    MIN_VALUE_BYTES = 8 + 4 + 1, /* of a metadata value: length of the key, type, one byte */
    MAX_NESTING = 2,             /* an array of arrays, not more */
    DEFAULT_ALIGNMENT = 32,
};

static const uint8_t magic[] = {'G', 'G', 'U', 'F'};

static const struct {
    const char *name;
    uint8_t bytes; /* 0: no fixed size */
} types[GGUF_N_TYPE] = {
    [GGUF_U8] = {"uint8", 1},    [GGUF_I8] = {"int8", 1},    [GGUF_U16] = {"uint16", 2},
    [GGUF_I16] = {"int16", 2},   [GGUF_U32] = {"uint32", 4}, [GGUF_I32] = {"int32", 4},
    [GGUF_F32] = {"float32", 4}, [GGUF_BOOL] = {"bool", 1},  [GGUF_STRING] = {"string", 0},
    [GGUF_ARRAY] = {"array", 0}, [GGUF_U64] = {"uint64", 8}, [GGUF_I64] = {"int64", 8},
    [GGUF_F64] = {"float64", 8},
};

const char *gguf_type_name(enum gguf_type type)
{
    return type < GGUF_N_TYPE ? types[type].name : "?";
}

bool gguf_is_magic(const void *data, size_t n)
{
    return n >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

/* ---- reading: a position in the map ---- */

int gguf_short(struct gguf_reader *r, uint64_t need, const char *what)
{
    return why_set(r->why, EX_DATAERR, "%s needs %" PRIu64 " bytes at byte %zu, the file ends after %zu more",
                   what, need, r->at, r->n - r->at);
}

static uint64_t load(const uint8_t *p, unsigned n)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

int gguf_read_u32(struct gguf_reader *r, const char *what, uint32_t *ret)
{
    if (r->n - r->at < 4)
        return gguf_short(r, 4, what);
    *ret = (uint32_t)load(r->data + r->at, 4);
    r->at += 4;
    return 0;
}

int gguf_read_u64(struct gguf_reader *r, const char *what, uint64_t *ret)
{
    if (r->n - r->at < 8)
        return gguf_short(r, 8, what);
    *ret = load(r->data + r->at, 8);
    r->at += 8;
    return 0;
}

int gguf_read_string(struct gguf_reader *r, const char *what, size_t max, struct gguf_string *ret)
{
    uint64_t n;
    int code = gguf_read_u64(r, what, &n);
    if (code)
        return code;
    if (n > max)
        return why_set(r->why, EX_DATAERR, "%s has %" PRIu64 " bytes, at most %zu are allowed", what, n, max);
    if (n > r->n - r->at)
        return gguf_short(r, n, what);
    *ret = (struct gguf_string){(const char *)r->data + r->at, (size_t)n};
    r->at += n;
    return 0;
}

int gguf_copy_name(struct gguf_reader *r, const char *what, size_t max, const char **ret)
{
    struct gguf_string s;
    int code = gguf_read_string(r, what, max, &s);
    if (code)
        return code;
    if (s.n == 0 || memchr(s.s, '\0', s.n))
        return why_set(r->why, EX_DATAERR, "%s %s", what, s.n ? "holds a NUL" : "is empty");
    char *name = arena_array(&r->file->arena, s.n + 1, 1);
    if (!name)
        return -ENOMEM;
    memcpy(name, s.s, s.n);
    *ret = name;
    return 0;
}

/* ---- metadata ---- */

static int read_type(struct gguf_reader *r, const char *key, enum gguf_type *ret)
{
    uint32_t type = 0;
    int code = gguf_read_u32(r, "the type of a metadata value", &type);
    if (code == 0 && type >= GGUF_N_TYPE)
        code = why_set(r->why, EX_DATAERR, "metadata '%s' has type %u, which is not known", key, type);
    *ret = (enum gguf_type)type;
    return code;
}

static int skip_fixed(struct gguf_reader *r, const struct gguf_value *v, size_t n)
{
    unsigned bytes = types[v->element].bytes;
    if (n > (r->n - r->at) / bytes)
        return gguf_short(r, (uint64_t)n * bytes, v->key);
    r->at += n * bytes;
    for (size_t i = 0; v->element == GGUF_BOOL && i < n; i++)
        if (v->data[i] > 1)
            return why_set(r->why, EX_DATAERR, "metadata '%s' is a bool of the value %u", v->key, v->data[i]);
    return 0;
}

/* n is at most an eighth of the bytes that are left. */
static int skip_strings(struct gguf_reader *r, struct gguf_value *v, bool keep)
{
    uint64_t *starts = keep ? arena_array(&r->file->arena, v->n, sizeof *starts) : NULL;
    const size_t first = r->at;
    if (keep && !starts)
        return -ENOMEM;
    for (size_t i = 0; i < v->n; i++) {
        struct gguf_string s;
        if (keep)
            starts[i] = r->at - first;
        int code = gguf_read_string(r, v->key, GGUF_MAX_STRING, &s);
        if (code)
            return code;
    }
    v->starts = starts;
    return 0;
}

/* The elements that follow; `depth` arrays are around them. */
static int skip_array(struct gguf_reader *r, struct gguf_value *v, unsigned depth)
{
    uint64_t n = 0;
    int code = read_type(r, v->key, &v->element);
    if (code == 0)
        code = gguf_read_u64(r, v->key, &n);
    if (code)
        return code;
    if (n > GGUF_MAX_ARRAY)
        return why_set(r->why, EX_DATAERR,
                       "metadata '%s' is an array of %" PRIu64 " elements, at most %d are allowed", v->key, n,
                       GGUF_MAX_ARRAY);
    unsigned least = v->element == GGUF_ARRAY ? 12 : types[v->element].bytes ? types[v->element].bytes : 8;
    if (n > (r->n - r->at) / least)
        return gguf_short(r, n * least, v->key);
    v->n = (size_t)n;
    v->data = r->data + r->at;
    if (v->element == GGUF_STRING)
        return skip_strings(r, v, depth == 1);
    if (v->element != GGUF_ARRAY)
        return skip_fixed(r, v, v->n);
    if (depth == MAX_NESTING)
        return why_set(r->why, EX_DATAERR, "metadata '%s' is nested more than %d arrays deep", v->key,
                       MAX_NESTING);
    for (size_t i = 0; i < v->n && code == 0; i++) {
        struct gguf_value inner = {.key = v->key, .type = GGUF_ARRAY};
        code = skip_array(r, &inner, depth + 1);
    }
    return code;
}

static int read_value(struct gguf_reader *r, struct gguf_value *v)
{
    int code = gguf_copy_name(r, "a metadata key", GGUF_MAX_KEY, &v->key);
    if (code == 0)
        code = read_type(r, v->key, &v->type);
    if (code)
        return code;
    v->element = v->type;
    v->n = 1;
    v->data = r->data + r->at;
    if (v->type == GGUF_ARRAY)
        return skip_array(r, v, 1);
    return v->type == GGUF_STRING ? skip_strings(r, v, true) : skip_fixed(r, v, 1);
}

static int compare_keys(const void *a, const void *b)
{
    const struct gguf_value *const *left = a, *const *right = b;
    return strcmp((*left)->key, (*right)->key);
}

static int sort_values(struct gguf *file, struct why *why)
{
    file->by_key = arena_array(&file->arena, file->n_value, sizeof *file->by_key);
    if (!file->by_key)
        return -ENOMEM;
    for (size_t i = 0; i < file->n_value; i++)
        file->by_key[i] = &file->values[i];
    qsort(file->by_key, file->n_value, sizeof *file->by_key, compare_keys);
    for (size_t i = 1; i < file->n_value; i++)
        if (strcmp(file->by_key[i - 1]->key, file->by_key[i]->key) == 0)
            return why_set(why, EX_DATAERR, "metadata '%s' is there twice", file->by_key[i]->key);
    return 0;
}

static int read_values(struct gguf_reader *r, uint64_t n)
{
    struct gguf *file = r->file;
    if (n > GGUF_MAX_VALUE)
        return why_set(r->why, EX_DATAERR, "%" PRIu64 " metadata values, at most %d are allowed", n,
                       GGUF_MAX_VALUE);
    if (n > (r->n - r->at) / MIN_VALUE_BYTES)
        return gguf_short(r, n * MIN_VALUE_BYTES, "the metadata");
    file->values = arena_array(&file->arena, (size_t)n, sizeof *file->values);
    if (!file->values)
        return -ENOMEM;
    for (; file->n_value < n; file->n_value++) {
        int code = read_value(r, &file->values[file->n_value]);
        if (code)
            return code;
    }
    return sort_values(file, r->why);
}

/* ---- the whole ---- */

static int read_version(struct gguf_reader *r)
{
    if (!gguf_is_magic(r->data, r->n))
        return why_set(r->why, EX_DATAERR, "no GGUF file: it does not begin with the bytes 'GGUF'");
    r->at = sizeof magic;
    int code = gguf_read_u32(r, "the version", &r->file->version);
    uint32_t version = r->file->version;
    if (code == 0 && version != 0 && (version & 0xffff) == 0)
        return why_set(r->why, EX_DATAERR, "a big-endian GGUF file, which is not supported");
    if (code == 0 && version != 2 && version != 3)
        return why_set(r->why, EX_DATAERR, "GGUF version %u, only 2 and 3 are supported", version);
    return code;
}

static int read_alignment(struct gguf_reader *r)
{
    int64_t alignment = DEFAULT_ALIGNMENT;
    int code = gguf_get_int(r->file, "general.alignment", false, 1, GGUF_MAX_ALIGNMENT, &alignment, r->why);
    if (code == 0 && (alignment & (alignment - 1)) != 0)
        code = why_set(r->why, EX_DATAERR, "'general.alignment' is %" PRId64 ", which is no power of two",
                       alignment);
    r->alignment = (size_t)alignment;
    return code;
}

static int read_file(struct gguf *file, struct why *why)
{
    struct gguf_reader r = {.file = file, .data = file->map.data, .n = file->map.n, .why = why};
    uint64_t n_tensor = 0, n_value = 0;
    int code = read_version(&r);
    if (code == 0)
        code = gguf_read_u64(&r, "the number of tensors", &n_tensor);
    if (code == 0)
        code = gguf_read_u64(&r, "the number of metadata values", &n_value);
    if (code == 0)
        code = read_values(&r, n_value);
    if (code == 0)
        code = read_alignment(&r);
    return code ? code : gguf_read_tensors(&r, n_tensor);
}

int gguf_open(struct gguf **ret_file, const char *path, struct why *why)
{
    struct gguf *file = mem_array(1, sizeof *file);
    if (!file)
        return -ENOMEM;
    int code = mapfile_open(&file->map, path, why);
    if (code == 0) {
        code = read_file(file, why);
        if (code > 0)
            code = why_prefix(why, code, "%s", path);
    }
    if (code) {
        gguf_free(file);
        return code;
    }
    *ret_file = file;
    return 0;
}

struct gguf *gguf_free(struct gguf *file)
{
    if (file) {
        arena_deinit(&file->arena);
        mapfile_close(&file->map);
        free(file);
    }
    return NULL;
}

unsigned gguf_version(const struct gguf *file)
{
    return file->version;
}

const struct mapfile *gguf_map(const struct gguf *file)
{
    return &file->map;
}

size_t gguf_n_value(const struct gguf *file)
{
    return file->n_value;
}

const struct gguf_value *gguf_value_at(const struct gguf *file, size_t i)
{
    return &file->values[i];
}

static int compare_key(const void *key, const void *element)
{
    const struct gguf_value *const *v = element;
    return strcmp(key, (*v)->key);
}

const struct gguf_value *gguf_find(const struct gguf *file, const char *key)
{
    const struct gguf_value **found =
        file->n_value ? bsearch(key, file->by_key, file->n_value, sizeof *file->by_key, compare_key) : NULL;
    return found ? *found : NULL;
}

/* ---- values of a known kind ---- */

enum kind { INTEGER, FLOAT, BOOL, STRING, OTHER };

static enum kind kind_of(enum gguf_type type)
{
    return type == GGUF_STRING                    ? STRING
           : type == GGUF_BOOL                    ? BOOL
           : type == GGUF_F32 || type == GGUF_F64 ? FLOAT
           : type == GGUF_ARRAY                   ? OTHER
                                                  : INTEGER;
}

/* The value of a key, which must not be an array; *ret NULL where it is missing. */
static int find_one(const struct gguf *file, const char *key, bool required, const struct gguf_value **ret,
                    struct why *why)
{
    *ret = gguf_find(file, key);
    if (!*ret && required)
        return why_set(why, EX_DATAERR, "metadata '%s' is missing", key);
    return 0;
}

static int wrong_type(const struct gguf_value *v, const char *wanted, struct why *why)
{
    const char *of = v->type == GGUF_ARRAY ? " of " : "";
    return why_set(why, EX_DATAERR, "metadata '%s' is of type %s%s%s, must be %s", v->key,
                   gguf_type_name(v->type), of, v->type == GGUF_ARRAY ? gguf_type_name(v->element) : "",
                   wanted);
}

int gguf_get_int(const struct gguf *file, const char *key, bool required, int64_t min, int64_t max,
                 int64_t *ret, struct why *why)
{
    const struct gguf_value *v;
    int code = find_one(file, key, required, &v, why);
    if (code || !v)
        return code;
    if (kind_of(v->type) != INTEGER)
        return wrong_type(v, "an integer", why);
    int64_t value = gguf_int_at(v, 0);
    if (value < min || value > max)
        return why_set(why, EX_DATAERR, "metadata '%s' is %" PRId64 ", must be %" PRId64 " to %" PRId64, key,
                       value, min, max);
    *ret = value;
    return 0;
}

int gguf_get_double(const struct gguf *file, const char *key, bool required, double *ret, struct why *why)
{
    const struct gguf_value *v;
    int code = find_one(file, key, required, &v, why);
    if (code || !v)
        return code;
    if (kind_of(v->type) != INTEGER && kind_of(v->type) != FLOAT)
        return wrong_type(v, "a number", why);
    double value = gguf_double_at(v, 0);
    if (!isfinite(value))
        return why_set(why, EX_DATAERR, "metadata '%s' is %f, must be finite", key, value);
    *ret = value;
    return 0;
}

int gguf_get_bool(const struct gguf *file, const char *key, bool required, bool *ret, struct why *why)
{
    const struct gguf_value *v;
    int code = find_one(file, key, required, &v, why);
    if (code || !v)
        return code;
    if (v->type != GGUF_BOOL)
        return wrong_type(v, "a bool", why);
    *ret = v->data[0];
    return 0;
}

int gguf_get_string(const struct gguf *file, const char *key, bool required, struct gguf_string *ret,
                    struct why *why)
{
    const struct gguf_value *v;
    int code = find_one(file, key, required, &v, why);
    if (code || !v)
        return code;
    if (v->type != GGUF_STRING)
        return wrong_type(v, "a string", why);
    *ret = gguf_string_at(v, 0);
    return 0;
}

int gguf_get_array(const struct gguf *file, const char *key, bool required, enum gguf_type kind,
                   const struct gguf_value **ret, struct why *why)
{
    int code = find_one(file, key, required, ret, why);
    if (code || !*ret)
        return code;
    if ((*ret)->type != GGUF_ARRAY || kind_of((*ret)->element) != kind_of(kind))
        return wrong_type(*ret,
                          kind_of(kind) == STRING    ? "an array of strings"
                          : kind_of(kind) == INTEGER ? "an array of integers"
                                                     : "an array of floats",
                          why);
    return 0;
}

struct gguf_string gguf_string_at(const struct gguf_value *v, size_t i)
{
    const uint8_t *p = v->data + v->starts[i];
    return (struct gguf_string){(const char *)p + 8, (size_t)load(p, 8)};
}

int64_t gguf_int_at(const struct gguf_value *v, size_t i)
{
    unsigned bytes = types[v->element].bytes;
    uint64_t value = load(v->data + i * bytes, bytes);
    switch (v->element) {
    case GGUF_I8:
        return (int8_t)value;
    case GGUF_I16:
        return (int16_t)value;
    case GGUF_I32:
        return (int32_t)value;
    case GGUF_U64:
        return value > INT64_MAX ? INT64_MAX : (int64_t)value;
    default:
        return (int64_t)value;
    }
}

double gguf_double_at(const struct gguf_value *v, size_t i)
{
    float narrow;
    double wide;
    if (v->element == GGUF_F32) {
        memcpy(&narrow, v->data + i * sizeof narrow, sizeof narrow);
        return narrow;
    }
    if (v->element == GGUF_F64) {
        memcpy(&wide, v->data + i * sizeof wide, sizeof wide);
        return wide;
    }
    return (double)gguf_int_at(v, i);
}
