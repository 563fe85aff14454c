/* tokenizer.json becomes a tokenizer: see tokenizer_file.h.
 *
 * The big tables are read as they stream by; the components are small trees that are looked at afterwards,
 * when vocabulary and added tokens are known. */
#include "config.h"
#include "src/text/tokenizer_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/jsonread.h"
#include "src/base/mem.h"
#include "src/text/tokenizer_parts.h"
#include "src/text/unigram_read.h"

struct file {
    struct tokenizer *t;
    struct jsonread r;
    struct why *why;
    const struct part *normalizer, *pre_tokenizer, *post_processor, *decoder;
    const struct part *type, *unk_token, *unk_id;
    struct bpe_merge *merges;
    size_t n_merge, merge_capacity;
    int32_t last_merged;
    bool has_model, has_vocab, merges_skipped; /* the merges came before the vocabulary */
};

/* ---- the vocabulary and the merges ---- */

static int read_vocab(struct file *f)
{
    struct jsonread *r = &f->r;
    f->has_vocab = true;
    if (jsonread_next(r) == JSONREAD_ARRAY) {
        f->t->model = TOKENIZER_UNIGRAM;
        return unigram_read(&f->t->unigram, &f->t->vocab, r);
    }
    if (r->kind != JSONREAD_OBJECT)
        return jsonread_fail(r, "'vocab' is %s", jsonread_kind_name(r->kind));
    while (jsonread_next(r) == JSONREAD_KEY) {
        /* A spelling with escapes lies in the reader's scratch, where reading the number leaves it alone. */
        const char *piece = r->string;
        size_t n = r->n_string;
        if (jsonread_next(r) != JSONREAD_INT)
            return jsonread_fail(r, "the id of '%.*s' is %s", tokenizer_parts_shown(n), piece,
                                 jsonread_kind_name(r->kind));
        int code = vocab_add(&f->t->vocab, piece, n, r->integer);
        if (code < 0)
            return code;
        if (code)
            return jsonread_fail(r, "piece '%.*s', id %lld: %s", tokenizer_parts_shown(n), piece,
                                 (long long)r->integer, vocab_error(code));
    }
    return r->kind == JSONREAD_ERROR ? r->error : 0;
}

static int push_merge(struct file *f, const char *left, size_t n_left, const char *right, size_t n_right)
{
    const struct vocab *v = &f->t->vocab;
    struct bpe_merge m = {
        .left = vocab_find(v, left, n_left),
        .right = vocab_find(v, right, n_right),
        .merged = vocab_find_near(v, f->last_merged, left, n_left, right, n_right),
    };
    if (m.left == VOCAB_NONE || m.right == VOCAB_NONE || m.merged == VOCAB_NONE)
        return jsonread_fail(&f->r, "merge %zu, '%.*s' and '%.*s': %s is no piece of the vocabulary",
                             f->n_merge, tokenizer_parts_shown(n_left), left, tokenizer_parts_shown(n_right),
                             right,
                             m.left == VOCAB_NONE    ? "the first"
                             : m.right == VOCAB_NONE ? "the second"
                                                     : "both together");
    if (f->n_merge == BPE_MAX_MERGES)
        return jsonread_fail(&f->r, "more than %d merges", BPE_MAX_MERGES);
    if (f->n_merge == f->merge_capacity) {
        size_t capacity = f->merge_capacity ? 2 * f->merge_capacity : 1024;
        struct bpe_merge *merges = mem_resize(f->merges, capacity, sizeof *merges);
        if (!merges)
            return -ENOMEM;
        f->merges = merges;
        f->merge_capacity = capacity;
    }
    f->merges[f->n_merge++] = m;
    f->last_merged = m.merged; /* trainers number pieces in the order of their merges */
    return 0;
}

/* "left right" */
static int read_string_merge(struct file *f)
{
    struct jsonread *r = &f->r;
    static const char version[] = "#version";
    const char *end = r->string + r->n_string;
    const char *space = memchr(r->string, ' ', r->n_string);
    if (r->n_string >= sizeof version - 1 && memcmp(r->string, version, sizeof version - 1) == 0)
        return 0;
    if (!space || memchr(space + 1, ' ', (size_t)(end - space - 1)))
        return jsonread_fail(r, "merge %zu is not two pieces with a space between them", f->n_merge);
    return push_merge(f, r->string, (size_t)(space - r->string), space + 1, (size_t)(end - space - 1));
}

