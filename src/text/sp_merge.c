/* SentencePiece's BPE: see sp_merge.h. The order of merges is that of sentencepiece's bpe_model.cc. */
#include "config.h"
#include "src/text/sp_merge.h"

#include <errno.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"

#define NONE UINT32_MAX

struct symbol {
    uint32_t at, n; /* in the text; n is 0 once it was merged into its neighbour */
    uint32_t previous, next;
    bool kept;
};

/* Two neighbours that are a piece together. */
struct pair {
    float score;
    uint32_t left, right;
    uint32_t n; /* bytes of both, as they were then */
};

struct span {
    uint32_t at, n;
};

/* Of an unused piece: the two parts that it was last seen to be made of. */
struct seam {
    uint32_t at, n_left, n;
};

/* All of one run, with the buffers' types. */
struct merge {
    const struct sp_merge *m;
    struct sp_merge_run *run;
    const uint8_t *text;
    struct symbol *symbols;
    struct seam *seams; /* NULL: no piece is unused */
    struct token_list *out;
    bool after_unknown;
};

void sp_merge_run_deinit(struct sp_merge_run *run)
{
    buf_deinit(&run->symbols);
    buf_deinit(&run->heap);
    buf_deinit(&run->spans);
    buf_deinit(&run->seams);
}

/* ---- a heap of pairs: the highest score first, then the leftmost ---- */

static bool is_before(const struct pair *a, const struct pair *b)
{
    return a->score > b->score || (a->score == b->score && a->left < b->left);
}

static int push_pair(struct buf *heap, struct pair pair)
{
    int r = buf_push(heap, &pair, sizeof pair);
    if (r)
        return -ENOMEM;
    struct pair *pairs = (struct pair *)(void *)heap->data;
    size_t i = heap->n / sizeof pair - 1;
    for (size_t up; i > 0 && is_before(&pair, &pairs[up = (i - 1) / 2]); i = up)
        pairs[i] = pairs[up];
    pairs[i] = pair;
    return 0;
}

static struct pair pop_pair(struct buf *heap)
{
    struct pair *pairs = (struct pair *)(void *)heap->data, top = pairs[0];
    heap->n -= sizeof top;
    size_t n = heap->n / sizeof top, i = 0;
    struct pair last = pairs[n];
    for (size_t down; (down = 2 * i + 1) < n; i = down) {
        if (down + 1 < n && is_before(&pairs[down + 1], &pairs[down]))
            down++;
        if (!is_before(&pairs[down], &last))
            break;
        pairs[i] = pairs[down];
    }
    pairs[i] = last;
    return top;
}

/* ---- merging ---- */

static int look_up(struct merge *g, uint32_t left, uint32_t right)
{
    if (left == NONE || right == NONE || g->symbols[left].kept || g->symbols[right].kept)
        return 0;
    const struct symbol *a = &g->symbols[left], *b = &g->symbols[right];
    int32_t id = vocab_find(g->m->vocab, g->text + a->at, a->n + b->n);
    if (id == VOCAB_NONE)
        return 0;
    if (g->seams && g->m->unused[id])
        g->seams[id] = (struct seam){a->at, a->n, a->n + b->n};
    return push_pair(&g->run->heap, (struct pair){g->m->scores[id], left, right, a->n + b->n});
}

static int cut(struct merge *g, size_t n)
{
    struct buf *out = &g->run->symbols;
    out->n = 0;
    for (size_t at = 0, i = 0, length; at < n; at += length, i++) {
        const struct added_entry *kept =
            g->m->kept ? added_index_longest(g->m->kept, g->text + at, n - at) : NULL;
        length = kept ? kept->n : utf8_length(g->text[at]);
        struct symbol s = {.at = (uint32_t)at,
                           .n = (uint32_t)length,
                           .previous = i ? (uint32_t)i - 1 : NONE,
                           .next = at + length < n ? (uint32_t)i + 1 : NONE,
                           .kept = kept != NULL};
        if (buf_push(out, &s, sizeof s))
            return -ENOMEM;
    }
    g->symbols = (struct symbol *)(void *)out->data;
    return 0;
}

