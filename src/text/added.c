/* Added tokens: see added.h. */
#include "config.h"
#include "src/text/added.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/text/jinja.h"
#include "src/text/unicode.h"

void added_index_deinit(struct added_index *x)
{
    buf_deinit(&x->pool);
    free(x->entries);
    *x = (struct added_index)ADDED_INDEX_NULL;
}

int added_index_push(struct added_index *x, const uint8_t *search, size_t n, uint32_t token)
{
    struct added_entry *entries = mem_resize(x->entries, x->n + 1, sizeof *entries);
    if (!entries)
        return -ENOMEM;
    x->entries = entries;
    entries[x->n] = (struct added_entry){.at = (uint32_t)x->pool.n, .n = (uint32_t)n, .token = token};
    int r = buf_push(&x->pool, search, n);
    if (r == 0)
        x->n++;
    return r;
}

static int compare(const void *a, const void *b, void *pool)
{
    const struct added_entry *left = a, *right = b;
    const uint8_t *bytes = pool;
    uint32_t n = left->n < right->n ? left->n : right->n;
    int order = memcmp(bytes + left->at, bytes + right->at, n);
    if (order == 0 && left->n != right->n)
        return left->n < right->n ? -1 : 1;
    return order ? order : left->token < right->token ? -1 : 1;
}

void added_index_seal(struct added_index *x)
{
    if (x->n)
        qsort_r(x->entries, x->n, sizeof *x->entries, compare, x->pool.data);
    uint32_t i = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        x->first[byte] = i;
        while (i < x->n && x->pool.data[x->entries[i].at] == byte)
            i++;
    }
    x->first[256] = i;
}

/* The first entry in [low, high) whose byte at `depth` is at least `byte`; all of them are longer than depth.
 */
static uint32_t lower_bound(const struct added_index *x, uint32_t low, uint32_t high, uint32_t depth,
                            unsigned byte)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (x->pool.data[x->entries[middle].at + depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The range of entries is narrowed byte by byte, and the shortest of a range comes first in it. */
const struct added_entry *added_index_longest(const struct added_index *x, const uint8_t *text, size_t n)
{
    const struct added_entry *found = NULL;
    uint32_t low = x->first[text[0]], high = x->first[text[0] + 1];
    for (uint32_t depth = 1; low < high; depth++) {
        if (x->entries[low].n == depth) {
            found = &x->entries[low];
            while (low < high && x->entries[low].n == depth)
                low++;
        }
        if (depth == n)
            break;
        low = lower_bound(x, low, high, depth, text[depth]);
        high = lower_bound(x, low, high, depth, text[depth] + 1U);
    }
    return found;
}

static bool has_word_before(const uint8_t *text, size_t at)
{
    return at > 0 && (unicode_flags(utf8_decode(utf8_previous(text + at))) & UNICODE_WORD);
}

static bool has_class_at(const uint8_t *text, size_t n, size_t at, uint8_t flags)
{
    return at < n && (unicode_flags(utf8_decode(text + at)) & flags);
}

/* Bytes from here to the next input. The walk goes forward, so ranges that end before this place are done. */
static size_t count_own(struct added_walk *w)
{
    const size_t at = w->first + w->at;
    while (w->n_input && w->inputs->first + w->inputs->n <= at) {
        w->inputs++;
        w->n_input--;
    }
    return w->n_input == 0 ? SIZE_MAX : w->inputs->first > at ? w->inputs->first - at : 0;
}

/* The longest token that begins here. One that controls a conversation has no byte of the input; where the
 * input only makes it longer, it is the shorter one, and where it begins before that, none. */
static const struct added_entry *find(struct added_walk *w)
{
    const uint8_t *text = w->text + w->at;
    const struct added_entry *e = added_index_longest(w->index, text, w->n - w->at);
    if (!e || !(w->tokens[e->token].special || (w->control && w->control[e->token])))
        return e;
    size_t n_own = count_own(w);
    return e->n <= n_own ? e : n_own > 0 ? added_index_longest(w->index, text, n_own) : NULL;
}

/* Applies the token's conditions; false: this is no match after all. */
static bool accept(struct added_walk *w, struct added_match *m)
{
    const struct added_token *t = m->token;
    if (w->skip_special && t->special)
        return false;
    if (t->single_word &&
        (has_word_before(w->text, m->from) || has_class_at(w->text, w->n, m->to, UNICODE_WORD)))
        return false;
    while (t->lstrip && m->from > w->done) {
        const uint8_t *last = utf8_previous(w->text + m->from);
        if (!(unicode_flags(utf8_decode(last)) & UNICODE_SPACE))
            break;
        m->from = (size_t)(last - w->text);
    }
    while (t->rstrip && has_class_at(w->text, w->n, m->to, UNICODE_SPACE))
        m->to += utf8_length(w->text[m->to]);
    return true;
}

bool added_walk_next(struct added_walk *w, struct added_match *match)
{
    const struct added_index *x = w->index;
    if (x->n == 0)
        return false;
    while (w->at < w->n) {
        uint8_t byte = w->text[w->at];
        const struct added_entry *e = NULL;
        if (x->first[byte] != x->first[byte + 1])
            e = find(w);
        if (!e) {
            w->at++;
            continue;
        }
        *match = (struct added_match){.from = w->at, .to = w->at + e->n, .token = &w->tokens[e->token]};
        w->at += e->n;
        if (accept(w, match))
            return true;
    }
    return false;
}