/* ["left", "right"] */
static int read_pair_merge(struct file *f, struct buf *left)
{
    struct jsonread *r = &f->r;
    left->n = 0;
    if (jsonread_next(r) != JSONREAD_STRING)
        return jsonread_fail(r, "merge %zu is not a pair of strings", f->n_merge);
    int code = buf_reserve(left, r->n_string + 1);
    if (code == 0)
        code = buf_push(left, r->string, r->n_string);
    if (code)
        return code;
    if (jsonread_next(r) != JSONREAD_STRING)
        return jsonread_fail(r, "merge %zu is not a pair of strings", f->n_merge);
    code = push_merge(f, (const char *)left->data, left->n, r->string, r->n_string);
    if (code == 0 && jsonread_next(r) != JSONREAD_ARRAY_END)
        code = jsonread_fail(r, "merge %zu is not a pair of strings", f->n_merge);
    return code;
}

static int read_merges(struct file *f)
{
    struct jsonread *r = &f->r;
    struct buf left = BUF_NULL;
    int code = 0;
    if (jsonread_next(r) != JSONREAD_ARRAY)
        return jsonread_fail(r, "'merges' is %s, must be an array", jsonread_kind_name(r->kind));
    while (code == 0 && jsonread_next(r) != JSONREAD_ARRAY_END) {
        if (r->kind == JSONREAD_STRING)
            code = read_string_merge(f);
        else if (r->kind == JSONREAD_ARRAY)
            code = read_pair_merge(f, &left);
        else
            code = jsonread_fail(r, "merge %zu is %s", f->n_merge, jsonread_kind_name(r->kind));
    }
    buf_deinit(&left);
    return code;
}

/* ---- the model ---- */

static int read_flag(struct jsonread *r, const char *name, bool *ret)
{
    jsonread_next(r);
    if (r->kind != JSONREAD_TRUE && r->kind != JSONREAD_FALSE && r->kind != JSONREAD_NULL)
        return jsonread_fail(r, "'%s' is %s, must be true or false", name, jsonread_kind_name(r->kind));
    *ret = r->kind == JSONREAD_TRUE;
    return 0;
}

/* What no supported model sets: null, false, 0 or an empty string. */
static int read_unset(struct jsonread *r, const char *name)
{
    jsonread_next(r);
    bool unset = r->kind == JSONREAD_NULL || (r->kind == JSONREAD_STRING && r->n_string == 0) ||
                 ((r->kind == JSONREAD_FLOAT || r->kind == JSONREAD_INT) && r->real == 0);
    return unset ? 0 : jsonread_fail(r, "model: '%s' is set, which is not supported", name);
}

static int skip(struct jsonread *r)
{
    return jsonread_skip(r) ? 0 : r->error;
}

static int read_model_member(struct file *f, bool merges_only)
{
    static const char *const unset[] = {"dropout", "continuing_subword_prefix", "end_of_word_suffix"};
    struct jsonread *r = &f->r;
    struct bpe *b = &f->t->bpe;
    if (merges_only)
        return jsonread_is(r, "merges") ? read_merges(f) : skip(r);
    if (jsonread_is(r, "type"))
        return part_read(&f->type, r, &f->t->arena);
    if (jsonread_is(r, "unk_token"))
        return part_read(&f->unk_token, r, &f->t->arena);
    if (jsonread_is(r, "unk_id"))
        return part_read(&f->unk_id, r, &f->t->arena);
    if (jsonread_is(r, "fuse_unk"))
        return read_flag(r, "fuse_unk", &b->fuse_unk);
    if (jsonread_is(r, "byte_fallback"))
        return read_flag(r, "byte_fallback", &b->byte_fallback);
    if (jsonread_is(r, "ignore_merges"))
        return read_flag(r, "ignore_merges", &b->ignore_merges);
    if (jsonread_is(r, "vocab") && f->has_vocab)
        return jsonread_fail(r, "'vocab' is there twice");
    if (jsonread_is(r, "vocab"))
        return read_vocab(f);
    if (jsonread_is(r, "merges") && f->has_vocab)
        return read_merges(f);
    if (jsonread_is(r, "merges")) {
        f->merges_skipped = true;
        return skip(r);
    }
    for (size_t i = 0; i < sizeof unset / sizeof unset[0]; i++)
        if (jsonread_is(r, unset[i]))
            return read_unset(r, unset[i]);
    return jsonread_fail(r, "model: '%.*s' is not known", tokenizer_parts_shown(r->n_string), r->string);
}

static int read_model(struct file *f, bool merges_only)
{
    struct jsonread *r = &f->r;
    int code = 0;
    if (jsonread_next(r) != JSONREAD_OBJECT)
        return jsonread_fail(r, "'model' is %s, must be an object", jsonread_kind_name(r->kind));
    f->has_model = true;
    while (code == 0 && jsonread_next(r) == JSONREAD_KEY)
        code = read_model_member(f, merges_only);
    if (code == 0 && r->kind == JSONREAD_ERROR)
        code = r->error;
    if (code == 0 && f->type && !part_is(f->type, "BPE") && !part_is(f->type, "Unigram"))
        code = jsonread_fail(r, "model '%s' is not supported", f->type->string ? f->type->string : "");
    return code;
}

