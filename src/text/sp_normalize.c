/* SentencePiece's normalizer: see sp_normalize.h. The order of things is that of sentencepiece's
 * normalizer.cc. */
#include "config.h"
#include "src/text/sp_normalize.h"

#include <string.h>

#include "src/base/utf8.h"

struct span {
    const uint8_t *s;
    size_t n;
};

/* What the beginning of the text becomes; the length of that beginning is returned. */
static size_t next(const struct sp_normalize *z, struct span in, struct span *ret)
{
    const struct added_entry *kept = z->kept ? added_index_longest(z->kept, in.s, in.n) : NULL;
    if (kept) {
        *ret = (struct span){in.s, kept->n};
        return kept->n;
    }
    size_t n = charsmap_find(&z->map, in.s, in.n, false, &ret->s, &ret->n);
    if (n)
        return n;
    *ret = (struct span){in.s, utf8_length(in.s[0])};
    return ret->n;
}

/* Bytes at the beginning that stay as they are, whatever is before them: none where a rule may match. */
static size_t plain(const struct sp_normalize *z, struct span in)
{
    if (z->map.n_unit || (z->kept && z->kept->n))
        return 0;
    const uint8_t *space = memchr(in.s, ' ', in.n);
    return space ? (size_t)(space - in.s) : in.n;
}

static int push_space(const struct sp_normalize *z, struct buf *out)
{
    return z->escape ? buf_push(out, SP_SPACE, 3) : buf_push(out, " ", 1);
}

static int push(const struct sp_normalize *z, struct span s, struct buf *out)
{
    int r = 0;
    while (s.n && r == 0) {
        const uint8_t *space = memchr(s.s, ' ', s.n);
        size_t n = space ? (size_t)(space - s.s) : s.n;
        r = n ? buf_push(out, s.s, n) : 0;
        if (r == 0 && space)
            r = push_space(z, out);
        n += space != NULL;
        s = (struct span){s.s + n, s.n - n};
    }
    return r;
}

static struct span skip(struct span s, size_t n)
{
    return (struct span){s.s + n, s.n - n};
}

static struct span skip_heading(const struct sp_normalize *z, struct span in)
{
    while (in.n) {
        struct span to;
        size_t n = next(z, in, &to);
        if (to.n != 1 || to.s[0] != ' ')
            break;
        in = skip(in, n);
    }
    return in;
}

static int push_body(const struct sp_normalize *z, struct span in, bool after_space, struct buf *out)
{
    int r = 0;
    while (in.n && r == 0) {
        size_t n = plain(z, in);
        if (n) {
            r = buf_push(out, in.s, n);
            after_space = false;
            in = skip(in, n);
            continue;
        }
        struct span to;
        n = next(z, in, &to);
        while (after_space && to.n && to.s[0] == ' ')
            to = skip(to, 1);
        if (to.n) {
            r = push(z, to, out);
            after_space = z->remove_extra && to.s[to.n - 1] == ' ';
        }
        in = skip(in, n);
    }
    return r;
}

int sp_normalize(const struct sp_normalize *z, const uint8_t *text, size_t n, bool heading, struct buf *out)
{
    struct span in = {text, n};
    const size_t start = out->n;
    if (heading && z->remove_extra)
        in = skip_heading(z, in);
    if (in.n == 0)
        return 0;
    int r = heading && z->dummy_prefix && !z->suffix ? push_space(z, out) : 0;
    if (r == 0)
        r = push_body(z, in, heading && z->remove_extra, out);
    if (r == 0 && z->remove_extra) {
        const char *space = z->escape ? SP_SPACE : " ";
        size_t length = strlen(space);
        while (out->n - start >= length && memcmp(out->data + out->n - length, space, length) == 0)
            out->n -= length;
    }
    return r || !z->dummy_prefix || !z->suffix ? r : push_space(z, out);
}
