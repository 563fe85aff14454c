/* Whole tokenizers against ids that their authors' tools gave, in every format that holds the vocabulary. */
#include "config.h"
#include "src/text/tokenizer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "tests/support.h"
#include "tests/unit/sha256.h"
#include "tests/unit/text_util.h"

/* The ids as "1, 2, 3" for messages. */
static const char *show(const struct token_list *ids)
{
    static char text[512];
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < ids->n && at < sizeof text - 16; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", i ? ", " : "", ids->data[i]);
    return text;
}

static bool equals(const struct token_list *ids, size_t at, const struct part *want)
{
    for (const struct part *id = want->first; id; id = id->next, at++)
        if (at >= ids->n || ids->data[at] != id->integer)
            return false;
    return true;
}

static size_t count(const struct part *list)
{
    size_t n = 0;
    for (const struct part *p = list->first; p; p = p->next)
        n++;
    return n;
}

static void check_ids(const struct token_list *ids, const struct part *want, const char *what,
                      const char *name)
{
    cr_assert(ids->n == count(want) && equals(ids, 0, want), "%s, %s: got %zu ids %s", what, name, ids->n,
              show(ids));
}

/* What transformers' clean_up_tokenization does to a decoded text, with which some of the vectors were made.
 */
static void clean_up(struct buf *text)
{
    static const char *const drops[] = {" .", " ?", " !", " ,", " n't", " 'm", " 's", " 've", " 're"};
    for (size_t i = 0; i < sizeof drops / sizeof drops[0]; i++) {
        char *found;
        while (text->n && (found = memmem(text->data, text->n, drops[i], strlen(drops[i])))) {
            memmove(found, found + 1, text->n - (size_t)((uint8_t *)found + 1 - text->data));
            text->n--;
        }
    }
}

static void check_decoded(const struct tokenizer *t, const struct token_list *ids, const struct part *c,
                          const char *what)
{
    size_t n;
    if (!part_get(c, "decoded"))
        return;
    const char *want = text_util_string(c, "decoded", &n);
    struct buf got = text_util_decode(t, ids, true);
    if (got.n != n)
        clean_up(&got);
    cr_assert(got.n == n && (n == 0 || memcmp(got.data, want, n) == 0), "%s: decoded '%.*s', want '%s'", what,
              (int)got.n, (const char *)got.data, want);
    buf_deinit(&got);
}

/* data/vectors/NAME.json with a vocabulary of data, tokens of the text parsed, as the tools do it. */
static void check_vectors(const char *name, const char *vocabulary)
{
    char path[SUPPORT_PATH];
    struct arena arena = ARENA_NULL;
    size_t n_checked = 0;
    support_data(path, "data/%s", vocabulary);
    struct tokenizer *t = text_util_open(path);
    support_data(path, "data/vectors/%s.json", name);
    const struct part *root = text_util_json(&arena, path);
    for (const struct part *g = part_get(root, "groups")->first; g; g = g->next) {
        unsigned flags = TOKENIZER_PARSE_SPECIAL;
        if (part_get(g, "add_special_tokens")->kind == JSONREAD_TRUE)
            flags |= TOKENIZER_ADD_SPECIAL;
        for (const struct part *c = part_get(g, "cases")->first; c; c = c->next, n_checked++) {
            size_t n;
            const char *text = text_util_string(c, "text", &n);
            struct token_list ids = text_util_encode(t, text, n, flags);
            check_ids(&ids, part_get(c, "ids"), name, text);
            check_decoded(t, &ids, c, name);
            token_list_deinit(&ids);
        }
    }
    cr_assert(n_checked > 0);
    tokenizer_free(t);
    arena_deinit(&arena);
}

/* Long answers are given by their number, hash and ends. */
static void check_digest(const struct token_list *ids, const struct part *f, const char *name)
{
    struct sha256 h;
    char hex[65], text[16];
    const struct part *head = part_get(f, "head"), *tail = part_get(f, "tail");
    cr_assert_eq(ids->n, part_get(f, "n")->integer, "%s: %zu ids", name, ids->n);
    cr_assert(equals(ids, 0, head), "%s: its first ids differ", name);
    cr_assert(equals(ids, ids->n - count(tail), tail), "%s: its last ids differ", name);
    sha256_init(&h);
    for (size_t i = 0; i < ids->n; i++)
        sha256_push(&h, text, (size_t)snprintf(text, sizeof text, "%s%d", i ? "," : "", ids->data[i]));
    sha256_end(&h, hex);
    cr_assert(part_is(part_get(f, "sha256_ids"), hex), "%s: the hash of its ids differs", name);
}

