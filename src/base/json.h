/* JSON configuration files through typed, bounded getters. The only user of cJSON.
 *
 * For config.json, generation_config.json, the shard index and the safetensors header. cJSON keeps numbers as
 * doubles and cuts strings at U+0000, which those files can live with; text that must be exact
 * (tokenizer.json, JSON lines) goes through src/base/jsonread.h. Nesting and the number of values are limited
 * before parsing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

enum {
    JSON_MAX_DEPTH = 64,
    /* A value takes about a hundred bytes of memory and may take two of the text. This is enough for a
     * safetensors header of the largest allowed number of tensors. */
    JSON_MAX_VALUE = 2000000,
};

struct json; /* a value; the document's owner frees the root */

/* Parses n bytes. 0, EX_DATAERR with line and column (in bytes), -ENOMEM. */
int json_parse(struct json **ret_root, const void *text, size_t n, struct why *why);
/* Reads a whole file of at most max bytes: also EX_NOINPUT, EX_NOPERM, EX_IOERR. */
int json_read_file(struct json **ret_root, const char *path, size_t max, struct why *why);
struct json *json_free(struct json *root);

/* Children; NULL for a missing key, a value of another kind, or a NULL argument. For json_get, null counts as
 * missing, and of a repeated key the last one counts, as in the readers that wrote these files. */
const struct json *json_get(const struct json *object, const char *key);
const struct json *json_first(const struct json *container); /* first member or element */
const struct json *json_next(const struct json *value);      /* its next sibling */
const char *json_key(const struct json *value);              /* of an object's member */
size_t json_count(const struct json *container);

bool json_is_object(const struct json *v);
bool json_is_array(const struct json *v);
bool json_is_string(const struct json *v);
bool json_is_number(const struct json *v);
bool json_is_bool(const struct json *v);
bool json_is_null(const struct json *v); /* a null that is there */

const char *json_kind(const struct json *v); /* "a number", "an object", ...: for sentences */

/* The value itself; the fallback where it is missing or of another kind. */
const char *json_string(const struct json *v, const char *fallback);
double json_number(const struct json *v, double fallback);
bool json_bool(const struct json *v, bool fallback);

/* Whether this is a whole number within [min, max]; beyond 2^53, where a double loses digits, none is. */
bool json_is_whole(const struct json *v, int64_t min, int64_t max, int64_t *ret);

/* A required or optional whole number of an object within [min, max]. Missing (or null) and `required` false:
 * *ret stays as it is. 0, or EX_DATAERR: "'num_hidden_layers' is 0, must be 1 to 10000"; the caller puts the
 * file's name before it with why_prefix. */
int json_get_int(const struct json *object, const char *key, bool required, int64_t min, int64_t max,
                 int64_t *ret, struct why *why);
int json_get_double(const struct json *object, const char *key, bool required, double min, double max,
                    double *ret, struct why *why);
int json_get_bool(const struct json *object, const char *key, bool *ret, struct why *why);
