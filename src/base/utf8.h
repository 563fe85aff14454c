/* UTF-8: checking, replacing what is invalid, single characters, and where a text may be cut.
 *
 * Valid means well-formed as in table 3-7 of the Unicode standard: shortest forms only, no surrogates,
 * nothing beyond U+10FFFF. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"

enum { UTF8_MAX = 4, /* bytes of the longest character */ UTF8_REPLACEMENT = 0xfffd };

/* Offset of the first byte that does not belong to a valid character, or n. */
size_t utf8_check(const void *text, size_t n);

/* Appends the text with each invalid part as U+FFFD, one for every maximal subpart (the rule of Python's
 * errors="replace" and of the Unicode standard, chapter 3.9). 0, BUF_E_FULL, -ENOMEM. */
int utf8_replace(struct buf *out, const void *text, size_t n);

/* What begins at text: its length in bytes (1 to 4) if it is a valid character; minus the length of the
 * maximal subpart (-1 to -3) if it can never become one; 0 if all n bytes are a beginning that more bytes may
 * complete. n is at least 1. */
int utf8_step(const uint8_t *text, size_t n);

/* Bytes at the end of the text that begin a character but do not complete it: 0 to 3. */
size_t utf8_tail(const void *text, size_t n);

/* Writes a code point (a surrogate or one beyond U+10FFFF as U+FFFD) and returns its length. */
size_t utf8_encode(uint32_t code, uint8_t out[UTF8_MAX]);

/* Length of a valid character by its first byte. */
static inline size_t utf8_length(uint8_t first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The code point of a valid character. */
static inline uint32_t utf8_decode(const uint8_t *text)
{
    if (text[0] < 0x80)
        return text[0];
    if (text[0] < 0xe0)
        return (uint32_t)(text[0] & 0x1f) << 6 | (text[1] & 0x3f);
    if (text[0] < 0xf0)
        return (uint32_t)(text[0] & 0x0f) << 12 | (uint32_t)(text[1] & 0x3f) << 6 | (text[2] & 0x3f);
    return (uint32_t)(text[0] & 0x07) << 18 | (uint32_t)(text[1] & 0x3f) << 12 |
           (uint32_t)(text[2] & 0x3f) << 6 | (text[3] & 0x3f);
}

/* The start of the valid character that ends right before `end`; text before `end` is valid and not empty. */
static inline const uint8_t *utf8_previous(const uint8_t *end)
{
    do
        end--;
    while ((*end & 0xc0) == 0x80);
    return end;
}
