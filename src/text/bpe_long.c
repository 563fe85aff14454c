/* Merging of long runs of symbols: see bpe_long.h.
 *
 * Symbols form a linked list; a pair is known by the position of its left symbol. Each rank has a queue of
 * the positions where its pair stands, in ascending order; a tree of bits finds the lowest rank whose queue
 * is not empty. So the next merge, lowest rank and then leftmost, is found in constant time, and the
 * positions of one rank are visited from left to right, which is what caches like.
 *
 * A queue is complete when its first position is taken: whatever is merged from then on until the queue is
 * empty contains the rank's own merged piece, so it makes longer pieces only and never this pair. Queues are
 * therefore sorted once, and only where positions came out of order. Where several pairs share a rank, a
 * merge can queue others of its rank: at its own position and the one before, which all queued ones are
 * behind.
 *
 * More symbols than a window are merged window by window, so that a line of megabytes needs no more memory
 * than caches have. That is exact: tokens are the result for their text if each two neighbours are the result
 * for theirs (the first merge across a border would depend on nothing but the two tokens there). A window's
 * last tokens may miss what follows; the next window begins some tokens before, and if it begins with the
 * same token, all neighbours have been seen side by side in one result. If it does not, everything is merged
 * at once. */
#include "config.h"
#include "src/text/bpe_long.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

#define NONE UINT32_MAX

enum { LEVELS = 4 }; /* 64^4 ranks, twice BPE_MAX_MERGES */

struct symbol {
    int32_t id;
    uint32_t rank;           /* of the pair with the next symbol; NONE: no such pair */
    uint32_t previous, next; /* NONE at the ends */
    uint32_t up, down;       /* neighbours in the rank's queue */
};

struct queue {
    uint32_t first, last; /* NONE: empty */
};

struct bpe_long {
    struct symbol *symbols;
    size_t capacity;
    struct queue *queues;     /* [n_rank], all empty between two calls */
    uint64_t *levels[LEVELS]; /* [0]: a bit for each queue that holds something; [i + 1]: one for each word of
                                 [i] */
    uint64_t *unsorted;       /* a bit for each queue that is out of order */
    int32_t left, right;      /* of the pair that was looked up last: runs of one letter ask for it again */
    const struct bpe_pair *pair;
    uint32_t *order; /* [2 * order_capacity] scratch of sorting */
    size_t order_capacity;
};

struct bpe_long *bpe_long_free(struct bpe_long *run)
{
    if (run) {
        free(run->symbols);
        free(run->queues);
        for (unsigned i = 0; i < LEVELS; i++)
            free(run->levels[i]);
        free(run->unsorted);
        free(run->order);
        free(run);
    }
    return NULL;
}

static struct bpe_long *new_run(size_t n_rank)
{
    struct bpe_long *run = mem_array(1, sizeof *run);
    if (!run)
        return NULL;
    run->queues = mem_array(n_rank, sizeof *run->queues);
    size_t n = n_rank;
    bool ok = run->queues;
    for (unsigned i = 0; i < LEVELS; i++) {
        n = n / 64 + 1;
        run->levels[i] = mem_array(n, sizeof **run->levels);
        ok = ok && run->levels[i];
    }
    run->unsorted = mem_array(n_rank / 64 + 1, sizeof *run->unsorted);
    if (!ok || !run->unsorted)
        return bpe_long_free(run);
    run->left = run->right = VOCAB_NONE; /* no symbols: their pair is none, as it is */
    for (size_t i = 0; i < n_rank; i++)
        run->queues[i] = (struct queue){NONE, NONE};
    return run;
}

/* ---- the set of ranks ---- */

static void set_rank(struct bpe_long *run, size_t rank)
{
    for (unsigned i = 0; i < LEVELS; i++, rank /= 64)
        run->levels[i][rank / 64] |= UINT64_C(1) << rank % 64;
}

static void clear_rank(struct bpe_long *run, size_t rank)
{
    for (unsigned i = 0; i < LEVELS; i++, rank /= 64)
        if (run->levels[i][rank / 64] &= ~(UINT64_C(1) << rank % 64))
            break;
}

