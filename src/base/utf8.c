/* UTF-8: see utf8.h. */
#include "config.h"
#include "src/base/utf8.h"

#include <string.h>

int utf8_step(const uint8_t *text, size_t n)
{
    uint8_t first = text[0];
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return -1;
    int length = (int)utf8_length(first);
    /* Only the second byte has a range of its own; it excludes long forms, surrogates and what is too big. */
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    for (int i = 1; i < length; i++) {
        if ((size_t)i == n)
            return 0;
        if (text[i] < low || text[i] > high)
            return -i;
        low = 0x80;
        high = 0xbf;
    }
    return length;
}

/* How many bytes from here on are ASCII, eight at a time. */
static size_t ascii_run(const uint8_t *text, size_t n)
{
    size_t i = 0;
    for (uint64_t word; i + sizeof word <= n; i += sizeof word) {
        memcpy(&word, text + i, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    while (i < n && text[i] < 0x80)
        i++;
    return i;
}

size_t utf8_check(const void *text, size_t n)
{
    const uint8_t *s = text;
    for (size_t at = 0;;) {
        at += ascii_run(s + at, n - at);
        if (at == n)
            return n;
        int step = utf8_step(s + at, n - at);
        if (step <= 0)
            return at;
        at += (size_t)step;
    }
}

int utf8_replace(struct buf *out, const void *text, size_t n)
{
    const uint8_t *s = text;
    for (;;) {
        size_t good = utf8_check(s, n);
        int r = buf_push(out, s, good);
        if (r || good == n)
            return r;
        s += good;
        n -= good;
        int step = utf8_step(s, n);
        size_t bad = step ? (size_t)-step : n;
        r = buf_push(out, "\xef\xbf\xbd", 3);
        if (r)
            return r;
        s += bad;
        n -= bad;
    }
}

size_t utf8_tail(const void *text, size_t n)
{
    const uint8_t *s = text;
    for (size_t back = 1; back < UTF8_MAX && back <= n; back++)
        if ((s[n - back] & 0xc0) != 0x80)
            return utf8_step(s + n - back, back) == 0 ? back : 0;
    return 0;
}

size_t utf8_encode(uint32_t code, uint8_t out[UTF8_MAX])
{
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        code = UTF8_REPLACEMENT;
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xc0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xe0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (code & 0x3f));
    return 4;
}
