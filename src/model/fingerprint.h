/* A number that tells models apart without reading their weights. */
#pragma once

#include <stdint.h>

#include "src/weights/checkpoint.h"

/* Of config.json (values and order of fields, not white space) and of every tensor's name, type and shape.
 * FNV-1a, 64 bits: it keeps caches of different models apart, it is no protection against intent. */
uint64_t fingerprint_of(const struct checkpoint *checkpoint);
