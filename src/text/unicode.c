/* Character classes: see unicode.h. */
#include "config.h"
#include "src/text/unicode.h"

#include <stddef.h>
#include <utf8proc.h>

struct range {
    uint32_t first, last;
};

/* White_Space of PropList.txt beyond ASCII. */
static const struct range spaces[] = {
    {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
    {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
};

/* \p{P} of today that the Punctuation pre-tokenizer, whose tables stopped at Unicode 8, does not know.
 * Measured code point by code point with tokenizers 0.23. */
static const struct range later_punctuation[] = {
    {0x61d, 0x61d},     {0x9fd, 0x9fd},     {0xa76, 0xa76},     {0xc77, 0xc77},     {0xc84, 0xc84},
    {0x1b7d, 0x1b7e},   {0x2e43, 0x2e4f},   {0x2e52, 0x2e5d},   {0x10ead, 0x10ead}, {0x10f55, 0x10f59},
    {0x10f86, 0x10f89}, {0x1144b, 0x1144f}, {0x1145a, 0x1145b}, {0x1145d, 0x1145d}, {0x11660, 0x1166c},
    {0x116b9, 0x116b9}, {0x1183b, 0x1183b}, {0x11944, 0x11946}, {0x119e2, 0x119e2}, {0x11a3f, 0x11a46},
    {0x11a9a, 0x11a9c}, {0x11a9e, 0x11aa2}, {0x11b00, 0x11b09}, {0x11c41, 0x11c45}, {0x11c70, 0x11c71},
    {0x11ef7, 0x11ef8}, {0x11f43, 0x11f4f}, {0x11fff, 0x11fff}, {0x12ff1, 0x12ff2}, {0x16e97, 0x16e9a},
    {0x16fe2, 0x16fe2}, {0x1e95e, 0x1e95f},
};

/* And what was punctuation then and is none any more. */
static const struct range former_punctuation[] = {{0x166d, 0x166d}, {0x111c9, 0x111c9}};

/* Alphabetic among the symbols (circled and squared letters), and the joiners, which \w has too. */
static const struct range word_symbols[] = {
    {0x200c, 0x200d}, {0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189},
};

static bool within(const struct range *ranges, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i++)
        if (code <= ranges[i].last)
            return code >= ranges[i].first;
    return false;
}

#define WITHIN(ranges, code) within(ranges, sizeof(ranges) / sizeof(ranges)[0], code)

static const uint8_t by_category[] = {
    [UTF8PROC_CATEGORY_LU] = UNICODE_LETTER | UNICODE_WORD,
    [UTF8PROC_CATEGORY_LL] = UNICODE_LETTER | UNICODE_WORD,
    [UTF8PROC_CATEGORY_LT] = UNICODE_LETTER | UNICODE_WORD,
    [UTF8PROC_CATEGORY_LM] = UNICODE_LETTER | UNICODE_WORD,
    [UTF8PROC_CATEGORY_LO] = UNICODE_LETTER | UNICODE_WORD,
    [UTF8PROC_CATEGORY_MN] = UNICODE_WORD,
    [UTF8PROC_CATEGORY_MC] = UNICODE_WORD,
    [UTF8PROC_CATEGORY_ME] = UNICODE_WORD,
    [UTF8PROC_CATEGORY_ND] = UNICODE_NUMBER | UNICODE_WORD,
    [UTF8PROC_CATEGORY_NL] = UNICODE_NUMBER | UNICODE_WORD,
    [UTF8PROC_CATEGORY_NO] = UNICODE_NUMBER,
    [UTF8PROC_CATEGORY_PC] = UNICODE_PUNCTUATION | UNICODE_WORD,
    [UTF8PROC_CATEGORY_PD] = UNICODE_PUNCTUATION,
    [UTF8PROC_CATEGORY_PS] = UNICODE_PUNCTUATION,
    [UTF8PROC_CATEGORY_PE] = UNICODE_PUNCTUATION,
    [UTF8PROC_CATEGORY_PI] = UNICODE_PUNCTUATION,
    [UTF8PROC_CATEGORY_PF] = UNICODE_PUNCTUATION,
    [UTF8PROC_CATEGORY_PO] = UNICODE_PUNCTUATION,
    [UTF8PROC_CATEGORY_CO] = 0,
};

uint8_t unicode_classify(uint32_t code)
{
    uint8_t flags = by_category[utf8proc_category((utf8proc_int32_t)code)];
    /* Ideographs, Hangul and most letters end here. */
    if (flags & UNICODE_LETTER)
        return flags;
    if (WITHIN(spaces, code))
        flags |= UNICODE_SPACE;
    if (WITHIN(word_symbols, code))
        flags |= UNICODE_WORD;
    if ((flags & UNICODE_PUNCTUATION) && WITHIN(later_punctuation, code))
        flags &= (uint8_t)~UNICODE_PUNCTUATION;
    if (WITHIN(former_punctuation, code))
        flags |= UNICODE_PUNCTUATION;
    return flags;
}

enum {
    L = UNICODE_LETTER | UNICODE_WORD,
    N = UNICODE_NUMBER | UNICODE_WORD,
    S = UNICODE_SPACE,
    P = UNICODE_PUNCTUATION,
    C = UNICODE_PUNCTUATION | UNICODE_WORD, /* the underscore */
};

/* clang-format off */
const uint8_t unicode_ascii[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, S, S, S, S, S, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    S, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, N, N, N, N, N, N, N, N, N, N, P, P, P, P, P, P,
    P, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, P, P, P, P, C,
    P, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, P, P, P, P, 0,
};
/* clang-format on */
