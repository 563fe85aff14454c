/* JSON configuration files: see json.h. A struct json is a cJSON under another name. */
#include "config.h"
#include "src/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sysexits.h>

#include <cjson/cJSON.h>

#include "src/base/mapfile.h"
#include "src/base/utf8.h"

/* Whole numbers up to here are exact in a double. */
#define MAX_EXACT 9007199254740992.0 /* 2^53 */

static const cJSON *from(const struct json *v)
{
    return (const cJSON *)v;
}

static struct json *to(cJSON *v)
{
    return (struct json *)v;
}

static int fail_at(struct why *why, const uint8_t *text, size_t at, const char *what)
{
    size_t line = 1, start = 0;
    for (size_t i = 0; i < at; i++)
        if (text[i] == '\n')
            line++, start = i + 1;
    return why_set(why, EX_DATAERR, "%s at line %zu, column %zu", what, line, at - start + 1);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* What the parser would not notice, or too late: nesting, the number of values (there are at most as many as
 * commas and opening brackets, and one), and control characters, which it takes for spaces outside of strings
 * and accepts inside; a NUL would end a string before the rest of it. */
static int check_text(const uint8_t *text, size_t n, struct why *why)
{
    bool in_string = false;
    int depth = 0, n_value = 1;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = text[i];
        if (c < 0x20 && (in_string || !is_space(c)))
            return fail_at(why, text, i, "not JSON: a control character");
        if (in_string) {
            if (c == '\\' && n - i > 5 && memcmp(text + i + 1, "u0000", 5) == 0)
                return fail_at(why, text, i, "a NUL in a string, which would end it here");
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_MAX_DEPTH)
                return fail_at(why, text, i, "nested more than 64 deep");
        } else if (c == '}' || c == ']') {
            depth--;
        }
        if (!in_string && (c == ',' || c == '{' || c == '[') && ++n_value > JSON_MAX_VALUE)
            return fail_at(why, text, i, "more than 2000000 values");
    }
    return 0;
}

_Static_assert(JSON_MAX_DEPTH == 64 && JSON_MAX_VALUE == 2000000, "the sentences above say so");

int json_parse(struct json **ret_root, const void *text, size_t n, struct why *why)
{
    if (n == 0)
        return why_set(why, EX_DATAERR, "empty, where JSON is expected");
    size_t n_valid = utf8_check(text, n);
    if (n_valid < n)
        return fail_at(why, text, n_valid, "not JSON: invalid UTF-8");
    int r = check_text(text, n, why);
    if (r != 0)
        return r;
    const char *end = text;
    errno = 0; /* the parser does not say that it ran out of memory; malloc does */
    cJSON *root = cJSON_ParseWithLengthOpts(text, n, &end, 0);
    if (!root && errno == ENOMEM)
        return why_set(why, -ENOMEM, "out of memory");
    size_t at = (size_t)(end - (const char *)text);
    if (!root)
        return fail_at(why, text, at < n ? at : n, "not JSON");
    while (at < n && is_space(((const uint8_t *)text)[at]))
        at++;
    if (at < n) {
        cJSON_Delete(root);
        return fail_at(why, text, at, "not JSON: more text after the value");
    }
    *ret_root = to(root);
    return 0;
}

int json_read_file(struct json **ret_root, const char *path, size_t max, struct why *why)
{
    struct mapfile map;
    int r = mapfile_open(&map, path, why);
    if (r != 0)
        return r;
    if (map.n > max)
        r = why_set(why, EX_DATAERR, "%s: %zu bytes, at most %zu are read", path, map.n, max);
    else if ((r = json_parse(ret_root, map.data, map.n, why)) != 0)
        r = why_prefix(why, r, "%s", path);
    mapfile_close(&map);
    return r;
}

struct json *json_free(struct json *root)
{
    cJSON_Delete((cJSON *)root);
    return NULL;
}

const struct json *json_get(const struct json *object, const char *key)
{
    const cJSON *found = NULL;
    if (json_is_object(object))
        for (const cJSON *v = from(object)->child; v; v = v->next)
            if (strcmp(v->string, key) == 0)
                found = v;
    return found && !cJSON_IsNull(found) ? (const struct json *)found : NULL;
}

