/* The byte-level alphabet: see bytelevel.h. */
#include "config.h"
#include "src/text/bytelevel.h"

#include "src/base/utf8.h"

enum { FIRST_ODD = 0x100, N_ODD = 68 };

/* The bytes that do not stand for themselves: 0x00-0x20, 0x7f-0xa0, 0xad. */
static uint8_t odd_byte(uint32_t i)
{
    return (uint8_t)(i < 33 ? i : i < 67 ? 0x7f + (i - 33) : 0xad);
}

static uint32_t code_of(uint8_t byte)
{
    if (byte <= 0x20)
        return FIRST_ODD + (uint32_t)byte;
    if (byte >= 0x7f && byte <= 0xa0)
        return FIRST_ODD + 33 + (uint32_t)(byte - 0x7f);
    return byte == 0xad ? FIRST_ODD + N_ODD - 1 : byte;
}

int bytelevel_byte(uint32_t code)
{
    if (code >= FIRST_ODD)
        return code < FIRST_ODD + N_ODD ? odd_byte(code - FIRST_ODD) : -1;
    return code_of((uint8_t)code) == code ? (int)code : -1;
}

size_t bytelevel_spell(const uint8_t *bytes, size_t n, uint8_t *out)
{
    uint8_t *to = out;
    for (size_t i = 0; i < n; i++) {
        uint32_t code = code_of(bytes[i]);
        if (code < 0x80) {
            *to++ = (uint8_t)code;
        } else {
            *to++ = (uint8_t)(0xc0 | code >> 6);
            *to++ = (uint8_t)(0x80 | (code & 0x3f));
        }
    }
    return (size_t)(to - out);
}

bool bytelevel_unspell(const uint8_t *spelling, size_t n, uint8_t *out, size_t *ret_n)
{
    size_t n_out = 0;
    for (size_t at = 0, length; at < n; at += length) {
        /* Taken before the byte is written: out may be the spelling. */
        length = utf8_length(spelling[at]);
        int byte = bytelevel_byte(utf8_decode(spelling + at));
        if (byte < 0)
            return false;
        out[n_out++] = (uint8_t)byte;
    }
    *ret_n = n_out;
    return true;
}