static int merge_all(struct merge *g)
{
    struct symbol *s = g->symbols;
    struct buf *heap = &g->run->heap;
    size_t n = g->run->symbols.n / sizeof *s;
    int r = 0;
    heap->n = 0;
    for (size_t i = 1; i < n && r == 0; i++)
        r = look_up(g, (uint32_t)i - 1, (uint32_t)i);
    while (r == 0 && heap->n) {
        struct pair top = pop_pair(heap);
        struct symbol *left = &s[top.left], *right = &s[top.right];
        if (left->n == 0 || right->n == 0 || left->n + right->n != top.n)
            continue;
        left->n += right->n;
        left->next = right->next;
        right->n = 0;
        if (left->next != NONE)
            s[left->next].previous = top.left;
        r = look_up(g, left->previous, top.left);
        if (r == 0)
            r = look_up(g, top.left, left->next);
    }
    return r;
}

/* ---- symbols to ids ---- */

/* As its bytes, if all have a piece; else neighbours are one unknown token, if the model has that. */
static int push_unknown(struct merge *g, const uint8_t *text, size_t n)
{
    int r = 0;
    bool has_bytes = g->m->byte_fallback;
    for (size_t i = 0; i < n; i++)
        has_bytes = has_bytes && g->m->bytes[text[i]] != VOCAB_NONE;
    for (size_t i = 0; i < n && has_bytes && r == 0; i++)
        r = token_list_push(g->out, g->m->bytes[text[i]]);
    if (!has_bytes && !g->after_unknown && g->m->unk != VOCAB_NONE)
        r = token_list_push(g->out, g->m->unk);
    g->after_unknown = !has_bytes;
    return r;
}

/* An unused piece falls apart into what it was made of, and so do its parts. */
static int push_symbol(struct merge *g, struct span whole)
{
    struct buf *stack = &g->run->spans;
    stack->n = 0;
    int r = buf_push(stack, &whole, sizeof whole);
    while (r == 0 && stack->n) {
        struct span s;
        stack->n -= sizeof s;
        memcpy(&s, stack->data + stack->n, sizeof s);
        int32_t id = vocab_find(g->m->vocab, g->text + s.at, s.n);
        bool unused = g->seams && id != VOCAB_NONE && g->m->unused[id];
        const struct seam *seam = unused ? &g->seams[id] : NULL;
        if (unused && seam->n) {
            struct span parts[] = {{seam->at + seam->n_left, seam->n - seam->n_left},
                                   {seam->at, seam->n_left}};
            r = buf_push(stack, parts, sizeof parts);
            continue;
        }
        if (unused || id == VOCAB_NONE) {
            r = push_unknown(g, g->text + s.at, s.n);
        } else {
            r = token_list_push(g->out, id);
            g->after_unknown = false;
        }
    }
    return r ? -ENOMEM : 0;
}

static int prepare_seams(struct merge *g)
{
    struct buf *seams = &g->run->seams;
    size_t bytes;
    if (!g->m->unused)
        return 0;
    if (!mem_product(g->m->vocab->n_id, sizeof(struct seam), &bytes))
        return -ENOMEM;
    seams->n = 0;
    if (buf_reserve(seams, bytes))
        return -ENOMEM;
    memset(seams->data, 0, bytes);
    g->seams = (struct seam *)(void *)seams->data;
    return 0;
}

int sp_merge_encode(const struct sp_merge *m, struct sp_merge_run *run, const uint8_t *text, size_t n,
                    struct token_list *out)
{
    struct merge g = {.m = m, .run = run, .text = text, .out = out};
    if (n > INT32_MAX)
        return -ENOMEM;
    int r = prepare_seams(&g);
    if (r == 0)
        r = cut(&g, n);
    if (r == 0 && n)
        r = merge_all(&g);
    for (uint32_t i = n ? 0 : NONE; i != NONE && r == 0; i = g.symbols[i].next)
        r = push_symbol(&g, (struct span){g.symbols[i].at, g.symbols[i].n});
    return r;
}
