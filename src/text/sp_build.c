/* A SentencePiece model becomes a tokenizer: see sp_build.h. */
#include "config.h"
#include "src/text/sp_build.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/text/sp_merges.h"
#include "src/text/tokenizer_parts.h"

/* What is known while a model is taken over. */
struct build {
    struct tokenizer *t;
    const struct sp_model *m;
    int32_t bytes[256];
    int32_t unk;
    struct why *why;
};

static const char *const type_names[] = {
    [SP_NORMAL] = "normal",   [SP_UNKNOWN] = "unknown",
    [SP_CONTROL] = "control", [SP_USER_DEFINED] = "user-defined",
    [SP_UNUSED] = "unused",   [SP_BYTE] = "byte",
};

static int bad_piece(const struct build *b, size_t id, const char *what)
{
    const struct sp_piece *p = &b->m->pieces[id];
    return why_set(b->why, EX_DATAERR, "%s piece '%.*s', id %zu: %s", type_names[p->type],
                   tokenizer_parts_shown(p->text.n), p->text.s, id, what);
}

/* Whether merging or matching can lead to a piece. One that is no text is never met. */
static bool is_found(const struct build *b, const struct sp_piece *p)
{
    bool found =
        p->type == SP_NORMAL || p->type == SP_UNUSED || (p->type == SP_USER_DEFINED && !b->m->user_added);
    return found && p->text.n && utf8_check(p->text.s, p->text.n) == p->text.n;
}

static int add_piece(struct build *b, size_t id)
{
    const struct sp_piece *p = &b->m->pieces[id];
    if (p->text.n == 0 && !b->m->lenient)
        return bad_piece(b, id, "it is empty");
    if (!isfinite(p->score))
        return bad_piece(b, id, "its score is not finite");
    int code = is_found(b, p) ? vocab_add(&b->t->vocab, p->text.s, p->text.n, (int64_t)id)
                              : vocab_add_hidden(&b->t->vocab, p->text.s, p->text.n, (int64_t)id);
    return code > 0 ? bad_piece(b, id, vocab_error(code)) : code;
}

/* "<0x41>" */
static int note_byte(struct build *b, size_t id)
{
    static const char digits[] = "0123456789ABCDEF";
    struct sp_string s = b->m->pieces[id].text;
    const char *high = s.n == 6 && s.s[3] ? strchr(digits, s.s[3]) : NULL;
    const char *low = s.n == 6 && s.s[4] ? strchr(digits, s.s[4]) : NULL;
    if (!high || !low || memcmp(s.s, "<0x", 3) != 0 || s.s[5] != '>')
        return bad_piece(b, id, "it is not spelled like '<0x41>'");
    int32_t *byte = &b->bytes[(high - digits) * 16 + (low - digits)];
    if (*byte != VOCAB_NONE)
        return bad_piece(b, id, vocab_error(VOCAB_E_SPELLING));
    *byte = (int32_t)id;
    return 0;
}

/* Control and unknown pieces are special tokens; user-defined ones are kept whole. */
static int note_type(struct build *b, size_t id)
{
    const struct sp_piece *p = &b->m->pieces[id];
    bool user = p->type == SP_USER_DEFINED, special = p->type == SP_CONTROL || p->type == SP_UNKNOWN;
    if (p->type == SP_BYTE)
        return note_byte(b, id);
    if (p->type == SP_UNKNOWN && b->m->unk < 0 && b->unk != VOCAB_NONE)
        return bad_piece(b, id, "there is another unknown piece");
    if (p->type == SP_UNKNOWN && b->m->unk < 0)
        b->unk = (int32_t)id;
    if (user && !b->m->user_added && is_found(b, p))
        return p->text.n > ADDED_MAX_BYTES
                   ? bad_piece(b, id, "it is too long")
                   : added_index_push(&b->t->sp.kept, (const uint8_t *)p->text.s, p->text.n, (uint32_t)id);
    if (!special && !user)
        return 0;
    char *content = arena_array(&b->t->arena, p->text.n + 1, 1);
    if (!content)
        return -ENOMEM;
    if (p->text.n)
        memcpy(content, p->text.s, p->text.n);
    struct added_token token = {.content = content, .n = p->text.n, .id = (int32_t)id, .special = special};
    return tokenizer_parts_push_added(b->t, &token, b->why);
}

static int add_pieces(struct build *b)
{
    int code = 0;
    for (size_t id = 0; id < b->m->n_piece && code == 0; id++) {
        code = add_piece(b, id);
        if (code == 0)
            code = note_type(b, id);
    }
    if (code)
        return code;
    added_index_seal(&b->t->sp.kept);
    bool has_all = true;
    for (unsigned i = 0; i < 256; i++)
        has_all = has_all && b->bytes[i] != VOCAB_NONE;
    if (!b->m->lenient && b->m->byte_fallback && !has_all)
        return why_set(b->why, EX_DATAERR, "byte_fallback is set, but not every byte has a piece");
    if (!b->m->lenient && b->unk == VOCAB_NONE)
        return why_set(b->why, EX_DATAERR, "there is no unknown piece");
    return 0;
}

