/* The vocabulary of a GGUF file becomes a tokenizer: see tokenizer_gguf.h. Keys and defaults are those of
 * ggml's docs/gguf.md and of llama.cpp. */
#include "config.h"
#include "src/text/tokenizer_gguf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/text/recipe.h"
#include "src/text/sp_build.h"
#include "src/text/tokenizer_parts.h"
#include "src/weights/gguf.h"

#define KEY(name) "tokenizer.ggml." name

struct source {
    struct tokenizer *t;
    const struct gguf *file;
    struct why *why;
    const struct gguf_value *tokens, *scores, *types; /* scores and types may be NULL */
    size_t n;
};

static bool is(struct gguf_string s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

/* ---- lists ---- */

/* An optional list with a number for each token. */
static int get_list(struct source *f, const char *key, enum gguf_type kind, const struct gguf_value **ret)
{
    int r = gguf_get_array(f->file, key, false, kind, ret, f->why);
    if (r == 0 && *ret && (*ret)->n < f->n)
        r = why_set(f->why, EX_DATAERR, "metadata '%s' has %zu elements, there are %zu tokens", key,
                    (*ret)->n, f->n);
    return r;
}

static int get_lists(struct source *f)
{
    int r = gguf_get_array(f->file, KEY("tokens"), true, GGUF_STRING, &f->tokens, f->why);
    if (r)
        return r;
    f->n = f->tokens->n;
    if (f->n == 0 || f->n > VOCAB_MAX_IDS)
        return why_set(f->why, EX_DATAERR, "metadata '%s' has %zu elements, must be 1 to %d", KEY("tokens"),
                       f->n, VOCAB_MAX_IDS);
    r = get_list(f, KEY("scores"), GGUF_F32, &f->scores);
    return r ? r : get_list(f, KEY("token_type"), GGUF_I32, &f->types);
}

static int get_type(struct source *f, size_t id, enum sp_type *ret)
{
    int64_t type = f->types ? gguf_int_at(f->types, id) : SP_NORMAL;
    if (type < SP_NORMAL || type > SP_BYTE)
        return why_set(f->why, EX_DATAERR, "metadata '%s': token %zu has type %lld, which is not known",
                       KEY("token_type"), id, (long long)type);
    *ret = (enum sp_type)type;
    return 0;
}

/* An id, or VOCAB_NONE where the key is missing. */
static int get_id(struct source *f, const char *key, int32_t *ret)
{
    int64_t id = *ret;
    int r = gguf_get_int(f->file, key, false, 0, (int64_t)f->n - 1, &id, f->why);
    *ret = id < (int64_t)f->n ? (int32_t)id : VOCAB_NONE;
    return r;
}

/* ---- beginning and end ---- */

/* bos, eos: what the model's kind has where the file does not say. */
static int set_ends(struct source *f, int32_t bos, int32_t eos, bool adds_bos)
{
    struct tokenizer *t = f->t;
    int32_t eot = VOCAB_NONE, eom = VOCAB_NONE;
    bool adds_eos = false;
    int r = get_id(f, KEY("bos_token_id"), &bos);
    if (r == 0)
        r = get_id(f, KEY("eos_token_id"), &eos);
    if (r == 0)
        r = get_id(f, KEY("eot_token_id"), &eot);
    if (r == 0)
        r = get_id(f, KEY("eom_token_id"), &eom);
    if (r == 0)
        r = gguf_get_bool(f->file, KEY("add_bos_token"), false, &adds_bos, f->why);
    if (r == 0)
        r = gguf_get_bool(f->file, KEY("add_eos_token"), false, &adds_eos, f->why);
    if (r)
        return r;
    if (adds_bos && bos != VOCAB_NONE)
        t->post.before[t->post.n_before++] = bos;
    if (adds_eos && eos != VOCAB_NONE)
        t->post.after[t->post.n_after++] = eos;
    tokenizer_parts_add_end(t, eos);
    tokenizer_parts_add_end(t, eot);
    tokenizer_parts_add_end(t, eom);
    return 0;
}

/* ---- model `llama` ---- */

static int read_sp_pieces(struct source *f, struct sp_model *m)
{
    int r = 0;
    for (size_t id = 0; id < f->n && r == 0; id++) {
        struct gguf_string s = gguf_string_at(f->tokens, id);
        struct sp_piece piece = {.text = {s.s, s.n},
                                 .score = f->scores ? (float)gguf_double_at(f->scores, id) : 0};
        r = get_type(f, id, &piece.type);
        if (r == 0)
            r = sp_model_push(m, &piece, f->why);
    }
    return r;
}

/* Phi-3's added tokens swallow the white space behind them, but for three. The format has no place for that,
 * so it is known by the architecture. */
static void strip_phi3(struct source *f)
{
    static const char *const plain[] = {"<unk>", "<s>", "<|endoftext|>"};
    struct gguf_string arch = {"", 0};
    gguf_get_string(f->file, "general.architecture", false, &arch, NULL);
    for (size_t i = 0; is(arch, "phi3") && i < f->t->n_added; i++) {
        struct added_token *a = &f->t->added[i];
        a->rstrip = true;
        for (size_t j = 0; j < sizeof plain / sizeof plain[0]; j++)
            a->rstrip &= strcmp(a->content, plain[j]) != 0;
    }
}

static int read_llama(struct source *f)
{
    struct sp_model m = SP_MODEL_NULL;
    m.algorithm = SP_BPE;
    m.byte_fallback = m.user_added = m.lenient = true;
    m.remove_extra_whitespaces = false;
    int r = gguf_get_bool(f->file, KEY("add_space_prefix"), false, &m.add_dummy_prefix, f->why);
    if (r == 0)
        r = gguf_get_bool(f->file, KEY("remove_extra_whitespaces"), false, &m.remove_extra_whitespaces,
                          f->why);
    m.unk = 0;
    if (r == 0)
        r = get_id(f, KEY("unknown_token_id"), &m.unk);
    if (r == 0)
        r = read_sp_pieces(f, &m);
    if (r == 0)
        r = sp_build_begin(f->t, &m, f->why);
    strip_phi3(f);
    if (r == 0)
        r = sp_build_end(f->t, f->why);
    sp_model_deinit(&m);
    return r ? r : set_ends(f, 1, 2, true);
}

/* ---- model `gpt2` ---- */

static int read_piece(struct source *f, size_t id)
{
    struct gguf_string s = gguf_string_at(f->tokens, id);
    enum sp_type type = SP_NORMAL;
    int r = get_type(f, id, &type);
    if (r)
        return r;
    r = s.n && (type == SP_NORMAL || type == SP_UNUSED)
            ? vocab_add(&f->t->vocab, s.s, s.n, (int64_t)id)
            : vocab_add_hidden(&f->t->vocab, s.s, s.n, (int64_t)id);
    if (r > 0)
        return why_set(f->why, EX_DATAERR, "token '%.*s', id %zu: %s", tokenizer_parts_shown(s.n), s.s, id,
                       vocab_error(r));
    if (r || type == SP_NORMAL || type == SP_UNUSED || type == SP_BYTE)
        return r;
    char *content = arena_array(&f->t->arena, s.n + 1, 1);
    if (!content)
        return -ENOMEM;
    memcpy(content, s.s, s.n);
    struct added_token token = {
        .content = content, .n = s.n, .id = (int32_t)id, .special = type != SP_USER_DEFINED};
    return tokenizer_parts_push_added(f->t, &token, f->why);
}

/* "left right"; a piece may begin with a space, but the first one behind its first byte is the border. */
static int read_merge(struct source *f, const struct gguf_value *list, size_t i, struct bpe_merge *ret)
{
    const struct vocab *v = &f->t->vocab;
    struct gguf_string s = gguf_string_at(list, i);
    const char *space = s.n > 1 ? memchr(s.s + 1, ' ', s.n - 1) : NULL;
    if (space) {
        size_t n_left = (size_t)(space - s.s), n_right = s.n - n_left - 1;
        *ret = (struct bpe_merge){.left = vocab_find(v, s.s, n_left),
                                  .right = vocab_find(v, space + 1, n_right),
                                  .merged = vocab_find_pair(v, s.s, n_left, space + 1, n_right)};
    }
    if (!space || ret->left == VOCAB_NONE || ret->right == VOCAB_NONE || ret->merged == VOCAB_NONE)
        return why_set(f->why, EX_DATAERR, "metadata '%s': %zu, '%.*s', does not merge two tokens into one",
                       KEY("merges"), i, tokenizer_parts_shown(s.n), s.s);
    return 0;
}

static int read_merges(struct source *f)
{
    const struct gguf_value *list;
    int r = gguf_get_array(f->file, KEY("merges"), true, GGUF_STRING, &list, f->why);
    if (r)
        return r;
    if (list->n > BPE_MAX_MERGES)
        return why_set(f->why, EX_DATAERR, "metadata '%s' has %zu elements, at most %d are allowed",
                       KEY("merges"), list->n, BPE_MAX_MERGES);
    struct bpe_merge *merges = mem_array(list->n, sizeof *merges);
    r = merges ? 0 : -ENOMEM;
    for (size_t i = 0; i < list->n && r == 0; i++)
        r = read_merge(f, list, i, &merges[i]);
    f->t->bpe.vocab = &f->t->vocab;
    f->t->bpe.byte_level = true;
    f->t->bpe.unk = VOCAB_NONE;
    if (r == 0)
        r = bpe_seal(&f->t->bpe, merges, list->n);
    free(merges);
    return r;
}

/* The rule for words: by name, else by the architecture, whose files had no name at first. */
static int find_recipe(struct source *f, const struct recipe **ret)
{
    static const char *const rules[][2] = {
        {"falcon", "falcon"}, {"gpt2", "gpt-2"},          {"gptneox", "gptneox"},
        {"phi2", "gpt-2"},    {"starcoder", "starcoder"},
    };
    struct gguf_string pre = {"", 0}, arch = {"", 0};
    int r = gguf_get_string(f->file, KEY("pre"), false, &pre, f->why);
    if (r == 0)
        r = gguf_get_string(f->file, "general.architecture", false, &arch, f->why);
    if (r)
        return r;
    for (size_t i = 0; pre.n == 0 && i < sizeof rules / sizeof rules[0]; i++)
        if (is(arch, rules[i][0]))
            pre = (struct gguf_string){rules[i][1], strlen(rules[i][1])};
    *ret = pre.n ? recipe_find(pre.s, pre.n) : recipe_find("default", 7);
    if (!*ret)
        r = why_set(f->why, EX_DATAERR, "metadata '%s' is '%.*s', which is not known", KEY("pre"),
                    tokenizer_parts_shown(pre.n), pre.s);
    return r;
}

static int read_gpt2(struct source *f)
{
    const struct recipe *recipe;
    int r = find_recipe(f, &recipe);
    for (size_t id = 0; id < f->n && r == 0; id++)
        r = read_piece(f, id);
    if (r == 0)
        r = read_merges(f);
    if (r == 0)
        r = recipe_apply(f->t, recipe, f->why);
    if (r == 0)
        r = tokenizer_parts_seal_added(f->t, f->why);
    if (r == 0)
        r = decode_seal(&f->t->decode, &f->t->vocab, f->why);
    return r ? r : set_ends(f, 11, 11, recipe_adds_bos(recipe));
}

int tokenizer_gguf_read(struct tokenizer *t, const struct gguf *file, struct why *why)
{
    struct source f = {.t = t, .file = file, .why = why};
    struct gguf_string model = {"", 0};
    int r = gguf_get_string(file, KEY("model"), true, &model, why);
    if (r == 0 && !is(model, "llama") && !is(model, "gpt2"))
        r = why_set(why, EX_DATAERR, "metadata '%s' is '%.*s', only llama and gpt2 are supported",
                    KEY("model"), tokenizer_parts_shown(model.n), model.s);
    if (r == 0)
        r = get_lists(&f);
    if (r)
        return r;
    return is(model, "llama") ? read_llama(&f) : read_gpt2(&f);
}