/* The lowest rank, or NONE. */
static uint32_t lowest_rank(const struct bpe_long *run)
{
    size_t at = 0;
    if (!run->levels[LEVELS - 1][0])
        return NONE;
    for (unsigned i = LEVELS; i-- > 0;)
        at = at * 64 + (size_t)__builtin_ctzll(run->levels[i][at]);
    return (uint32_t)at;
}

/* ---- queues ---- */

static void enqueue(struct bpe_long *run, uint32_t at)
{
    struct symbol *s = run->symbols;
    uint32_t rank = s[at].rank;
    struct queue *q = &run->queues[rank];
    if (q->last == NONE) {
        s[at].up = s[at].down = NONE;
        *q = (struct queue){at, at};
        run->unsorted[rank / 64] &= ~(UINT64_C(1) << rank % 64);
        set_rank(run, rank);
    } else if (at < q->first) {
        s[at].up = NONE;
        s[at].down = q->first;
        s[q->first].up = at;
        q->first = at;
    } else {
        s[at].up = q->last;
        s[at].down = NONE;
        s[q->last].down = at;
        if (at < q->last)
            run->unsorted[rank / 64] |= UINT64_C(1) << rank % 64;
        q->last = at;
    }
}

static void dequeue(struct bpe_long *run, uint32_t at)
{
    struct symbol *s = run->symbols;
    struct queue *q = &run->queues[s[at].rank];
    if (s[at].up == NONE)
        q->first = s[at].down;
    else
        s[s[at].up].down = s[at].down;
    if (s[at].down == NONE)
        q->last = s[at].up;
    else
        s[s[at].down].up = s[at].up;
    if (q->first == NONE)
        clear_rank(run, s[at].rank);
    s[at].rank = NONE;
}

