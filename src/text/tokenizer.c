/* Text to token ids: opens a tokenizer and leads a text through its parts. See tokenizer.h. */
#include "config.h"
#include "src/text/tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/base/cleanup.h"
#include "src/base/mapfile.h"
#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/text/jinja.h"
#include "src/text/tokenizer_file.h"
#include "src/text/tokenizer_gguf.h"
#include "src/text/tokenizer_parts.h"
#include "src/text/tokenizer_ranks.h"
#include "src/text/tokenizer_sp.h"
#include "src/text/unicode.h"
#include "src/weights/gguf.h"

/* ---- opening ---- */

/* JSON begins with a brace; a file that is named so is read as such in any case, for a better sentence. */
static bool is_json(const struct mapfile *map)
{
    size_t i = 0, n_path = strlen(map->path);
    while (i < map->n && map->data[i] && strchr(" \t\r\n", map->data[i]))
        i++;
    return (i < map->n && map->data[i] == '{') ||
           (n_path >= 5 && strcmp(map->path + n_path - 5, ".json") == 0);
}

/* What a file holds is told from its first bytes. */
static int read_content(struct tokenizer *t, const struct mapfile *map, struct why *why)
{
    if (is_json(map))
        return tokenizer_file_read(t, map->data, map->n, why);
    if (tokenizer_ranks_is(map->data, map->n))
        return tokenizer_ranks_read(t, map->data, map->n, why);
    return tokenizer_sp_read(t, map->data, map->n, NULL, why);
}

static int open_file(struct tokenizer *t, const char *path, struct why *why)
{
    struct mapfile map = MAPFILE_NULL;
    struct gguf *gguf = NULL;
    int r = mapfile_open(&map, path, why);
    if (r)
        return r;
    if (gguf_is_magic(map.data, map.n)) {
        r = gguf_open(&gguf, path, why); /* whose sentences begin with the path themselves */
        if (r == 0) {
            r = tokenizer_gguf_read(t, gguf, why);
            r = r > 0 ? why_prefix(why, r, "%s", path) : r;
        }
        gguf_free(gguf);
    } else {
        r = read_content(t, &map, why);
        r = r > 0 ? why_prefix(why, r, "%s", path) : r;
    }
    mapfile_close(&map);
    return r;
}

static bool is_there(const char *dir, const char *name)
{
    CLEANUP_FREE char *path = NULL;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        path = NULL;
    return path && access(path, F_OK) == 0;
}

