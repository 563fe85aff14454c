/* The Precompiled normalizer: see precompiled.h. */
#include "config.h"
#include "src/text/precompiled.h"

#include <stdbool.h>
#include <utf8proc.h>

#include "src/base/utf8.h"

enum { MAX_CLUSTER = 5 /* bytes of a cluster that rules are looked up for as a whole */ };

/* The end of the grapheme cluster that begins the text. */
static size_t cluster_end(const uint8_t *text, size_t n)
{
    utf8proc_int32_t state = 0;
    size_t at = utf8_length(text[0]);
    while (at < n) {
        uint32_t before = utf8_decode(utf8_previous(text + at)), after = utf8_decode(text + at);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)after, &state))
            break;
        at += utf8_length(text[at]);
    }
    return at;
}

/* Appends what a rule makes of the text; *ret_done tells whether there is one. */
static int replace(const struct charsmap *m, const uint8_t *text, size_t n, struct buf *out, bool *ret_done)
{
    const uint8_t *to;
    size_t n_to;
    *ret_done = charsmap_find(m, text, n, true, &to, &n_to) != 0;
    return *ret_done ? buf_push(out, to, n_to) : 0;
}

int precompiled_apply(const struct charsmap *m, const uint8_t *text, size_t n, struct buf *out)
{
    int r = 0;
    for (size_t at = 0; at < n && r == 0;) {
        size_t end = at + cluster_end(text + at, n - at);
        bool done = false;
        if (end - at <= MAX_CLUSTER)
            r = replace(m, text + at, end - at, out, &done);
        for (size_t length; at < end && !done && r == 0; at += length) {
            bool replaced;
            length = utf8_length(text[at]);
            r = replace(m, text + at, length, out, &replaced);
            if (r == 0 && !replaced)
                r = buf_push(out, text + at, length);
        }
        at = end;
    }
    return r;
}
