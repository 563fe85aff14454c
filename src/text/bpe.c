/* Byte-pair encoding: tables, symbols of a word, and merging of short parts. See bpe.h; bpe_long.c has the
 * long. */
#include "config.h"
#include "src/text/bpe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/text/bpe_long.h"
#include "src/text/bytelevel.h"

enum {
    SMALL = 64,          /* symbols that are merged in an array; picked, not measured */
    BYTE_JOIN_BITS = 16, /* one bit for each pair of bytes */
    MAX_JOIN_BITS = 24,
    NO_CHARACTER = -1, /* an unknown character or a fallback byte: never part of a merge */
};

/* ---- tables ---- */

static size_t pair_slot(int32_t left, int32_t right, size_t mask)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(key ^ key >> 32) & mask;
}

const struct bpe_pair *bpe_find(const struct bpe *b, int32_t left, int32_t right)
{
    for (size_t i = pair_slot(left, right, b->pair_mask);; i = (i + 1) & b->pair_mask) {
        const struct bpe_pair *p = &b->pairs[i];
        if (p->left == left && p->right == right)
            return p;
        if (p->left == VOCAB_NONE)
            return NULL;
    }
}

/* Of equal pairs the last one counts, as where a hash map is filled in order. */
static void put_pair(struct bpe *b, const struct bpe_merge *m, uint32_t rank)
{
    size_t i = pair_slot(m->left, m->right, b->pair_mask);
    while (b->pairs[i].left != VOCAB_NONE && (b->pairs[i].left != m->left || b->pairs[i].right != m->right))
        i = (i + 1) & b->pair_mask;
    b->pairs[i] = (struct bpe_pair){.left = m->left, .right = m->right, .rank = rank, .merged = m->merged};
}

static int build_pairs(struct bpe *b, const struct bpe_merge *merges, size_t n_merge)
{
    size_t n_slot = 16;
    while (n_slot < n_merge + n_merge / 2 + 1)
        n_slot *= 2;
    b->pairs = mem_resize(NULL, n_slot, sizeof *b->pairs);
    if (!b->pairs)
        return -ENOMEM;
    b->pair_mask = n_slot - 1;
    for (size_t i = 0; i < n_slot; i++)
        b->pairs[i].left = VOCAB_NONE;
    for (size_t i = 0; i < n_merge; i++) {
        b->n_rank += i == 0 || !merges[i].tied;
        put_pair(b, &merges[i], b->n_rank - 1);
    }
    return 0;
}

int32_t bpe_byte_piece(const struct vocab *vocab, uint8_t byte)
{
    static const char digits[] = "0123456789ABCDEF";
    char piece[] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
    return vocab_find(vocab, piece, sizeof piece);
}

static void find_symbols(struct bpe *b)
{
    for (unsigned i = 0; i < 256; i++) {
        uint8_t byte = (uint8_t)i, spelling[2];
        if (b->byte_level)
            b->bytes[i] = vocab_find(b->vocab, spelling, bytelevel_spell(&byte, 1, spelling));
        else
            b->bytes[i] = b->byte_fallback ? bpe_byte_piece(b->vocab, byte) : VOCAB_NONE;
        if (i < 128)
            b->ascii[i] = vocab_find(b->vocab, &byte, 1);
    }
}

/* Where a pair of characters has its bit. Characters of a byte-level model are bytes. */
static size_t join_bit(const struct bpe *b, int32_t left, int32_t right)
{
    if (b->byte_level)
        return (size_t)left << 8 | (size_t)right;
    uint32_t hash = ((uint32_t)left * UINT32_C(0x9e3779b1)) ^ ((uint32_t)right * UINT32_C(0x85ebca6b));
    hash *= UINT32_C(0xc2b2ae35);
    return hash >> (32 - b->join_bits);
}

static bool joins(const struct bpe *b, int32_t left, int32_t right)
{
    size_t bit = join_bit(b, left, right);
    return b->joins[bit / 64] >> bit % 64 & 1;
}

/* The last (first) character of a piece, or NO_CHARACTER for one that no text leads to. */
static int32_t edge(const struct bpe *b, int32_t id, bool last)
{
    size_t n;
    const uint8_t *piece = vocab_piece(b->vocab, id, &n);
    if (n == 0)
        return NO_CHARACTER;
    uint32_t code = utf8_decode(last ? utf8_previous(piece + n) : piece);
    return b->byte_level ? bytelevel_byte(code) : (int32_t)code;
}