/* Ascending order by four passes over a byte each: linear, and no recursion. from and to have room for n. */
static void sort_positions(uint32_t *from, uint32_t *to, size_t n)
{
    for (unsigned shift = 0; shift < 32; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < n; i++)
            starts[(from[i] >> shift & 255) + 1]++;
        for (unsigned i = 1; i < 257; i++)
            starts[i] += starts[i - 1];
        for (size_t i = 0; i < n; i++)
            to[starts[from[i] >> shift & 255]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
}

static int sort_queue(struct bpe_long *run, struct queue *q)
{
    struct symbol *s = run->symbols;
    size_t n = 0;
    for (uint32_t at = q->first; at != NONE; at = s[at].down)
        n++;
    if (n > run->order_capacity) {
        uint32_t *order = mem_resize(run->order, n, 2 * sizeof *order);
        if (!order)
            return -ENOMEM;
        run->order = order;
        run->order_capacity = n;
    }
    n = 0;
    for (uint32_t at = q->first; at != NONE; at = s[at].down)
        run->order[n++] = at;
    sort_positions(run->order, run->order + n, n);
    for (size_t i = 0; i < n; i++) {
        s[run->order[i]].up = i ? run->order[i - 1] : NONE;
        s[run->order[i]].down = i + 1 < n ? run->order[i + 1] : NONE;
    }
    *q = (struct queue){run->order[0], run->order[n - 1]};
    return 0;
}

/* ---- merging ---- */

static const struct bpe_pair *find(const struct bpe *b, struct bpe_long *run, int32_t left, int32_t right)
{
    if (left != run->left || right != run->right) {
        run->left = left;
        run->right = right;
        run->pair = bpe_find(b, left, right);
    }
    return run->pair;
}

/* Looks up the pair that begins at `at` and queues it. */
static void look_up(const struct bpe *b, struct bpe_long *run, uint32_t at)
{
    struct symbol *s = &run->symbols[at];
    const struct bpe_pair *pair = s->next == NONE ? NULL : find(b, run, s->id, run->symbols[s->next].id);
    s->rank = pair ? pair->rank : NONE;
    if (pair)
        enqueue(run, at);
}

static void forget(struct bpe_long *run, uint32_t at)
{
    if (at != NONE && run->symbols[at].rank != NONE)
        dequeue(run, at);
}

/* Merges the pair that begins at `at`; the right symbol leaves the list. */
static void merge_at(const struct bpe *b, struct bpe_long *run, uint32_t at)
{
    struct symbol *s = run->symbols;
    uint32_t right = s[at].next, previous = s[at].previous;
    int32_t merged = find(b, run, s[at].id, s[right].id)->merged;
    forget(run, at);
    forget(run, right);
    forget(run, previous);
    s[at].id = merged;
    s[at].next = s[right].next;
    if (s[at].next != NONE)
        s[s[at].next].previous = at;
    look_up(b, run, at);
    if (previous != NONE)
        look_up(b, run, previous);
}

static int fill(const struct bpe *b, struct bpe_long *run, const int32_t *symbols, size_t n)
{
    if (n > run->capacity) {
        struct symbol *s = mem_resize(run->symbols, n, sizeof *s);
        if (!s)
            return -ENOMEM;
        run->symbols = s;
        run->capacity = n;
    }
    for (size_t i = 0; i < n; i++) {
        run->symbols[i] = (struct symbol){
            .id = symbols[i],
            .rank = NONE,
            .previous = i ? (uint32_t)i - 1 : NONE,
            .next = i + 1 < n ? (uint32_t)i + 1 : NONE,
        };
        if (i)
            look_up(b, run, (uint32_t)i - 1);
    }
    return 0;
}

/* Merges symbols in run->symbols, where they stay. */
static int merge_all(const struct bpe *b, struct bpe_long *run, const int32_t *symbols, size_t n)
{
    int r = fill(b, run, symbols, n);
    uint32_t rank;
    while (r == 0 && (rank = lowest_rank(run)) != NONE) {
        uint64_t bit = UINT64_C(1) << rank % 64;
        if (run->unsorted[rank / 64] & bit) {
            r = sort_queue(run, &run->queues[rank]);
            run->unsorted[rank / 64] &= ~bit;
        }
        if (r == 0)
            merge_at(b, run, run->queues[rank].first);
    }
    return r;
}

/* Appends the tokens but for the last n_left. *ret_at: where the first of these begins, or 0 if there are not
 * that many. */
static int push_tokens(const struct bpe_long *run, size_t n_left, struct token_list *out, uint32_t *ret_at)
{
    const struct symbol *s = run->symbols;
    const size_t before = out->n;
    uint32_t last = NONE;
    int r = 0;
    for (uint32_t at = 0; r == 0 && at != NONE; at = s[at].next) {
        r = token_list_push(out, s[at].id);
        last = at;
    }
    *ret_at = 0;
    if (r || n_left == 0 || out->n - before <= n_left)
        return r;
    out->n -= n_left;
    for (*ret_at = last; n_left > 1; n_left--)
        *ret_at = s[*ret_at].previous;
    return 0;
}

/* *ret_done: false where one window's tokens do not go on as the next one's begin. */
static int merge_windows(const struct bpe *b, struct bpe_long *run, const int32_t *symbols, size_t n,
                         size_t window, struct token_list *out, bool *ret_done)
{
    int32_t first = VOCAB_NONE;
    int r = 0;
    for (uint32_t from; r == 0; symbols += from, n -= from) {
        r = merge_all(b, run, symbols, n < window ? n : window);
        if (r || (first != VOCAB_NONE && run->symbols[0].id != first))
            return r;
        r = push_tokens(run, n > window ? BPE_LONG_OVERLAP : 0, out, &from);
        *ret_done = n <= window;
        if (from == 0)
            return r;
        first = run->symbols[from].id;
    }
    return r;
}

int bpe_long_merge(const struct bpe *b, struct bpe_long **ret_run, const int32_t *symbols, size_t n,
                   size_t window, struct token_list *out)
{
    if (n >= NONE)
        return -ENOMEM;
    if (!*ret_run)
        *ret_run = new_run(b->n_rank);
    const size_t before = out->n;
    bool done = false;
    int r = *ret_run ? merge_windows(b, *ret_run, symbols, n, window, out, &done) : -ENOMEM;
    if (r == 0 && !done) {
        out->n = before;
        r = merge_windows(b, *ret_run, symbols, n, n, out, &done);
    }
    /* After a failure queues may hold positions: the next word starts with fresh ones. */
    if (r)
        *ret_run = bpe_long_free(*ret_run);
    return r;
}
