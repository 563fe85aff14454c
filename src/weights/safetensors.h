/* One safetensors file: header checked, tensors found by name, data left in the map.
 *
 * Format: u64 little-endian header length, JSON header, data. Checked: header at most 100 MB and inside the
 * file, at most 100,000 tensors, known types, sizes that equal shape times type, offsets inside the data, no
 * overlaps, no holes, no duplicate names. Refused with the tensor's name and both numbers. */
#pragma once

#include "src/base/err.h"
#include "src/base/mapfile.h"
#include "src/weights/tensor.h"

enum {
    SAFETENSORS_MAX_HEADER = 100000000, /* bytes; the reference implementation's own limit */
    SAFETENSORS_MAX_TENSOR = 100000,
};

struct safetensors;

/* 0; <sysexits.h> codes as in src/base/err.h, the sentence begins with the path; -errno. */
int safetensors_open(struct safetensors **ret_file, const char *path, struct why *why);
struct safetensors *safetensors_free(struct safetensors *file);

/* Tensors in the order of their data. */
size_t safetensors_count(const struct safetensors *file);
const struct tensor *safetensors_at(const struct safetensors *file, size_t i);
/* NULL where there is none of this name. */
const struct tensor *safetensors_find(const struct safetensors *file, const char *name);
/* A string of __metadata__, or NULL. */
const char *safetensors_metadata(const struct safetensors *file, const char *key);
/* All of __metadata__. */
size_t safetensors_n_metadata(const struct safetensors *file);
void safetensors_metadata_at(const struct safetensors *file, size_t i, const char **ret_key,
                             const char **ret_value);
/* The whole file, for who wants to read ahead. */
const struct mapfile *safetensors_map(const struct safetensors *file);