static int set_normalizer(struct build *b)
{
    const struct sp_model *m = b->m;
    struct sp_normalize *z = &b->t->sp.normalize;
    uint8_t *blob = arena_array(&b->t->arena, m->charsmap.n, 1);
    if (!blob)
        return -ENOMEM;
    if (m->charsmap.n)
        memcpy(blob, m->charsmap.s, m->charsmap.n);
    int code = charsmap_init(&z->map, blob, m->charsmap.n, b->why);
    z->kept = b->t->sp.kept.n ? &b->t->sp.kept : NULL;
    z->dummy_prefix = m->add_dummy_prefix;
    z->remove_extra = m->remove_extra_whitespaces;
    z->escape = m->escape_whitespaces;
    z->suffix = m->whitespace_as_suffix;
    b->t->is_sp = true;
    return code;
}

/* ---- the model ---- */

static int set_scores(struct build *b)
{
    struct tokenizer_sp *sp = &b->t->sp;
    size_t n = b->t->vocab.n_id;
    sp->scores = mem_array(n, sizeof *sp->scores);
    sp->unused = mem_array(n, sizeof *sp->unused);
    if (!sp->scores || !sp->unused)
        return -ENOMEM;
    for (size_t id = 0; id < n; id++) {
        sp->scores[id] = b->m->pieces[id].score;
        sp->unused[id] = b->m->pieces[id].type == SP_UNUSED && !b->m->lenient;
    }
    return 0;
}

static int set_bpe(struct build *b)
{
    struct tokenizer *t = b->t;
    struct tokenizer_sp *sp = &t->sp;
    struct sp_merges merges = {
        .vocab = &t->vocab, .scores = sp->scores, .unused = sp->unused, .kept = &sp->kept};
    int code = sp_merges_find(&merges);
    if (code)
        return code;
    const struct added_index *kept = sp->kept.n ? &sp->kept : NULL;
    t->bpe.vocab = &t->vocab;
    t->bpe.byte_fallback = b->m->byte_fallback;
    t->bpe.fuse_unk = true;
    t->bpe.unk = b->unk;
    t->bpe.kept = kept;
    code = bpe_seal(&t->bpe, merges.list, merges.n);
    memcpy(t->bpe.bytes, b->bytes, sizeof b->bytes);
    sp->merge = (struct sp_merge){.vocab = &t->vocab,
                                  .scores = sp->scores,
                                  .unused = merges.has_unused ? sp->unused : NULL,
                                  .kept = kept,
                                  .unk = b->unk,
                                  .byte_fallback = b->m->byte_fallback,
                                  .bytes = t->bpe.bytes};
    t->model = merges.has_unused || merges.has_gaps ? TOKENIZER_SP_MERGE : TOKENIZER_BPE;
    sp_merges_deinit(&merges);
    return code;
}

static int set_unigram(struct build *b)
{
    struct unigram *u = &b->t->unigram;
    size_t n = b->t->vocab.n_id;
    u->scores = mem_array(n, sizeof *u->scores);
    u->user = mem_array(n, sizeof *u->user);
    if (!u->scores || !u->user)
        return -ENOMEM;
    u->min_score = FLT_MAX;
    int code = 0;
    for (size_t id = 0; id < n && code == 0; id++) {
        const struct sp_piece *p = &b->m->pieces[id];
        u->scores[id] = p->score;
        u->user[id] = p->type == SP_USER_DEFINED;
        if (p->type == SP_NORMAL && p->score < u->min_score)
            u->min_score = p->score;
        if (is_found(b, p) && p->type != SP_UNUSED)
            code = trie_add(&u->trie, (const uint8_t *)p->text.s, p->text.n, (int32_t)id);
    }
    u->unk = b->unk;
    u->single = u->fuse_unk = true;
    u->byte_fallback = b->m->byte_fallback;
    memcpy(u->bytes, b->bytes, sizeof u->bytes);
    b->t->model = TOKENIZER_UNIGRAM;
    return code;
}

static void set_decoder(struct build *b)
{
    struct decode *d = &b->t->decode;
    d->steps[d->n_step++] = (struct decode_step){
        .kind = DECODE_REPLACE, .string = SP_SPACE, .n_string = 3, .content = " ", .n_content = 1};
    d->steps[d->n_step++] = (struct decode_step){.kind = DECODE_BYTE_FALLBACK};
    d->lossy_bytes = true;
    d->strip = ' ';
    d->n_strip = b->m->remove_extra_whitespaces ? UINT_MAX : b->m->add_dummy_prefix;
}

int sp_build_begin(struct tokenizer *t, const struct sp_model *m, struct why *why)
{
    static const char *const names[] = {[SP_WORD] = "word", [SP_CHAR] = "char"};
    struct build b = {.t = t, .m = m, .unk = m->unk, .why = why};
    for (unsigned i = 0; i < 256; i++)
        b.bytes[i] = VOCAB_NONE;
    if (m->algorithm != SP_BPE && m->algorithm != SP_UNIGRAM)
        return why_set(why, EX_DATAERR, "a SentencePiece model of type '%s' is not supported",
                       m->algorithm == SP_WORD || m->algorithm == SP_CHAR ? names[m->algorithm] : "?");
    int code = add_pieces(&b);
    if (code == 0)
        code = set_normalizer(&b);
    if (code == 0)
        code = set_scores(&b);
    if (code == 0)
        code = m->algorithm == SP_BPE ? set_bpe(&b) : set_unigram(&b);
    set_decoder(&b);
    return code;
}

int sp_build_end(struct tokenizer *t, struct why *why)
{
    int code = tokenizer_parts_seal_added(t, why);
    return code ? code : decode_seal(&t->decode, &t->vocab, why);
}
