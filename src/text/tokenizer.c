/* Text to token ids: opens a tokenizer and leads a text through its parts. See tokenizer.h. */
#include "config.h"
#include "src/text/tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "src/base/cleanup.h"
#include "src/base/mapfile.h"
#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/text/tokenizer_file.h"
#include "src/text/tokenizer_parts.h"

int tokenizer_open(struct tokenizer **ret_tokenizer, const char *path, struct why *why)
{
    CLEANUP_FREE char *inside = NULL;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (asprintf(&inside, "%s/tokenizer.json", path) < 0) {
            inside = NULL;
            return -ENOMEM;
        }
        path = inside;
    }
    struct mapfile map = MAPFILE_NULL;
    int r = mapfile_open(&map, path, why);
    if (r)
        return r;
    struct tokenizer *t = mem_array(1, sizeof *t);
    r = t ? tokenizer_file_read(t, map.data, map.n, why) : -ENOMEM;
    mapfile_close(&map);
    if (r) {
        tokenizer_free(t);
        return r > 0 ? why_prefix(why, r, "%s", path) : r;
    }
    *ret_tokenizer = t;
    return 0;
}

struct tokenizer *tokenizer_free(struct tokenizer *t)
{
    if (t) {
        decode_deinit(&t->decode);
        bpe_deinit(&t->bpe);
        pretok_deinit(&t->pretok);
        normalize_deinit(&t->normalize);
        added_index_deinit(&t->raw);
        added_index_deinit(&t->normalized);
        free(t->special);
        free(t->added);
        vocab_deinit(&t->vocab);
        arena_deinit(&t->arena);
        free(t);
    }
    return NULL;
}

/* ---- encoding ---- */

/* The scratch of one call: the tokenizer itself is only read. */
struct encoding {
    const struct tokenizer *t;
    bool skip_special;
    struct token_list *ids;
    struct normalize_run normalize;
    struct pretok_run pretok;
    struct bpe_run bpe;
    struct why *why;
};

static int on_word(void *arg, const uint8_t *word, size_t n)
{
    struct encoding *e = arg;
    return bpe_encode(&e->t->bpe, &e->bpe, word, n, e->ids);
}

/* Text between tokens of an index: goes on to the next step. `first`: it begins where the whole text begins.
 */
typedef int (*gap_fn)(struct encoding *e, const uint8_t *text, size_t n, bool first);

/* Finds the added tokens of one index; what lies between goes to on_gap. */
static int split(struct encoding *e, const struct added_index *index, const uint8_t *text, size_t n,
                 bool first, gap_fn on_gap)
{
    struct added_walk w = {
        .index = index, .tokens = e->t->added, .text = text, .n = n, .skip_special = e->skip_special};
    struct added_match m;
    while (added_walk_next(&w, &m)) {
        int r = m.from > w.done ? on_gap(e, text + w.done, m.from - w.done, first && w.done == 0) : 0;
        if (r == 0)
            r = token_list_push(e->ids, m.token->id);
        if (r)
            return r;
        w.done = m.to;
    }
    return w.done < n ? on_gap(e, text + w.done, n - w.done, first && w.done == 0) : 0;
}

static int cut_words(struct encoding *e, const uint8_t *text, size_t n, bool first)
{
    return pretok_run_push(&e->pretok, text, n, first);
}

static int normalize_gap(struct encoding *e, const uint8_t *text, size_t n, bool first)
{
    int r = normalize_text(&e->t->normalize, &e->normalize, text, n, &text, &n, e->why);
    return r ? r : split(e, &e->t->normalized, text, n, first, cut_words);
}

/* Puts the post-processor's ids around those from `start` on. */
static int add_special(struct encoding *e, size_t start, bool parsed)
{
    const struct post *p = &e->t->post;
    struct token_list *ids = e->ids;
    /* A text that brings its own beginning gets no second one. */
    bool has = parsed && ids->n > start && p->n_before && ids->data[start] == p->before[0];
    unsigned n_before = has ? 0 : p->n_before;
    int r = token_list_reserve(ids, n_before + p->n_after);
    if (r || n_before + p->n_after == 0)
        return r;
    memmove(ids->data + start + n_before, ids->data + start, (ids->n - start) * sizeof *ids->data);
    memcpy(ids->data + start, p->before, n_before * sizeof *ids->data);
    ids->n += n_before;
    memcpy(ids->data + ids->n, p->after, p->n_after * sizeof *ids->data);
    ids->n += p->n_after;
    return 0;
}

int tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags,
                     struct token_list *ids, struct why *why)
{
    size_t good = utf8_check(text, n), start = ids->n;
    if (good != n)
        return why_set(why, EX_DATAERR, "the text is not valid UTF-8 at byte %zu of %zu", good, n);
    bool parse = flags & TOKENIZER_PARSE_SPECIAL;
    struct encoding e = {.t = t, .skip_special = !parse, .ids = ids, .why = why};
    pretok_run_init(&e.pretok, &t->pretok, on_word, &e, why);
    int r = split(&e, &t->raw, (const uint8_t *)text, n, true, normalize_gap);
    if (r == 0 && (flags & TOKENIZER_ADD_SPECIAL))
        r = add_special(&e, start, parse);
    normalize_run_deinit(&e.normalize);
    pretok_run_deinit(&e.pretok);
    bpe_run_deinit(&e.bpe);
    if (r)
        ids->n = start;
    return r;
}

/* ---- what is known about ids ---- */

int32_t tokenizer_n_vocab(const struct tokenizer *t)
{
    return (int32_t)t->vocab.n_id;
}

size_t tokenizer_max_piece(const struct tokenizer *t)
{
    return t->vocab.longest;
}

int32_t tokenizer_id(const struct tokenizer *t, const char *piece)
{
    size_t n = strlen(piece);
    for (size_t i = 0; i < t->n_added; i++)
        if (t->added[i].n == n && memcmp(t->added[i].content, piece, n) == 0)
            return t->added[i].id;
    return vocab_find(&t->vocab, piece, n);
}

bool tokenizer_is_special(const struct tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->vocab.n_id && t->special[id];
}

const char *tokenizer_bytes(const struct tokenizer *t, int32_t id, size_t *ret_n)
{
    return (const char *)decode_bytes(&t->decode, id, ret_n);
}
