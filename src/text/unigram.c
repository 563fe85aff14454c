/* The Unigram model: see unigram.h. */
#include "config.h"
#include "src/text/unigram.h"

#include <errno.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"

#define UNKNOWN_PENALTY 10.0 /* an unknown character scores that much less than the worst piece */
#define USER_BONUS 0.1       /* SentencePiece: a user-defined piece scores this for each byte but the first */
#define SINGLE_LIMIT 100000.0f

/* How the best path to a byte ends. */
struct node {
    int32_t id;
    uint32_t n; /* bytes of the last piece; 0: no path was found yet */
};

void unigram_deinit(struct unigram *u)
{
    trie_deinit(&u->trie);
    free(u->scores);
    free(u->user);
    *u = (struct unigram)UNIGRAM_NULL;
}

void unigram_run_deinit(struct unigram_run *run)
{
    buf_deinit(&run->nodes);
    token_list_deinit(&run->ids);
    free(run->sums);
    *run = (struct unigram_run)UNIGRAM_RUN_NULL;
}

static int prepare(struct unigram_run *run, size_t longest, size_t n)
{
    size_t n_sum = 8;
    while (n_sum <= longest + UTF8_MAX)
        n_sum *= 2;
    if (run->mask + 1 < n_sum || !run->sums) {
        double *sums = mem_resize(run->sums, n_sum, sizeof *sums);
        if (!sums)
            return -ENOMEM;
        run->sums = sums;
        run->mask = n_sum - 1;
    }
    size_t bytes;
    if (n >= UINT32_MAX || !mem_product(n + 1, sizeof(struct node), &bytes))
        return -ENOMEM;
    run->nodes.n = 0;
    return buf_reserve(&run->nodes, bytes) ? -ENOMEM : 0;
}

/* Offers a path to byte `to` whose last piece begins at `from`. */
static void offer(const struct unigram *u, struct unigram_run *run, size_t from, size_t to, int32_t id,
                  double score)
{
    struct node *node = (struct node *)(void *)run->nodes.data + to;
    double sum = score + run->sums[from & run->mask];
    if (u->single)
        sum = (float)sum;
    if (node->n && !(sum > run->sums[to & run->mask]))
        return;
    *node = (struct node){.id = id, .n = (uint32_t)(to - from)};
    run->sums[to & run->mask] = sum;
    if (to > run->frontier)
        run->frontier = to;
}

static double score_of(const struct unigram *u, int32_t id, size_t n)
{
    return u->user && u->user[id] ? (float)(USER_BONUS * (double)(n - 1)) : u->scores[id];
}

/* SentencePiece keeps single sums small, so that they stay exact enough: beyond a limit, the sum here is
 * subtracted from all that lie ahead. */
static void rebase(struct unigram_run *run, size_t from)
{
    const struct node *nodes = (const struct node *)(const void *)run->nodes.data;
    const float offset = (float)run->sums[from & run->mask];
    if (offset >= -SINGLE_LIMIT && offset <= SINGLE_LIMIT)
        return;
    run->sums[from & run->mask] = 0;
    for (size_t i = from + 1; i <= run->frontier; i++)
        if (nodes[i].n)
            run->sums[i & run->mask] = (float)run->sums[i & run->mask] - offset;
}

/* All pieces that the text at `from` begins with, and the unknown character where none is just the first. */
static void extend(const struct unigram *u, struct unigram_run *run, const uint8_t *word, size_t n,
                   size_t from)
{
    size_t length = utf8_length(word[from]);
    bool has_single = false;
    uint32_t node = TRIE_ROOT;
    if (u->single)
        rebase(run, from);
    for (size_t at = from; at < n;) {
        node = trie_step(&u->trie, node, word[at++]);
        if (node == TRIE_ROOT)
            break;
        int32_t id = u->trie.values[node];
        if (id == TRIE_NONE)
            continue;
        offer(u, run, from, at, id, score_of(u, id, at - from));
        has_single |= at - from == length;
    }
    double unknown =
        u->single ? (float)u->min_score - (float)UNKNOWN_PENALTY : u->min_score - UNKNOWN_PENALTY;
    if (!has_single)
        offer(u, run, from, from + length, u->unk, unknown);
}

/* Unknown text: one piece, or the pieces of its bytes. */
static int push_unknown(const struct unigram *u, const uint8_t *text, size_t n, struct token_list *out)
{
    int32_t known = u->vocab ? vocab_find(u->vocab, text, n) : VOCAB_NONE;
    if (known != VOCAB_NONE)
        return token_list_push(out, known);
    bool has_all = u->byte_fallback;
    for (size_t i = 0; i < n && has_all; i++)
        has_all = u->bytes[text[i]] != VOCAB_NONE;
    if (!has_all)
        return token_list_push(out, u->unk);
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = token_list_push(out, u->bytes[text[i]]);
    return r;
}

/* Turns the path around and hands it out. */
static int collect(const struct unigram *u, struct unigram_run *run, const uint8_t *word, size_t n,
                   struct token_list *out)
{
    const struct node *nodes = (const struct node *)(const void *)run->nodes.data;
    struct token_list *path = &run->ids;
    int r = 0;
    path->n = 0;
    for (size_t at = n; at > 0 && r == 0; at -= nodes[at].n)
        r = token_list_push(path, (int32_t)at);
    for (size_t i = path->n, from = 0; i > 0 && r == 0;) {
        size_t to = (size_t)(uint32_t)path->data[--i];
        const bool unknown = nodes[to].id == u->unk;
        while (unknown && u->fuse_unk && i > 0 && nodes[(uint32_t)path->data[i - 1]].id == u->unk)
            to = (size_t)(uint32_t)path->data[--i];
        r = unknown ? push_unknown(u, word + from, to - from, out) : token_list_push(out, nodes[to].id);
        from = to;
    }
    return r;
}

int unigram_encode(const struct unigram *u, struct unigram_run *run, size_t longest, const uint8_t *word,
                   size_t n, struct token_list *out)
{
    int r = prepare(run, longest, n);
    if (r || n == 0)
        return r;
    struct node *nodes = (struct node *)(void *)run->nodes.data;
    for (size_t i = 0; i <= n; i++)
        nodes[i] = (struct node){0};
    run->sums[0] = 0;
    run->frontier = 0;
    for (size_t at = 0; at < n; at += utf8_length(word[at]))
        extend(u, run, word, n, at);
    return collect(u, run, word, n, out);
}
