/* The structural walk: see wire.h. The format is https://github.com/msgpack/msgpack/blob/master/spec.md */
#include "config.h"
#include "proto/wire.h"

#include <stdbool.h>
#include <string.h>

#include "src/base/utf8.h"

enum kind { PLAIN, BEYOND_INT64, STR, BIN, ARRAY, MAP }; /* PLAIN: nothing more to look at */

/* A map or array that has begun. Keys seen so far are kept as hash, place and length. */
struct level {
    uint32_t n_left;
    bool is_map;
    uint32_t n_key;
    uint32_t hash[WIRE_MAX_PAIR];
    uint32_t at[WIRE_MAX_PAIR];
    uint8_t bytes[WIRE_MAX_PAIR];
};

struct walk {
    const uint8_t *data;
    size_t n, at;
    size_t n_element;
    int depth;
    struct why *why;
    struct level level[WIRE_MAX_DEPTH];
};

#define MALFORMED(walk, offset, format, ...) \
    why_set((walk)->why, WIRE_E_MALFORMED, "byte %zu: " format, (size_t)(offset), ##__VA_ARGS__)

/* Takes n bytes as a big-endian number (n up to 8). */
static int take_number(struct walk *w, size_t n, uint64_t *ret)
{
    if (w->n - w->at < n)
        return MALFORMED(w, w->at, "the frame ends inside a value");
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | w->data[w->at++];
    *ret = v;
    return 0;
}

static int skip(struct walk *w, size_t n)
{
    if (w->n - w->at < n)
        return MALFORMED(w, w->at, "the frame ends inside a value");
    w->at += n;
    return 0;
}

/* A count of `bytes` bytes behind the first byte. */
static int take_count(struct walk *w, size_t bytes, enum kind kind, enum kind *ret_kind, uint64_t *ret_n)
{
    *ret_kind = kind;
    return take_number(w, bytes, ret_n);
}

/* Takes what stands before a value's content: what kind it is, and the length or count. */
static int take_head(struct walk *w, enum kind *ret_kind, uint64_t *ret_n)
{
    size_t at = w->at;
    uint64_t first;
    *ret_n = 0;
    *ret_kind = PLAIN;
    if (take_number(w, 1, &first))
        return WIRE_E_MALFORMED;
    if (first < 0x80 || first >= 0xe0) /* small integers */
        return 0;
    if (first < 0xc0) { /* counts within the first byte */
        *ret_kind = first < 0x90 ? MAP : first < 0xa0 ? ARRAY : STR;
        *ret_n = first & (first < 0xa0 ? 15 : 31);
        return 0;
    }
    switch (first) {
    case 0xc0: /* nil, false, true */
    case 0xc2:
    case 0xc3:
        return 0;
    case 0xc4: /* bin 8, 16, 32 */
    case 0xc5:
    case 0xc6:
        return take_count(w, (size_t)1 << (first - 0xc4), BIN, ret_kind, ret_n);
    case 0xca: /* float 32, 64 */
    case 0xcb:
        return skip(w, first == 0xca ? 4 : 8);
    case 0xcc: /* uint 8, 16, 32 */
    case 0xcd:
    case 0xce:
        return skip(w, (size_t)1 << (first - 0xcc));
    case 0xcf: { /* uint 64 */
        uint64_t v;
        if (take_number(w, 8, &v))
            return WIRE_E_MALFORMED;
        *ret_kind = v > INT64_MAX ? BEYOND_INT64 : PLAIN;
        return 0;
    }
    case 0xd0: /* int 8, 16, 32, 64 */
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return skip(w, (size_t)1 << (first - 0xd0));
    case 0xd9: /* str 8, 16, 32 */
    case 0xda:
    case 0xdb:
        return take_count(w, (size_t)1 << (first - 0xd9), STR, ret_kind, ret_n);
    case 0xdc: /* array 16, 32 */
    case 0xdd:
        return take_count(w, first == 0xdc ? 2 : 4, ARRAY, ret_kind, ret_n);
    case 0xde: /* map 16, 32 */
    case 0xdf:
        return take_count(w, first == 0xde ? 2 : 4, MAP, ret_kind, ret_n);
    case 0xc1:
        return MALFORMED(w, at, "0xc1 begins no value");
    default:
        return MALFORMED(w, at, "extension types are not used");
    }
}

/* Takes the bytes of a string or a bin. */
static int take_bytes(struct walk *w, bool is_str, uint64_t n)
{
    if (w->n - w->at < n)
        return MALFORMED(w, w->at, "%s of %llu bytes, %zu are left", is_str ? "a string" : "binary data",
                         (unsigned long long)n, w->n - w->at);
    if (is_str) {
        size_t good = utf8_check((const char *)w->data + w->at, (size_t)n);
        if (good < n)
            return MALFORMED(w, w->at + good, "a string is not UTF-8");
    }
    w->at += (size_t)n;
    return 0;
}

static int push(struct walk *w, size_t at, bool is_map, uint64_t n)
{
    const char *name = is_map ? "map" : "array";
    /* A pair has at least a key's head, a byte of key and a byte of value. */
    if (n > (w->n - w->at) / (is_map ? 3 : 1))
        return MALFORMED(w, at, "the %s announces %llu elements, %zu bytes are left", name,
                         (unsigned long long)n, w->n - w->at);
    if (is_map && n > WIRE_MAX_PAIR)
        return MALFORMED(w, at, "the map has %llu pairs, at most %d are allowed", (unsigned long long)n,
                         WIRE_MAX_PAIR);
    if (w->depth == WIRE_MAX_DEPTH)
        return MALFORMED(w, at, "the %s is nested deeper than %d levels", name, WIRE_MAX_DEPTH);
    w->n_element += (size_t)n;
    if (w->n_element > WIRE_MAX_ELEMENT)
        return MALFORMED(w, at, "the frame has more than %d elements", WIRE_MAX_ELEMENT);
    struct level *level = &w->level[w->depth++];
    level->n_left = (uint32_t)n;
    level->is_map = is_map;
    level->n_key = 0;
    return 0;
}

/* FNV-1a. */
static uint32_t hash(const uint8_t *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 16777619u;
    return h;
}

static bool is_double(const struct walk *w, const struct level *level, uint32_t h, size_t at, size_t n)
{
    for (uint32_t i = 0; i < level->n_key; i++)
        if (level->hash[i] == h && level->bytes[i] == n && !memcmp(w->data + level->at[i], w->data + at, n))
            return true;
    return false;
}

static int take_key(struct walk *w, struct level *level, bool *ret_is_seed)
{
    size_t at = w->at;
    enum kind kind;
    uint64_t n;
    if (take_head(w, &kind, &n))
        return WIRE_E_MALFORMED;
    if (kind != STR)
        return MALFORMED(w, at, "a key is not a string");
    if (n == 0 || n > WIRE_MAX_KEY)
        return MALFORMED(w, at, "a key has %llu bytes, 1 to %d are allowed", (unsigned long long)n,
                         WIRE_MAX_KEY);
    size_t text = w->at;
    if (take_bytes(w, true, n))
        return WIRE_E_MALFORMED;
    const uint8_t *key = w->data + text;
    uint32_t h = hash(key, (size_t)n);
    if (is_double(w, level, h, text, (size_t)n))
        return MALFORMED(w, at, "the key '%.*s' is there twice", (int)n, (const char *)key);
    level->hash[level->n_key] = h;
    level->bytes[level->n_key] = (uint8_t)n;
    level->at[level->n_key++] = (uint32_t)text;
    *ret_is_seed = w->depth == 1 && n == 4 && !memcmp(key, "seed", 4);
    return 0;
}

static int take_value(struct walk *w, bool is_seed)
{
    size_t at = w->at;
    enum kind kind;
    uint64_t n;
    if (take_head(w, &kind, &n))
        return WIRE_E_MALFORMED;
    switch (kind) {
    case PLAIN:
        return 0;
    case BEYOND_INT64:
        return is_seed ? 0 : MALFORMED(w, at, "an integer is beyond 2^63 - 1");
    case STR:
    case BIN:
        return take_bytes(w, kind == STR, n);
    default:
        return push(w, at, kind == MAP, n);
    }
}

int wire_check(const uint8_t *data, size_t n, struct why *why)
{
    struct walk w;
    w.data = data;
    w.n = n;
    w.at = w.n_element = 0;
    w.depth = 0;
    w.why = why;
    if (n > UINT32_MAX) /* places of keys are kept in 32 bits, as frame lengths are */
        return why_set(why, WIRE_E_MALFORMED, "a frame of %zu bytes", n);
    enum kind kind;
    uint64_t count;
    if (take_head(&w, &kind, &count))
        return WIRE_E_MALFORMED;
    if (kind != MAP)
        return MALFORMED(&w, 0, "the frame is not a map");
    if (push(&w, 0, true, count))
        return WIRE_E_MALFORMED;
    while (w.depth > 0) {
        struct level *level = &w.level[w.depth - 1];
        if (level->n_left == 0) {
            w.depth--;
            continue;
        }
        level->n_left--;
        bool is_seed = false;
        if (level->is_map && take_key(&w, level, &is_seed))
            return WIRE_E_MALFORMED;
        if (take_value(&w, is_seed))
            return WIRE_E_MALFORMED;
    }
    if (w.at < n)
        return MALFORMED(&w, w.at, "%zu bytes after the end of the map", n - w.at);
    return 0;
}