const struct json *json_first(const struct json *container)
{
    return json_is_object(container) || json_is_array(container) ? to(from(container)->child) : NULL;
}

const struct json *json_next(const struct json *value)
{
    return value ? to(from(value)->next) : NULL;
}

const char *json_key(const struct json *value)
{
    return value ? from(value)->string : NULL;
}

size_t json_count(const struct json *container)
{
    size_t n = 0;
    for (const struct json *v = json_first(container); v; v = json_next(v))
        n++;
    return n;
}

bool json_is_object(const struct json *v)
{
    return cJSON_IsObject(from(v));
}

bool json_is_array(const struct json *v)
{
    return cJSON_IsArray(from(v));
}

bool json_is_string(const struct json *v)
{
    return cJSON_IsString(from(v));
}

bool json_is_number(const struct json *v)
{
    return cJSON_IsNumber(from(v));
}

bool json_is_bool(const struct json *v)
{
    return cJSON_IsBool(from(v));
}

bool json_is_null(const struct json *v)
{
    return cJSON_IsNull(from(v));
}

const char *json_kind(const struct json *v)
{
    if (!v)
        return "nothing";
    switch (from(v)->type & 0xff) {
    case cJSON_False:
    case cJSON_True:
        return "a boolean";
    case cJSON_Number:
        return "a number";
    case cJSON_String:
        return "a string";
    case cJSON_Array:
        return "an array";
    case cJSON_Object:
        return "an object";
    }
    return "null";
}

const char *json_string(const struct json *v, const char *fallback)
{
    return json_is_string(v) ? from(v)->valuestring : fallback;
}

double json_number(const struct json *v, double fallback)
{
    return json_is_number(v) ? from(v)->valuedouble : fallback;
}

bool json_bool(const struct json *v, bool fallback)
{
    return json_is_bool(v) ? cJSON_IsTrue(from(v)) : fallback;
}

bool json_is_whole(const struct json *v, int64_t min, int64_t max, int64_t *ret)
{
    double d = json_number(v, NAN);
    if (!(fabs(d) <= MAX_EXACT) || d != floor(d))
        return false;
    int64_t i = (int64_t)d;
    if (i < min || i > max)
        return false;
    *ret = i;
    return true;
}

/* 0 with *ret_value a number, or NULL for an optional one that is missing. */
static int get_number(const struct json *object, const char *key, bool required, const char *kind,
                      const struct json **ret_value, struct why *why)
{
    const struct json *v = json_get(object, key);
    if (!v && required)
        return why_set(why, EX_DATAERR, "'%s' is missing", key);
    if (v && !json_is_number(v))
        return why_set(why, EX_DATAERR, "'%s' is %s, must be %s", key, json_kind(v), kind);
    *ret_value = v;
    return 0;
}

int json_get_int(const struct json *object, const char *key, bool required, int64_t min, int64_t max,
                 int64_t *ret, struct why *why)
{
    const struct json *v;
    int r = get_number(object, key, required, "a whole number", &v, why);
    if (r != 0 || !v || json_is_whole(v, min, max, ret))
        return r;
    double d = json_number(v, 0);
    if (d != floor(d))
        return why_set(why, EX_DATAERR, "'%s' is %.17g, must be a whole number", key, d);
    return why_set(why, EX_DATAERR, "'%s' is %.17g, must be %" PRId64 " to %" PRId64, key, d, min, max);
}

int json_get_double(const struct json *object, const char *key, bool required, double min, double max,
                    double *ret, struct why *why)
{
    const struct json *v;
    int r = get_number(object, key, required, "a number", &v, why);
    if (r != 0 || !v)
        return r;
    double d = json_number(v, NAN);
    if (!(d >= min && d <= max))
        return why_set(why, EX_DATAERR, "'%s' is %.9g, must be %.9g to %.9g", key, d, min, max);
    *ret = d;
    return 0;
}

int json_get_bool(const struct json *object, const char *key, bool *ret, struct why *why)
{
    const struct json *v = json_get(object, key);
    if (v && !json_is_bool(v))
        return why_set(why, EX_DATAERR, "'%s' is %s, must be true or false", key, json_kind(v));
    if (v)
        *ret = json_bool(v, false);
    return 0;
}
