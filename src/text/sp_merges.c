/* The merges behind a SentencePiece model: see sp_merges.h. */
#include "config.h"
#include "src/text/sp_merges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"

enum { N_CODE = 0x110000 };

void sp_merges_deinit(struct sp_merges *m)
{
    free(m->list);
    m->list = NULL;
    m->n = m->capacity = 0;
}

/* A piece that is found by its spelling and is not kept apart. */
struct piece {
    float score;
    int32_t id;
};

static int compare(const void *a, const void *b)
{
    const struct piece *left = a, *right = b;
    if (left->score != right->score)
        return left->score > right->score ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

/* As trainers write them. */
static bool is_sorted(const struct piece *pieces, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (compare(&pieces[i - 1], &pieces[i]) > 0)
            return false;
    return true;
}

static int push(struct sp_merges *m, struct bpe_merge merge)
{
    if (m->n == m->capacity) {
        size_t capacity = m->capacity ? 2 * m->capacity : 4096;
        struct bpe_merge *list = m->n < BPE_MAX_MERGES ? mem_resize(m->list, capacity, sizeof *list) : NULL;
        if (!list)
            return -ENOMEM;
        m->list = list;
        m->capacity = capacity;
    }
    m->list[m->n++] = merge;
    return 0;
}

static bool is_part(const bool *parts, int32_t id)
{
    return id != VOCAB_NONE && parts[id];
}

/* All merges that make this piece; `score` is that of the last merge in the list. */
static int split(struct sp_merges *m, const bool *parts, const struct piece *p, float *score)
{
    size_t n;
    const uint8_t *s = vocab_piece(m->vocab, p->id, &n);
    int r = 0;
    for (size_t at = 0; r == 0;) {
        at += utf8_length(s[at]);
        if (at >= n)
            break;
        int32_t left = vocab_find(m->vocab, s, at);
        int32_t right = is_part(parts, left) ? vocab_find(m->vocab, s + at, n - at) : VOCAB_NONE;
        if (!is_part(parts, right))
            continue;
        r = push(m, (struct bpe_merge){
                        .left = left, .right = right, .merged = p->id, .tied = m->n && *score == p->score});
        *score = p->score;
        m->has_unused |= m->unused && m->unused[p->id];
    }
    return r;
}

/* Whether some piece of more than one character holds one that is no piece. */
static int find_gaps(struct sp_merges *m, const struct piece *pieces, size_t n_piece)
{
    uint8_t *single = mem_array(N_CODE / 8, 1);
    if (!single)
        return -ENOMEM;
    for (size_t i = 0; m->kept && i < m->kept->n; i++) {
        const uint8_t *s = m->kept->pool.data + m->kept->entries[i].at;
        if (utf8_length(s[0]) == m->kept->entries[i].n)
            single[utf8_decode(s) / 8] |= (uint8_t)(1 << utf8_decode(s) % 8);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n_piece; i++) {
            size_t n;
            const uint8_t *s = vocab_piece(m->vocab, pieces[i].id, &n);
            for (size_t at = 0; at < n; at += utf8_length(s[at])) {
                uint32_t code = utf8_decode(s + at);
                if (pass == 0 && utf8_length(s[0]) == n)
                    single[code / 8] |= (uint8_t)(1 << code % 8);
                else if (pass == 1)
                    m->has_gaps |= !(single[code / 8] >> code % 8 & 1);
            }
        }
    }
    free(single);
    return 0;
}

int sp_merges_find(struct sp_merges *m)
{
    const size_t n_id = m->vocab->n_id;
    struct piece *pieces = mem_array(n_id, sizeof *pieces);
    bool *parts = mem_array(n_id, sizeof *parts);
    size_t n_piece = 0;
    int r = pieces && parts ? 0 : -ENOMEM;
    for (size_t i = 0; i < n_id && r == 0; i++)
        parts[i] = vocab_is_found(m->vocab, (int32_t)i);
    for (size_t i = 0; m->kept && i < m->kept->n && r == 0; i++)
        parts[m->kept->entries[i].token] = false;
    for (size_t i = 0; i < n_id && r == 0; i++)
        if (parts[i])
            pieces[n_piece++] = (struct piece){m->scores[i], (int32_t)i};
    if (!is_sorted(pieces, n_piece))
        qsort(pieces, n_piece, sizeof *pieces, compare);
    if (r == 0)
        r = find_gaps(m, pieces, n_piece);
    float score = 0;
    for (size_t i = 0; i < n_piece && r == 0; i++)
        r = split(m, parts, &pieces[i], &score);
    free(parts);
    free(pieces);
    return r;
}
