/* Base64, as binary data stands in tokenizer files: the standard alphabet, padded (RFC 4648, section 4). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that n characters stand for at most. */
static inline size_t base64_max(size_t n)
{
    return n / 4 * 3 + 3;
}

/* Decodes n characters into out, which has room for base64_max(n) bytes. False where they are not base64. */
bool base64_decode(const char *s, size_t n, uint8_t *out, size_t *ret_n);