/* ---- added tokens ---- */

static int fill_added(struct file *f, struct added_token *a, const struct part *p)
{
    const char *what = "added token";
    const struct part *id = part_get(p, "id");
    int code = part_get_string(p, what, "content", &a->content, &a->n, f->why);
    if (code == 0 && (!id || id->kind != JSONREAD_INT || id->integer < 0 || id->integer >= VOCAB_MAX_IDS))
        code = why_set(f->why, EX_DATAERR, "added token '%.*s': its id is missing or out of range",
                       tokenizer_parts_shown(a->n), a->content);
    if (code)
        return code;
    a->id = (int32_t)id->integer;
    struct {
        const char *key;
        bool *flag;
    } flags[] = {{"special", &a->special},
                 {"lstrip", &a->lstrip},
                 {"rstrip", &a->rstrip},
                 {"single_word", &a->single_word},
                 {"normalized", &a->normalized}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && code == 0; i++)
        code = part_get_bool(p, what, flags[i].key, flags[i].flag, f->why);
    return code;
}

static int read_added(struct file *f)
{
    struct jsonread *r = &f->r;
    struct tokenizer *t = f->t;
    jsonread_next(r);
    if (r->kind == JSONREAD_NULL)
        return 0;
    if (r->kind != JSONREAD_ARRAY || t->n_added)
        return jsonread_fail(r, "'added_tokens' is %s",
                             t->n_added ? "there twice" : jsonread_kind_name(r->kind));
    while (jsonread_next(r) == JSONREAD_OBJECT) {
        const struct part *p;
        struct added_token token = {0};
        int code = part_read(&p, r, &t->arena);
        if (code == 0)
            code = fill_added(f, &token, p);
        if (code == 0)
            code = tokenizer_parts_push_added(t, &token, f->why);
        if (code)
            return code;
    }
    return r->kind == JSONREAD_ARRAY_END ? 0 : jsonread_fail(r, "an added token is no object");
}

/* ---- the whole ---- */

static int read_member(struct file *f, bool merges_only)
{
    static const char *const ignored[] = {"version", "truncation",
                                          "padding"}; /* the latter are the callers' */
    struct jsonread *r = &f->r;
    const struct {
        const char *key;
        const struct part **part;
    } components[] = {{"normalizer", &f->normalizer},
                      {"pre_tokenizer", &f->pre_tokenizer},
                      {"post_processor", &f->post_processor},
                      {"decoder", &f->decoder}};
    if (jsonread_is(r, "model"))
        return read_model(f, merges_only);
    if (merges_only)
        return skip(r);
    if (jsonread_is(r, "added_tokens"))
        return read_added(f);
    for (size_t i = 0; i < sizeof components / sizeof components[0]; i++)
        if (jsonread_is(r, components[i].key))
            return part_read(components[i].part, r, &f->t->arena);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (jsonread_is(r, ignored[i]))
            return skip(r);
    return jsonread_fail(r, "'%.*s' is not known", tokenizer_parts_shown(r->n_string), r->string);
}

static int read_all(struct file *f, const void *json, size_t n, bool merges_only)
{
    struct jsonread *r = &f->r;
    int code = 0;
    jsonread_init(r, json, n, f->why);
    if (jsonread_next(r) != JSONREAD_OBJECT)
        code = jsonread_fail(r, "not an object");
    while (code == 0 && jsonread_next(r) == JSONREAD_KEY)
        code = read_member(f, merges_only);
    if (code == 0 && r->kind != JSONREAD_ERROR)
        jsonread_next(r);
    if (code == 0 && r->kind == JSONREAD_ERROR)
        code = r->error;
    jsonread_deinit(r);
    return code;
}

static const struct part *unless_null(const struct part *p)
{
    return p && p->kind != JSONREAD_NULL ? p : NULL;
}

static int check_post_ids(const struct tokenizer *t, const int32_t *ids, unsigned n, struct why *why)
{
    size_t length;
    for (unsigned i = 0; i < n; i++)
        if (!vocab_piece(&t->vocab, ids[i], &length))
            return why_set(why, EX_DATAERR, "post-processor TemplateProcessing: no piece has the id %d",
                           ids[i]);
    return 0;
}

static int find_unk(struct file *f)
{
    const struct part *unk = unless_null(f->unk_token);
    f->t->bpe.unk = VOCAB_NONE;
    if (!unk)
        return 0;
    if (unk->kind == JSONREAD_STRING)
        f->t->bpe.unk = vocab_find(&f->t->vocab, unk->string, unk->n_string);
    if (f->t->bpe.unk == VOCAB_NONE)
        return why_set(f->why, EX_DATAERR, "model: the unk_token '%s' is no piece of the vocabulary",
                       unk->kind == JSONREAD_STRING ? unk->string : jsonread_kind_name(unk->kind));
    return 0;
}