/* Whether a symbol of a word is this piece although the piece is not that character. */
static bool is_odd_symbol(const struct bpe *b, int32_t id)
{
    size_t n;
    const uint8_t *piece = vocab_piece(b->vocab, id, &n);
    if (id == b->unk)
        return true;
    return !b->byte_level && b->byte_fallback && n == 6 && memcmp(piece, "<0x", 3) == 0;
}

/* Every border inside a piece that merging can make lies between the last character of some merge's left part
 * and the first of its right part. So between two characters that are no such pair a word may be cut. */
static int build_joins(struct bpe *b, const struct bpe_merge *merges, size_t n_merge)
{
    unsigned bits = BYTE_JOIN_BITS;
    while (!b->byte_level && bits < MAX_JOIN_BITS && ((size_t)1 << bits) < 8 * n_merge)
        bits++;
    for (size_t i = 0; i < n_merge; i++)
        if (is_odd_symbol(b, merges[i].left) || is_odd_symbol(b, merges[i].right))
            return 0;
    b->joins = mem_array(((size_t)1 << bits) / 64, sizeof *b->joins);
    if (!b->joins)
        return -ENOMEM;
    b->join_bits = bits;
    for (size_t i = 0; i < n_merge; i++) {
        int32_t left = edge(b, merges[i].left, true), right = edge(b, merges[i].right, false);
        if (left == NO_CHARACTER || right == NO_CHARACTER)
            continue;
        size_t bit = join_bit(b, left, right);
        b->joins[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    return 0;
}

int bpe_seal(struct bpe *b, const struct bpe_merge *merges, size_t n_merge)
{
    find_symbols(b);
    int r = build_pairs(b, merges, n_merge);
    return r ? r : build_joins(b, merges, n_merge);
}

void bpe_deinit(struct bpe *b)
{
    free(b->pairs);
    free(b->joins);
    *b = (struct bpe)BPE_NULL;
}

void bpe_run_deinit(struct bpe_run *run)
{
    token_list_deinit(&run->symbols);
    buf_deinit(&run->spelling);
    run->long_run = bpe_long_free(run->long_run);
}

/* ---- merging ---- */

static int merge_small(const struct bpe *b, const int32_t *symbols, size_t n, struct token_list *out)
{
    int32_t ids[SMALL], merged[SMALL];
    uint32_t ranks[SMALL]; /* of the pair (i, i + 1); UINT32_MAX: none */
    memcpy(ids, symbols, n * sizeof *ids);
#define LOOK_UP(i)                                                                             \
    do {                                                                                       \
        const struct bpe_pair *pair_ = (i) + 1 < n ? bpe_find(b, ids[i], ids[(i) + 1]) : NULL; \
        ranks[i] = pair_ ? pair_->rank : UINT32_MAX;                                           \
        merged[i] = pair_ ? pair_->merged : VOCAB_NONE;                                        \
    } while (0)
    for (size_t i = 0; i < n; i++)
        LOOK_UP(i);
    for (;;) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (ranks[i] < ranks[best])
                best = i;
        if (ranks[best] == UINT32_MAX)
            break;
        size_t tail = n - best - 2;
        ids[best] = merged[best];
        memmove(ids + best + 1, ids + best + 2, tail * sizeof *ids);
        memmove(ranks + best + 1, ranks + best + 2, tail * sizeof *ranks);
        memmove(merged + best + 1, merged + best + 2, tail * sizeof *merged);
        n--;
        LOOK_UP(best);
        if (best)
            LOOK_UP(best - 1);
    }
#undef LOOK_UP
    int r = token_list_reserve(out, n);
    if (r)
        return r;
    memcpy(out->data + out->n, ids, n * sizeof *ids);
    out->n += n;
    return 0;
}

/* ---- the symbols of a word ---- */

/* A word on its way: symbols are gathered until a cut, then merged. */
struct gather {
    const struct bpe *bpe;
    struct bpe_run *run;
    struct token_list *out;
    int32_t previous; /* the last symbol's character */
    bool unknown;     /* an unknown symbol is due before the next known one */
};

static int flush(struct gather *g)
{
    struct token_list *s = &g->run->symbols;
    size_t n = s->n;
    s->n = 0;
    if (n <= 1)
        return n ? token_list_push(g->out, s->data[0]) : 0;
    if (n <= SMALL)
        return merge_small(g->bpe, s->data, n, g->out);
    return bpe_long_merge(g->bpe, &g->run->long_run, s->data, n, BPE_LONG_WINDOW, g->out);
}

static int push_symbol(struct gather *g, int32_t id, int32_t character)
{
    const struct bpe *b = g->bpe;
    bool cut =
        b->join_bits && g->run->symbols.n &&
        (g->previous == NO_CHARACTER || character == NO_CHARACTER || !joins(b, g->previous, character));
    int r = cut ? flush(g) : 0;
    g->previous = character;
    return r ? r : token_list_push(&g->run->symbols, id);
}

static int push_known(struct gather *g, int32_t id, int32_t character)
{
    int r = g->unknown ? push_symbol(g, g->bpe->unk, NO_CHARACTER) : 0;
    g->unknown = false;
    return r ? r : push_symbol(g, id, character);
}

/* A character without a piece: nothing where the model has no unknown token; neighbours are one token where
 * it fuses them. */
static int push_unknown(struct gather *g)
{
    if (g->bpe->unk == VOCAB_NONE)
        return 0;
    int r = g->unknown && !g->bpe->fuse_unk ? push_symbol(g, g->bpe->unk, NO_CHARACTER) : 0;
    g->unknown = true;
    return r;
}

static int gather_bytes(struct gather *g, const uint8_t *word, size_t n)
{
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        int32_t id = g->bpe->bytes[word[i]];
        r = id == VOCAB_NONE ? push_unknown(g) : push_known(g, id, word[i]);
    }
    return r;
}