/* tokenizer.json, and only where there is none tokenizer.model with its tokenizer_config.json. */
static int open_folder(struct tokenizer *t, const char *dir, struct why *why)
{
    CLEANUP_FREE char *path = NULL;
    if (!is_there(dir, "tokenizer.json") && is_there(dir, "tokenizer.model"))
        return tokenizer_sp_open(t, dir, why);
    if (asprintf(&path, "%s/tokenizer.json", dir) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    return open_file(t, path, why);
}

int tokenizer_open(struct tokenizer **ret_tokenizer, const char *path, struct why *why)
{
    struct stat st;
    struct tokenizer *t = mem_array(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    int r = is_folder ? open_folder(t, path, why) : open_file(t, path, why);
    if (r) {
        tokenizer_free(t);
        return r;
    }
    *ret_tokenizer = t;
    return 0;
}

int tokenizer_from_gguf(struct tokenizer **ret_tokenizer, const struct gguf *file, struct why *why)
{
    struct tokenizer *t = mem_array(1, sizeof *t);
    int r = t ? tokenizer_gguf_read(t, file, why) : -ENOMEM;
    if (r) {
        tokenizer_free(t);
        return r;
    }
    *ret_tokenizer = t;
    return 0;
}

struct tokenizer *tokenizer_free(struct tokenizer *t)
{
    if (t) {
        decode_deinit(&t->decode);
        bpe_deinit(&t->bpe);
        unigram_deinit(&t->unigram);
        added_index_deinit(&t->sp.kept);
        token_list_deinit(&t->sp.named);
        free(t->sp.scores);
        free(t->sp.unused);
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
    const uint8_t *text; /* the whole */
    bool skip_special;
    const struct jinja_range *inputs; /* [n_input] of the whole text */
    size_t n_input;
    const bool *control;
    struct token_list *ids;
    struct normalize_run normalize;
    struct pretok_run pretok;
    struct bpe_run bpe;
    struct unigram_run unigram;
    struct sp_merge_run sp_merge;
    struct buf sp_text, sp_spaces; /* a gap as SentencePiece's normalizer left it; with spaces for marks */
    struct why *why;
};

static int on_word(void *arg, const uint8_t *word, size_t n)
{
    struct encoding *e = arg;
    const struct tokenizer *t = e->t;
    switch (t->model) {
    case TOKENIZER_UNIGRAM:
        return unigram_encode(&t->unigram, &e->unigram, t->vocab.longest, word, n, e->ids);
    case TOKENIZER_SP_MERGE:
        return sp_merge_encode(&t->sp.merge, &e->sp_merge, word, n, e->ids);
    default:
        return bpe_encode(&t->bpe, &e->bpe, word, n, e->ids);
    }
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
    /* Without steps of a normalizer all texts are parts of the whole; with them there is no special token in
     * the index of what they made (tokenizer_find_control). */
    if (e->n_input && (index == &e->t->raw || e->t->normalize.n_step == 0)) {
        w.inputs = e->inputs;
        w.n_input = e->n_input;
        w.control = e->control;
        w.first = (size_t)(text - e->text);
    }
    while (added_walk_next(&w, &m)) {
        bool gap = m.from > w.done || (first && w.done == 0 && e->t->sp.prefix); /* a mark alone */
        int r = gap ? on_gap(e, text + w.done, m.from - w.done, first && w.done == 0) : 0;
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

/* Space marks of the text become spaces, which is what `legacy: false` does first. */
static int unmark(struct encoding *e, const uint8_t **text, size_t *n)
{
    const uint8_t *at = *text, *end = at + *n, *found;
    struct buf *out = &e->sp_spaces;
    if (!memmem(at, *n, SP_SPACE, 3))
        return 0;
    out->n = 0;
    int r = 0;
    for (; r == 0 && (found = memmem(at, (size_t)(end - at), SP_SPACE, 3)); at = found + 3) {
        r = buf_push(out, at, (size_t)(found - at));
        if (r == 0)
            r = buf_push(out, " ", 1);
    }
    if (r == 0)
        r = buf_push(out, at, (size_t)(end - at));
    *text = out->data;
    *n = out->n;
    return r;
}

/* SentencePiece's normalizer, then all of the gap as one word. */
static int sp_gap(struct encoding *e, const uint8_t *text, size_t n, bool first)
{
    const struct tokenizer_sp *sp = &e->t->sp;
    int r = sp->modern ? unmark(e, &text, &n) : 0;
    bool prefix = sp->prefix && first;
    bool heading = !sp->modern || (!prefix && n && text[0] != ' ');
    e->sp_text.n = 0;
    if (r == 0 && prefix)
        r = buf_push(&e->sp_text, SP_SPACE, 3);
    if (r == 0)
        r = sp_normalize(&sp->normalize, text, n, heading, &e->sp_text);
    if (prefix && sp->normalize.remove_extra && e->sp_text.n == 3)
        e->sp_text.n = 0;
    return r || e->sp_text.n == 0 ? r : on_word(e, e->sp_text.data, e->sp_text.n);
}

static int normalize_gap(struct encoding *e, const uint8_t *text, size_t n, bool first)
{
    if (e->t->is_sp)
        return sp_gap(e, text, n, first);
    int r = normalize_text(&e->t->normalize, &e->normalize, text, n, &text, &n, e->why);
    return r ? r : split(e, &e->t->normalized, text, n, first, cut_words);
}

/* With `legacy: false` a space mark alone before a special token goes. */
static void drop_mark(struct encoding *e, size_t start)
{
    const struct tokenizer_sp *sp = &e->t->sp;
    struct token_list *ids = e->ids;
    if (!sp->modern || ids->n < start + 2 || ids->data[start] != sp->mark)
        return;
    for (size_t i = 0; i < sp->named.n; i++) {
        if (sp->named.data[i] == ids->data[start + 1]) {
            ids->n--;
            memmove(ids->data + start, ids->data + start + 1, (ids->n - start) * sizeof *ids->data);
            break;
        }
    }
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

/* Encodes with e's flags set; its scratch is freed. */
static int encode(struct encoding *e, size_t n, unsigned flags)
{
    const struct tokenizer *t = e->t;
    size_t good = utf8_check((const char *)e->text, n), start = e->ids->n;
    if (good != n)
        return why_set(e->why, EX_DATAERR, "the text is not valid UTF-8 at byte %zu of %zu", good, n);
    /* Few tokens are shorter: a text of megabytes is not moved as its ids grow. */
    int r = token_list_reserve(e->ids, n / 2);
    pretok_run_init(&e->pretok, &t->pretok, on_word, e, e->why);
    if (r == 0)
        r = split(e, &t->raw, e->text, n, true, normalize_gap);
    if (r == 0)
        drop_mark(e, start);
    if (r == 0 && (flags & TOKENIZER_ADD_SPECIAL))
        r = add_special(e, start, !e->skip_special);
    normalize_run_deinit(&e->normalize);
    pretok_run_deinit(&e->pretok);
    bpe_run_deinit(&e->bpe);
    unigram_run_deinit(&e->unigram);
    sp_merge_run_deinit(&e->sp_merge);
    buf_deinit(&e->sp_text);
    buf_deinit(&e->sp_spaces);
    if (r)
        e->ids->n = start;
    return r;
}

int tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags,
                     struct token_list *ids, struct why *why)
{
    struct encoding e = {.t = t,
                         .text = (const uint8_t *)text,
                         .skip_special = !(flags & TOKENIZER_PARSE_SPECIAL),
                         .ids = ids,
                         .why = why};
    return encode(&e, n, flags);
}

static bool is_blank(const uint8_t *text, size_t n)
{
    for (size_t at = 0; at < n; at += utf8_length(text[at]))
        if (!(unicode_flags(utf8_decode(text + at)) & UNICODE_SPACE))
            return false;
    return true;
}

/* Whether a token occurs in the source of a template, as more than white space. */
static bool occurs(const char *source, size_t n, const uint8_t *token, size_t n_token)
{
    return memmem(source, n, token, n_token) && !is_blank(token, n_token);
}

/* Where normalized text is searched it is not known any more what is input. */
static bool is_blurred(const struct tokenizer *t, const struct added_token *a)
{
    return a->normalized && t->normalize.n_step > 0;
}

static int refuse_control(const void *token, size_t n, struct why *why)
{
    return why_set(why, EX_DATAERR,
                   "'%.*s' is found in normalized text, where it is not known what a client sent; in a "
                   "tokenizer.json it needs \"normalized\": false",
                   tokenizer_parts_shown(n), (const char *)token);
}

int tokenizer_find_control(const struct tokenizer *t, const char *source, size_t n, bool **control,
                           struct why *why)
{
    if (!*control)
        *control = mem_array(t->n_added + 1, sizeof **control);
    if (!*control)
        return -ENOMEM;
    for (size_t i = 0; i < t->n_added; i++) {
        const struct added_token *a = &t->added[i];
        bool is_control = a->special || occurs(source, n, (const uint8_t *)a->content, a->n);
        if (is_control && is_blurred(t, a))
            return refuse_control(a->content, a->n, why);
        (*control)[i] |= is_control;
    }
    const struct added_index *kept = &t->sp.kept;
    for (size_t i = 0; i < kept->n; i++) {
        const uint8_t *piece = kept->pool.data + kept->entries[i].at;
        if (occurs(source, n, piece, kept->entries[i].n))
            return refuse_control(piece, kept->entries[i].n, why);
    }
    return 0;
}

int tokenizer_encode_marked(const struct tokenizer *t, const bool *control, const struct jinja_text *text,
                            unsigned flags, struct token_list *ids, struct why *why)
{
    struct encoding e = {.t = t,
                         .text = (const uint8_t *)text->text,
                         .inputs = text->inputs,
                         .n_input = text->n_input,
                         .control = control,
                         .ids = ids,
                         .why = why};
    return encode(&e, text->n, flags);
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

const int32_t *tokenizer_ends(const struct tokenizer *t, size_t *ret_n)
{
    *ret_n = t->n_end;
    return t->ends;
}

bool tokenizer_is_special(const struct tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->vocab.n_id && t->special[id];
}

const char *tokenizer_bytes(const struct tokenizer *t, int32_t id, size_t *ret_n)
{
    return (const char *)decode_bytes(&t->decode, id, ret_n);
}