/* data/text/expected/FILE: the ids of each file of data/text; vocabulary NULL: the one that it names. */
static void check_texts(const char *file, const char *vocabulary)
{
    char path[SUPPORT_PATH];
    struct arena arena = ARENA_NULL;
    size_t n;
    support_data(path, "data/text/expected/%s", file);
    const struct part *root = text_util_json(&arena, path);
    support_data(path, "data/%s", vocabulary ? vocabulary : text_util_string(root, "tokenizer", &n));
    struct tokenizer *t = text_util_open(path);
    for (const struct part *f = part_get(root, "files")->first; f; f = f->next) {
        support_data(path, "data/text/%s", f->key);
        char *text = support_read(path, &n);
        struct token_list ids = text_util_encode(t, text, n, TOKENIZER_PARSE_SPECIAL);
        if (part_get(f, "ids"))
            check_ids(&ids, part_get(f, "ids"), file, f->key);
        else
            check_digest(&ids, f, f->key);
        token_list_deinit(&ids);
        free(text);
    }
    tokenizer_free(t);
    arena_deinit(&arena);
}

/* data/gguf-vocab/NAME.inp and .out: texts between lines with a mark, one line of ids each. */
static void check_gguf_vectors(const char *name, const char *vocabulary)
{
    static const char mark[] = "\n__ggml_vocab_test__\n";
    char path[SUPPORT_PATH];
    size_t n_text, n_out, n_checked = 0;
    support_data(path, "data/%s", vocabulary);
    struct tokenizer *t = text_util_open(path);
    support_data(path, "data/gguf-vocab/ggml-vocab-%s.gguf.inp", name);
    char *texts = support_read(path, &n_text), *text = texts, *end = texts + n_text;
    support_data(path, "data/gguf-vocab/ggml-vocab-%s.gguf.out", name);
    char *outs = support_read(path, &n_out), *out = outs;
    for (; text < end; n_checked++) {
        char *stop = memmem(text, (size_t)(end - text), mark, sizeof mark - 1);
        char *line_end = memchr(out, '\n', (size_t)(outs + n_out - out));
        if (!stop || !line_end)
            break;
        struct token_list ids = text_util_encode(t, text, (size_t)(stop - text), TOKENIZER_PARSE_SPECIAL);
        for (size_t i = 0; i < ids.n; i++) {
            long want = strtol(out, &out, 10);
            cr_assert(out <= line_end && ids.data[i] == want, "%s, text %zu: got %s", name, n_checked,
                      show(&ids));
        }
        while (out < line_end && *out == ' ')
            out++;
        cr_assert_eq(out, line_end, "%s, text %zu: got only %s", name, n_checked, show(&ids));
        out++;
        text = stop + sizeof mark - 1;
        token_list_deinit(&ids);
    }
    cr_assert_geq(n_checked, 23);
    free(texts);
    free(outs);
    tokenizer_free(t);
}

/* data/vectors/spm/NAME.json: what SentencePiece itself gives. */
static void check_spm(const char *name)
{
    char path[SUPPORT_PATH];
    struct arena arena = ARENA_NULL;
    size_t n, n_checked = 0;
    support_data(path, "data/vectors/spm/%s.json", name);
    const struct part *root = text_util_json(&arena, path);
    support_data(path, "data/%s", text_util_string(root, "model", &n));
    struct tokenizer *t = text_util_open(path);
    cr_assert_eq(tokenizer_n_vocab(t), part_get(root, "pieces")->integer);
    for (const struct part *c = part_get(root, "cases")->first; c; c = c->next, n_checked++) {
        const char *text = text_util_string(c, "text", &n);
        struct token_list ids = text_util_encode(t, text, n, 0);
        check_ids(&ids, part_get(c, "ids"), name, text);
        token_list_deinit(&ids);
    }
    for (const struct part *f = part_get(root, "files")->first; f; f = f->next, n_checked++) {
        support_data(path, "data/text/%s", f->key);
        char *text = support_read(path, &n);
        struct token_list ids = text_util_encode(t, text, n, 0);
        if (part_get(f, "ids"))
            check_ids(&ids, part_get(f, "ids"), name, f->key);
        else
            check_digest(&ids, f, f->key);
        token_list_deinit(&ids);
        free(text);
    }
    cr_assert_geq(n_checked, 40);
    tokenizer_free(t);
    arena_deinit(&arena);
}

#define LLAMA3_RANKS "tokenizers/llama-3-8b/original/tokenizer.model"
#define GGUF(name) "gguf-vocab/ggml-vocab-" name ".gguf"

Test(published, vectors)
{
    check_vectors("falcon-7b", "tokenizers/falcon-7b");
    check_vectors("llama-2-7b", "tokenizers/llama-2-7b");
    check_vectors("llama-3-8b", "tokenizers/llama-3-8b");
    check_vectors("qwen2.5", "tokenizers/qwen2.5");
    check_vectors("tinyllama-1.1b-chat-v1.0", "tokenizers/tinyllama-1.1b-chat-v1.0");
}

Test(published, vectors_in_other_formats)
{
    check_vectors("falcon-7b", GGUF("falcon"));
    check_vectors("gpt-2", GGUF("gpt-2"));
    check_vectors("llama-2-7b", GGUF("llama-spm"));
    check_vectors("llama-3-8b", LLAMA3_RANKS);
}