/* Pieces of bytes stand in for characters without a piece. In a byte-level text these are letters of its
 * alphabet, the bytes of which are no bytes of the text; a model that has all letters never asks. */
static int check_bytes(const struct tokenizer *t, struct why *why)
{
    for (unsigned i = 0; i < 256 && t->bpe.byte_level && t->bpe.byte_fallback; i++)
        if (t->bpe.bytes[i] == VOCAB_NONE)
            return why_set(why, EX_DATAERR,
                           "model: 'byte_fallback' with pre-tokenizer ByteLevel is not supported where a "
                           "byte, here 0x%02X, "
                           "has no piece",
                           i);
    return 0;
}

/* The model's tables, when vocabulary and merges are there. */
static int seal_model(struct file *f)
{
    struct tokenizer *t = f->t;
    const bool is_unigram = t->model == TOKENIZER_UNIGRAM;
    if (f->type && part_is(f->type, "Unigram") != is_unigram)
        return why_set(f->why, EX_DATAERR, "model %s: 'vocab' is %s", f->type->string,
                       is_unigram ? "an array" : "an object");
    if (is_unigram) {
        const struct part *unk = unless_null(f->unk_id);
        bool ok =
            unk && unk->kind == JSONREAD_INT && unk->integer >= 0 && (uint64_t)unk->integer < t->vocab.n_id;
        if (!ok)
            return why_set(f->why, EX_DATAERR, "model Unigram without an 'unk_id' below %zu is not supported",
                           t->vocab.n_id);
        t->unigram.unk = (int32_t)unk->integer;
        t->unigram.byte_fallback = t->bpe.byte_fallback;
        return unigram_seal(&t->unigram, &t->vocab);
    }
    int code = find_unk(f);
    t->bpe.vocab = &t->vocab;
    t->bpe.byte_level = t->pretok.byte_level;
    if (code == 0)
        code = bpe_seal(&t->bpe, f->merges, f->n_merge);
    return code ? code : check_bytes(t, f->why);
}

/* Which word of several is the first is asked of the text as it was, where a normalizer may have made the
 * beginning of two words out of one character. */
static int check_first(const struct tokenizer *t, struct why *why)
{
    for (unsigned i = 1; i < t->pretok.n_stage && t->normalize.n_step; i++)
        if (t->pretok.stages[i].kind == PRETOK_METASPACE && t->pretok.stages[i].prepend == PRETOK_FIRST)
            return why_set(
                why, EX_DATAERR,
                "pre-tokenizer Metaspace with 'prepend_scheme' first after another one is not supported "
                "where there is a normalizer");
    return 0;
}

/* Everything was read: components are made, in the order in which they need each other. */
static int build(struct file *f)
{
    struct tokenizer *t = f->t;
    int code = normalize_init(&t->normalize, unless_null(f->normalizer), f->why);
    if (code == 0)
        code = pretok_init(&t->pretok, unless_null(f->pre_tokenizer), f->why);
    if (code == 0)
        code = check_first(t, f->why);
    if (code == 0)
        code = post_init(&t->post, unless_null(f->post_processor), f->why);
    if (code == 0)
        code = decode_init(&t->decode, unless_null(f->decoder), f->why);
    if (code == 0 && t->model == TOKENIZER_UNIGRAM && t->pretok.byte_level)
        code = why_set(f->why, EX_DATAERR, "model Unigram with pre-tokenizer ByteLevel is not supported");
    if (code == 0)
        code = seal_model(f);
    if (code == 0)
        code = tokenizer_parts_seal_added(t, f->why);
    if (code == 0)
        code = check_post_ids(t, t->post.before, t->post.n_before, f->why);
    if (code == 0)
        code = check_post_ids(t, t->post.after, t->post.n_after, f->why);
    return code ? code : decode_seal(&t->decode, &t->vocab, f->why);
}

int tokenizer_file_read(struct tokenizer *t, const void *json, size_t n, struct why *why)
{
    struct file f = {.t = t, .why = why};
    int code = n > TOKENIZER_FILE_MAX
                   ? why_set(why, EX_DATAERR, "%zu bytes, at most %d are allowed", n, TOKENIZER_FILE_MAX)
                   : read_all(&f, json, n, false);
    if (code == 0 && f.merges_skipped)
        code = read_all(&f, json, n, true);
    if (code == 0 && (!f.has_model || !f.has_vocab))
        code = why_set(why, EX_DATAERR, "'%s' is missing", f.has_model ? "vocab" : "model");
    if (code == 0)
        code = build(&f);
    free(f.merges);
    return code;
}