/* A character's bytes as pieces of their own, if all have one: *ret_done. An unknown symbol that is due stays
 * due: that is how the reference orders them. */
static int push_fallback(struct gather *g, const uint8_t *character, size_t n, bool *ret_done)
{
    int r = 0;
    for (size_t i = 0; i < n; i++)
        if (g->bpe->bytes[character[i]] == VOCAB_NONE)
            return 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = push_symbol(g, g->bpe->bytes[character[i]], NO_CHARACTER);
    *ret_done = true;
    return r;
}

static int gather_characters(struct gather *g, const uint8_t *word, size_t n)
{
    const struct bpe *b = g->bpe;
    int r = 0;
    for (size_t at = 0, length; at < n && r == 0; at += length) {
        const struct added_entry *kept = b->kept ? added_index_longest(b->kept, word + at, n - at) : NULL;
        if (kept) {
            length = kept->n;
            r = push_known(g, (int32_t)kept->token, NO_CHARACTER);
            continue;
        }
        length = utf8_length(word[at]);
        int32_t id = length == 1 ? b->ascii[word[at]] : vocab_find(b->vocab, word + at, length);
        bool done = false;
        if (id != VOCAB_NONE) {
            r = push_known(g, id, (int32_t)utf8_decode(word + at));
            continue;
        }
        if (b->byte_fallback)
            r = push_fallback(g, word + at, length, &done);
        if (r == 0 && !done)
            r = push_unknown(g);
    }
    return r;
}

/* The piece that is the whole word, or VOCAB_NONE. */
static int find_whole(const struct bpe *b, struct bpe_run *run, const uint8_t *word, size_t n,
                      int32_t *ret_id)
{
    *ret_id = VOCAB_NONE;
    if (n > b->vocab->longest)
        return 0;
    if (!b->byte_level) {
        *ret_id = vocab_find(b->vocab, word, n);
        return 0;
    }
    run->spelling.n = 0;
    int r = buf_reserve(&run->spelling, 2 * n);
    if (r == 0)
        *ret_id = vocab_find(b->vocab, run->spelling.data, bytelevel_spell(word, n, run->spelling.data));
    return r;
}

int bpe_encode(const struct bpe *b, struct bpe_run *run, const uint8_t *word, size_t n,
               struct token_list *out)
{
    struct gather g = {.bpe = b, .run = run, .out = out, .previous = NO_CHARACTER};
    if (b->ignore_merges) {
        int32_t id;
        int r = find_whole(b, run, word, n, &id);
        if (r || id != VOCAB_NONE)
            return r ? r : token_list_push(out, id);
    }
    run->symbols.n = 0;
    int r = token_list_reserve(&run->symbols, n); /* at once: a word of megabytes is not moved as it grows */
    if (r)
        return r;
    r = b->byte_level ? gather_bytes(&g, word, n) : gather_characters(&g, word, n);
    if (r == 0 && g.unknown)
        r = push_symbol(&g, b->unk, NO_CHARACTER);
    return r ? r : flush(&g);
}