Test(published, texts)
{
    char path[SUPPORT_PATH];
    size_t n_file = 0;
    support_data(path, "data/text/expected");
    DIR *folder = opendir(path);
    cr_assert_not_null(folder);
    for (struct dirent *e; (e = readdir(folder));) {
        if (e->d_name[0] == '.')
            continue;
        check_texts(e->d_name, NULL);
        n_file++;
    }
    closedir(folder);
    cr_assert_geq(n_file, 10);
}

Test(published, texts_in_other_formats)
{
    check_texts("falcon-7b.json", GGUF("falcon"));
    check_texts("gpt-neox-20b.json", GGUF("gpt-neox"));
    check_texts("llama-2-7b.json", GGUF("llama-spm"));
    check_texts("phi-3-mini.json", GGUF("phi-3"));
    check_texts("llama-3-8b.json", LLAMA3_RANKS);
}

Test(published, gguf_vectors)
{
    check_gguf_vectors("falcon", GGUF("falcon"));
    check_gguf_vectors("falcon", "tokenizers/falcon-7b");
    check_gguf_vectors("gpt-2", GGUF("gpt-2"));
    check_gguf_vectors("llama-bpe", "tokenizers/llama-3-8b");
    check_gguf_vectors("llama-bpe", LLAMA3_RANKS);
    check_gguf_vectors("llama-spm", GGUF("llama-spm"));
    check_gguf_vectors("llama-spm", "tokenizers/llama-2-7b");
    check_gguf_vectors("phi-3", GGUF("phi-3"));
    check_gguf_vectors("phi-3", "tokenizers/phi-3-mini");
    check_gguf_vectors("qwen2", "tokenizers/qwen2.5");
}

Test(published, sentencepiece)
{
    check_spm("gemma-mini-synthetic");
    check_spm("llama-2-7b");
    check_spm("mistral-7b-v0.1");
    check_spm("mistral-7b-v0.3");
    check_spm("stories260K");
}

/* The story model's prompts and stories, in its three formats. */
static void check_stories(const char *vocabulary)
{
    char path[SUPPORT_PATH];
    struct arena arena = ARENA_NULL;
    support_data(path, "data/%s", vocabulary);
    struct tokenizer *t = text_util_open(path);
    support_data(path, "data/stories260K/expected_greedy.json");
    const struct part *root = text_util_json(&arena, path);
    for (const struct part *c = part_get(root, "cases")->first; c; c = c->next) {
        size_t n;
        const char *prompt = text_util_string(c, "prompt", &n);
        struct token_list ids = text_util_encode(t, prompt, n, TOKENIZER_ADD_SPECIAL);
        check_ids(&ids, part_get(c, "prompt_ids"), vocabulary, prompt);
        for (const struct part *id = part_get(c, "ids")->first; id; id = id->next)
            cr_assert_eq(token_list_push(&ids, (int32_t)id->integer), 0);
        const char *story = text_util_string(c, "text", &n);
        struct buf got = text_util_decode(t, &ids, false);
        cr_assert(got.n == n && memcmp(got.data, story, n) == 0, "%s: '%.*s', want '%s'", vocabulary,
                  (int)got.n, (const char *)got.data, story);
        buf_deinit(&got);
        token_list_deinit(&ids);
    }
    tokenizer_free(t);
    arena_deinit(&arena);
}

Test(published, stories)
{
    check_stories("stories260K");
    check_stories("stories260K-gguf/stories260K-f32.gguf");
    check_stories("stories260K/tokenizer.model");
}

/* The demo model's conversations: role tokens around the messages, as its training laid them out. */
Test(published, demo_model_conversations)
{
    char path[SUPPORT_PATH];
    struct arena arena = ARENA_NULL;
    size_t n, n_checked = 0;
    support_source(path, "contrib/demo-model");
    struct tokenizer *t = text_util_open(path);
    support_source(path, "contrib/demo-model/reference.json");
    const struct part *root = text_util_json(&arena, path);
    for (const struct part *c = part_get(root, "cases")->first; c; c = c->next, n_checked++) {
        struct token_list want = TOKEN_LIST_NULL;
        struct buf text;
        for (const struct part *id = part_get(c, "prompt_ids")->first; id; id = id->next)
            cr_assert_eq(token_list_push(&want, (int32_t)id->integer), 0);
        text = text_util_decode(t, &want, true);
        struct token_list ids = text_util_encode(t, (const char *)text.data, text.n, TOKENIZER_PARSE_SPECIAL);
        check_ids(&ids, part_get(c, "prompt_ids"), "demo model", "prompt_ids");
        const struct part *messages = part_get(c, "messages");
        const struct part *holder = messages ? messages->first : c;
        const char *content = text_util_string(holder, messages ? "content" : "prompt", &n);
        cr_assert_not_null(memmem(text.data, text.n, content, n), "'%s' is not in its prompt", content);
        token_list_deinit(&want);
        token_list_deinit(&ids);
        buf_deinit(&text);
    }
    cr_assert(n_checked > 0);
    tokenizer_free(t);
    arena_deinit(&arena);
}
