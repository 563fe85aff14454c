/* One GGUF file: metadata and tensor directory checked, everything left in the map.
 *
 * Format: versions 2 and 3, little-endian, as described in ggml's docs/gguf.md. Checked: every count against
 * the bytes that are left before anything is allocated, known value and tensor types, unique keys and names,
 * sizes that follow from shape and type, offsets that are aligned, inside the file and free of overlaps.
 * Refused with the key or tensor by name and both numbers. Strings of the file are not checked for being
 * UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/base/mapfile.h"
#include "src/weights/tensor.h"

enum {
    GGUF_MAX_VALUE = 65536,        /* metadata values; real files have a few dozen */
    GGUF_MAX_KEY = 65535,          /* bytes of a key: the format's own limit */
    GGUF_MAX_STRING = 1 << 20,     /* bytes; chat templates are long */
    GGUF_MAX_ARRAY = 10000000,     /* elements of one array */
    GGUF_MAX_ALIGNMENT = 64 << 10, /* a power of two */
    GGUF_MAX_TENSOR = 100000,
    GGUF_MAX_NAME = 1024, /* bytes of a tensor's name; ggml's own limit is 64 */
    GGUF_MAX_DIM = 4,     /* dimensions of a tensor: ggml's own limit */
};

/* The numbers are the format's. */
enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_N_TYPE,
};

struct gguf;

/* A metadata value. `data` lies in the map and need not be aligned. */
struct gguf_value {
    const char *key;        /* NUL-terminated */
    enum gguf_type type;    /* ARRAY: of `element`; arrays of arrays are checked, but not looked into */
    enum gguf_type element; /* else as type */
    size_t n;               /* elements; 1 of what is no array */
    const uint8_t *data;    /* the first element */
    const uint64_t *starts; /* [n] of strings: where the length of each stands, from data */
};

struct gguf_string {
    const char *s; /* in the map, not NUL-terminated */
    size_t n;
};

/* 0; <sysexits.h> codes as in src/base/err.h, the sentence begins with the path; -errno. */
int gguf_open(struct gguf **ret_file, const char *path, struct why *why);
struct gguf *gguf_free(struct gguf *file);
/* Whether the first bytes of a file are those of a GGUF file. */
bool gguf_is_magic(const void *data, size_t n);

unsigned gguf_version(const struct gguf *file);
/* The whole file, for who wants to read ahead. */
const struct mapfile *gguf_map(const struct gguf *file);

/* Metadata in the order of the file. */
size_t gguf_n_value(const struct gguf *file);
const struct gguf_value *gguf_value_at(const struct gguf *file, size_t i);
/* NULL where there is none of this key. */
const struct gguf_value *gguf_find(const struct gguf *file, const char *key);
const char *gguf_type_name(enum gguf_type type);

/* Values of a known kind. Missing and not `required`: *ret stays as it is. 0, or EX_DATAERR with the key and
 * what is wrong about it. */
int gguf_get_int(const struct gguf *file, const char *key, bool required, int64_t min, int64_t max,
                 int64_t *ret, struct why *why); /* of any integer type */
int gguf_get_double(const struct gguf *file, const char *key, bool required, double *ret,
                    struct why *why); /* finite, of any number type */
int gguf_get_bool(const struct gguf *file, const char *key, bool required, bool *ret, struct why *why);
int gguf_get_string(const struct gguf *file, const char *key, bool required, struct gguf_string *ret,
                    struct why *why);
/* An array of strings, of integers or of floats (one of GGUF_STRING, GGUF_I32, GGUF_F32, which stand for all
 * of their kind). NULL in *ret where it is missing. */
int gguf_get_array(const struct gguf *file, const char *key, bool required, enum gguf_type kind,
                   const struct gguf_value **ret, struct why *why);

/* Elements of what gguf_get_array gave, i below n. An unsigned integer beyond int64_t's range reads as its
 * largest number. */
struct gguf_string gguf_string_at(const struct gguf_value *v, size_t i);
int64_t gguf_int_at(const struct gguf_value *v, size_t i);
double gguf_double_at(const struct gguf_value *v, size_t i);

/* Tensors in the order of their data; type_name is ggml's ("Q4_K"). */
size_t gguf_n_tensor(const struct gguf *file);
const struct tensor *gguf_tensor_at(const struct gguf *file, size_t i);
/* NULL where there is none of this name. */
const struct tensor *gguf_tensor_find(const struct gguf *file, const char *name);
