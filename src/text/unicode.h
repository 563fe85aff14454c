/* Character classes as the reference tokenizers' pattern languages see them.
 *
 * Categories come from utf8proc (Unicode 15); \s is the property White_Space, \w is Alphabetic, marks,
 * decimal digits, connectors and joiners. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    UNICODE_LETTER = 1,      /* \p{L} */
    UNICODE_NUMBER = 2,      /* \p{N} */
    UNICODE_SPACE = 4,       /* \s */
    UNICODE_PUNCTUATION = 8, /* the Punctuation pre-tokenizer's: ASCII's, and \p{P} of Unicode 8 */
    UNICODE_WORD = 16,       /* \w */
};

extern const uint8_t unicode_ascii[128];

/* The classes of a code point beyond ASCII. */
uint8_t unicode_classify(uint32_t code);

static inline uint8_t unicode_flags(uint32_t code)
{
    return code < 128 ? unicode_ascii[code] : unicode_classify(code);
}
