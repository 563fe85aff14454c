/* The Unicode normalization forms: see forms.h.
 *
 * utf8proc knows the decompositions and compositions; its own utf8proc_map sorts combining marks in quadratic
 * time and wants the whole text as 32-bit numbers. Here the text is cut where nothing interacts: a stretch is
 * decomposed, its marks are ordered by a stable counting sort, and it is composed. */
#include "config.h"
#include "src/text/forms.h"

#include <errno.h>
#include <string.h>
#include <utf8proc.h>

#include "src/base/utf8.h"

enum {
    FIRST_ACTIVE = 0xa0, /* no form touches a character below */
    MAX_DECOMPOSED = 32, /* the longest is U+FDFA's, 18 */
};

/* Characters of Unicode 11 to 14 that the tables of the reference (the crate unicode-normalization-alignments
 * 0.1) lack: there they have class 0 and no decomposition. Measured code point by code point with tokenizers
 * 0.23. */
static const struct {
    uint32_t first, last;
} later[] = {
    {0x7fd, 0x7fd},     {0x898, 0x89f},     {0x8ca, 0x8d3},     {0x9fe, 0x9fe},     {0xc3c, 0xc3c},
    {0xd3b, 0xd3c},     {0xeba, 0xeba},     {0x1715, 0x1715},   {0x1abf, 0x1ace},   {0x1df6, 0x1dfa},
    {0x32ff, 0x32ff},   {0xa7f2, 0xa7f4},   {0xa82c, 0xa82c},   {0xab69, 0xab69},   {0x10781, 0x10785},
    {0x10787, 0x107b0}, {0x107b2, 0x107ba}, {0x10d24, 0x10d27}, {0x10eab, 0x10eac}, {0x10f46, 0x10f50},
    {0x10f82, 0x10f85}, {0x11070, 0x11070}, {0x1133b, 0x1133b}, {0x1145e, 0x1145e}, {0x11839, 0x1183a},
    {0x11930, 0x11930}, {0x11938, 0x11938}, {0x1193d, 0x1193e}, {0x11943, 0x11943}, {0x119e0, 0x119e0},
    {0x11a34, 0x11a34}, {0x11a47, 0x11a47}, {0x11a99, 0x11a99}, {0x11d42, 0x11d42}, {0x11d44, 0x11d45},
    {0x11d97, 0x11d97}, {0x16ff0, 0x16ff1}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef},
    {0x1f16c, 0x1f16c}, {0x1fbf0, 0x1fbf9},
};

