/* A walk over msgpack bytes before anybody decodes them. Allocates nothing.
 *
 * Accepted: one map; keys are unique strings of 1 to 64 bytes, at most 128 a map; values nil, bool, integers
 * within int64 (uint64 as the value of a top-level `seed`), finite or other floats, UTF-8 strings, bin,
 * arrays, maps; at most 32 levels and a million elements; counts that fit into the bytes left; nothing behind
 * the end. No ext types. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

enum {
    WIRE_MAX_DEPTH = 32,        /* what msgpack-c decodes without more memory */
    WIRE_MAX_ELEMENT = 1000000, /* elements of arrays and pairs of maps, all together */
    WIRE_MAX_KEY = 64,
    WIRE_MAX_PAIR = 128, /* of one map: looking for a key that is there twice is quadratic */
};

enum { WIRE_E_MALFORMED = 1 };

/* 0 or WIRE_E_MALFORMED with a sentence that names the byte offset. */
int wire_check(const uint8_t *data, size_t n, struct why *why);
