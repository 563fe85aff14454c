/* SentencePiece's precompiled character map: see charsmap.h. */
#include "config.h"
#include "src/text/charsmap.h"

#include <string.h>
#include <sysexits.h>

#include "src/base/utf8.h"

static uint32_t load(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int charsmap_init(struct charsmap *m, const void *blob, size_t n, struct why *why)
{
    const uint8_t *data = blob;
    *m = (struct charsmap){0};
    if (n == 0)
        return 0;
    if (n > CHARSMAP_MAX_BYTES)
        return why_set(why, EX_DATAERR, "a character map of %zu bytes, at most %d are allowed", n,
                       CHARSMAP_MAX_BYTES);
    uint32_t n_trie = n > 4 ? load(data) : UINT32_MAX;
    if (n_trie > n - 4 || n_trie % 4 != 0)
        return why_set(why, EX_DATAERR, "a character map of %zu bytes claims a trie of %u bytes", n, n_trie);
    m->units = data + 4;
    m->n_unit = n_trie / 4;
    m->strings = data + 4 + n_trie;
    m->n_string = n - 4 - n_trie;
    size_t good = utf8_check(m->strings, m->n_string);
    if (good != m->n_string)
        return why_set(why, EX_DATAERR,
                       "the strings of the character map are not valid UTF-8 at byte %zu of %zu", good,
                       m->n_string);
    return 0;
}

/* A unit of the double array: bit 8 tells that a string ends here; the low byte and the top bit are the
 * label, the rest says how far the children are away (darts-clone, class DoubleArrayUnit). */
static size_t offset(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1 << 9) >> 6);
}

/* The string at `at`; false where that is none. */
static bool string_at(const struct charsmap *m, size_t at, const uint8_t **ret, size_t *ret_n)
{
    const uint8_t *end = at < m->n_string ? memchr(m->strings + at, '\0', m->n_string - at) : NULL;
    if (!end || (m->strings[at] & 0xc0) == 0x80)
        return false;
    *ret = m->strings + at;
    *ret_n = (size_t)(end - *ret);
    return true;
}

size_t charsmap_find(const struct charsmap *m, const uint8_t *text, size_t n, bool shortest,
                     const uint8_t **ret, size_t *ret_n)
{
    size_t length = 0, node = m->n_unit ? offset(load(m->units)) : 0;
    unsigned n_match = 0;
    for (size_t i = 0; i < n && n_match < CHARSMAP_MAX_MATCHES; i++) {
        if (shortest && text[i] == 0)
            break; /* `tokenizers` takes that for the end */
        node ^= text[i];
        if (node >= m->n_unit)
            break;
        uint32_t unit = load(m->units + 4 * node);
        if ((unit & (1u << 31 | 0xff)) != text[i])
            break;
        node ^= offset(unit);
        if (!(unit >> 8 & 1) || node >= m->n_unit)
            continue;
        n_match++;
        bool whole = i + 1 == n || (text[i + 1] & 0xc0) != 0x80;
        if ((whole || shortest) && string_at(m, load(m->units + 4 * node) & ~(1u << 31), ret, ret_n)) {
            length = i + 1;
            if (shortest)
                break;
        }
    }
    return length;
}