static bool is_later(uint32_t code)
{
    size_t low = 0, high = sizeof later / sizeof later[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (later[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof later / sizeof later[0] && later[low].first <= code;
}

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

bool forms_is_normal(const uint8_t *text, size_t n)
{
    return ascii_run(text, n) == n;
}

/* Whether a character is the same in every form asked for, and neither joins what is before it nor is
 * reordered. Marks and Hangul jamos are taken to interact: a few do not, which costs time only. */
static bool is_inert(uint32_t code, bool compose, bool compatible)
{
    if (code < FIRST_ACTIVE)
        return true;
    if (code < 0x300 && compose && !compatible)
        return true;
    if (code >= 0x1100 && code < 0x1200)
        return false;
    if (code >= 0xac00 && code < 0xd7a4)
        return compose;
    const utf8proc_property_t *p = utf8proc_get_property((utf8proc_int32_t)code);
    bool active = p->category == UTF8PROC_CATEGORY_MN || p->category == UTF8PROC_CATEGORY_MC ||
                  p->category == UTF8PROC_CATEGORY_ME || p->combining_class ||
                  (p->decomp_seqindex != UINT16_MAX && (compatible || !p->decomp_type));
    return !active || is_later(code);
}

static int push_codes(struct buf *codes, const utf8proc_int32_t *add, size_t n)
{
    return buf_push(codes, add, n * sizeof *add);
}

/* Decomposes text[0, n) into codes. */
static int decompose(const uint8_t *text, size_t n, bool compatible, struct buf *codes)
{
    utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    if (compatible)
        options |= UTF8PROC_COMPAT;
    for (size_t at = 0; at < n; at += utf8_length(text[at])) {
        utf8proc_int32_t parts[MAX_DECOMPOSED];
        int boundary = 0;
        const uint32_t code = utf8_decode(text + at);
        utf8proc_ssize_t n_part = 1;
        if (is_later(code))
            parts[0] = (utf8proc_int32_t)code;
        else
            n_part =
                utf8proc_decompose_char((utf8proc_int32_t)code, parts, MAX_DECOMPOSED, options, &boundary);
        if (n_part < 0 || n_part > MAX_DECOMPOSED)
            return -EOVERFLOW;
        int r = push_codes(codes, parts, (size_t)n_part);
        if (r)
            return r;
    }
    return 0;
}

static unsigned class_of(utf8proc_int32_t code)
{
    unsigned class = (unsigned)utf8proc_get_property(code)->combining_class;
    return class && is_later((uint32_t)code) ? 0 : class;
}

/* Orders a run of marks by class, those of one class staying in order. copy has room for n. */
static void sort_marks(utf8proc_int32_t *marks, size_t n, utf8proc_int32_t *copy)
{
    if (n < 16) {
        for (size_t i = 1; i < n; i++) {
            utf8proc_int32_t mark = marks[i];
            size_t j = i;
            for (; j > 0 && class_of(marks[j - 1]) > class_of(mark); j--)
                marks[j] = marks[j - 1];
            marks[j] = mark;
        }
        return;
    }
    size_t starts[257] = {0};
    for (size_t i = 0; i < n; i++)
        starts[class_of(marks[i]) + 1]++;
    for (unsigned i = 1; i < 257; i++)
        starts[i] += starts[i - 1];
    memcpy(copy, marks, n * sizeof *marks);
    for (size_t i = 0; i < n; i++)
        marks[starts[class_of(copy[i])]++] = copy[i];
}

/* Canonical ordering of all runs of marks. The upper half of codes is the sorting's copy. */
static int reorder(struct buf *codes, size_t n)
{
    int r = buf_reserve(codes, codes->n);
    if (r)
        return r;
    utf8proc_int32_t *all = (utf8proc_int32_t *)codes->data;
    for (size_t from = 0, to; from < n; from = to + 1) {
        for (to = from; to < n && class_of(all[to]); to++)
            ;
        sort_marks(all + from, to - from, all + n);
    }
    return 0;
}

/* A stretch in which characters may interact. */
static int apply(const uint8_t *text, size_t n, bool compose, bool compatible, struct buf *out,
                 struct buf *codes)
{
    codes->n = 0;
    int r = decompose(text, n, compatible, codes);
    size_t n_code = codes->n / sizeof(utf8proc_int32_t);
    if (r == 0)
        r = reorder(codes, n_code);
    if (r)
        return r;
    utf8proc_int32_t *all = (utf8proc_int32_t *)codes->data;
    if (compose) {
        utf8proc_ssize_t left =
            utf8proc_normalize_utf32(all, (utf8proc_ssize_t)n_code, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
        if (left < 0)
            return -EOVERFLOW;
        n_code = (size_t)left;
    }
    for (size_t i = 0; i < n_code && r == 0; i++) {
        uint8_t bytes[UTF8_MAX];
        r = buf_push(out, bytes, utf8_encode((uint32_t)all[i], bytes));
    }
    return r;
}

int forms_apply(const uint8_t *text, size_t n, bool compose, bool compatible, struct buf *out,
                struct buf *codes)
{
    size_t copied = 0; /* up to here everything is in out */
    size_t last = 0;   /* the last inert character: a mark behind it may join it */
    int r = 0;
    for (size_t at = 0; at < n && r == 0;) {
        if (is_inert(utf8_decode(text + at), compose, compatible)) {
            last = at;
            at += utf8_length(text[at]);
            continue;
        }
        size_t end = at;
        while (end < n && !is_inert(utf8_decode(text + end), compose, compatible))
            end += utf8_length(text[end]);
        r = buf_push(out, text + copied, last - copied);
        if (r == 0)
            r = apply(text + last, end - last, compose, compatible, out, codes);
        copied = last = at = end;
    }
    return r ? r : buf_push(out, text + copied, n - copied);
}
