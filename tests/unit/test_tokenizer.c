/* Whole tokenizers against what the models' authors' tools give: src/text/tokenizer.c and all below it. */
#include "config.h"
#include "src/text/tokenizer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "src/text/detok.h"
#include "tests/support.h"
#include "tests/unit/sha256.h"
#include "tests/unit/text_util.h"

static struct token_list encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags)
{
    struct token_list ids = TOKEN_LIST_NULL;
    struct why why = {""};
    cr_assert_eq(tokenizer_encode(t, text, n, flags, &ids, &why), 0, "%s", why.text);
    return ids;
}

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

/* All ids at once through the detokenizer. */
static struct buf decode(const struct tokenizer *t, const struct token_list *ids, bool special)
{
    struct detok d;
    struct buf text;
    buf_init(&text, 0);
    char *out = malloc(detok_max_out(t));
    detok_start(&d, t, special, NULL, 0);
    for (size_t i = 0; i <= ids->n; i++) {
        size_t n = i < ids->n ? detok_push(&d, ids->data[i], out) : detok_finish(&d, out);
        cr_assert(n <= detok_max_out(t));
        cr_assert_eq(buf_push(&text, out, n), 0);
    }
    free(out);
    return text;
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
    struct buf got = decode(t, ids, true);
    if (got.n != n)
        clean_up(&got);
    cr_assert(got.n == n && (n == 0 || memcmp(got.data, want, n) == 0), "%s: decoded '%.*s', want '%s'", what,
              (int)got.n, (const char *)got.data, want);
    buf_deinit(&got);
}

/* data/vectors/NAME.json, with special tokens of the text parsed, as the tools do it. */
static void check_vectors(const char *name)
{
    char path[SUPPORT_PATH];
    struct arena arena = ARENA_NULL;
    size_t n_checked = 0;
    support_data(path, "data/tokenizers/%s", name);
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
            struct token_list ids = encode(t, text, n, flags);
            check_ids(&ids, part_get(c, "ids"), name, text);
            check_decoded(t, &ids, c, name);
            token_list_deinit(&ids);
        }
    }
    cr_assert(n_checked > 0);
    tokenizer_free(t);
    arena_deinit(&arena);
}

Test(tokenizer, vectors_falcon_7b)
{
    check_vectors("falcon-7b");
}

Test(tokenizer, vectors_llama_2_7b)
{
    check_vectors("llama-2-7b");
}

Test(tokenizer, vectors_llama_3_8b)
{
    check_vectors("llama-3-8b");
}

Test(tokenizer, vectors_qwen2_5)
{
    check_vectors("qwen2.5");
}

Test(tokenizer, vectors_tinyllama)
{
    check_vectors("tinyllama-1.1b-chat-v1.0");
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

/* data/text/expected/NAME.json: the ids of each file of data/text. */
static void check_texts(const char *file)
{
    char path[SUPPORT_PATH];
    struct arena arena = ARENA_NULL;
    size_t n;
    support_data(path, "data/text/expected/%s", file);
    const struct part *root = text_util_json(&arena, path);
    support_data(path, "data/%s", text_util_string(root, "tokenizer", &n));
    struct tokenizer *t = text_util_open(path);
    for (const struct part *f = part_get(root, "files")->first; f; f = f->next) {
        support_data(path, "data/text/%s", f->key);
        char *text = support_read(path, &n);
        struct token_list ids = encode(t, text, n, TOKENIZER_PARSE_SPECIAL);
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

Test(tokenizer, texts)
{
    char path[SUPPORT_PATH];
    size_t n_file = 0;
    support_data(path, "data/text/expected");
    DIR *folder = opendir(path);
    cr_assert_not_null(folder);
    for (struct dirent *e; (e = readdir(folder));) {
        if (e->d_name[0] == '.')
            continue;
        check_texts(e->d_name);
        n_file++;
    }
    closedir(folder);
    cr_assert_geq(n_file, 10);
}

/* data/gguf-vocab/NAME.inp and .out: texts between lines with a mark, one line of ids each. */
static void check_gguf_vectors(const char *name, const char *tokenizer)
{
    static const char mark[] = "\n__ggml_vocab_test__\n";
    char path[SUPPORT_PATH];
    size_t n_text, n_out, n_checked = 0;
    support_data(path, "data/tokenizers/%s", tokenizer);
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
        struct token_list ids = encode(t, text, (size_t)(stop - text), TOKENIZER_PARSE_SPECIAL);
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

Test(tokenizer, gguf_vectors_of_llama_bpe)
{
    check_gguf_vectors("llama-bpe", "llama-3-8b");
}

Test(tokenizer, gguf_vectors_of_qwen2)
{
    check_gguf_vectors("qwen2", "qwen2.5");
}

Test(tokenizer, gguf_vectors_of_falcon)
{
    check_gguf_vectors("falcon", "falcon-7b");
}

Test(tokenizer, gguf_vectors_of_llama_spm)
{
    check_gguf_vectors("llama-spm", "llama-2-7b");
}

Test(tokenizer, gguf_vectors_of_phi_3)
{
    check_gguf_vectors("phi-3", "phi-3-mini");
}

Test(tokenizer, stories260k_prompts)
{
    char path[SUPPORT_PATH];
    struct arena arena = ARENA_NULL;
    support_data(path, "data/stories260K");
    struct tokenizer *t = text_util_open(path);
    support_data(path, "data/stories260K/expected_greedy.json");
    const struct part *root = text_util_json(&arena, path);
    for (const struct part *c = part_get(root, "cases")->first; c; c = c->next) {
        size_t n;
        const char *prompt = text_util_string(c, "prompt", &n);
        struct token_list ids = encode(t, prompt, n, TOKENIZER_ADD_SPECIAL);
        check_ids(&ids, part_get(c, "prompt_ids"), "stories260K", prompt);
        token_list_deinit(&ids);
    }
    tokenizer_free(t);
    arena_deinit(&arena);
}

/* The demo model's conversations: role tokens around the messages, as its training laid them out. */
Test(tokenizer, demo_model_conversations)
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
        text = decode(t, &want, true);
        struct token_list ids = encode(t, (const char *)text.data, text.n, TOKENIZER_PARSE_SPECIAL);
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

static struct tokenizer *open_demo(void)
{
    char path[SUPPORT_PATH];
    support_source(path, "contrib/demo-model/tokenizer.json");
    return text_util_open(path);
}

Test(tokenizer, special_tokens_are_text_unless_asked_for)
{
    struct tokenizer *t = open_demo();
    const char text[] = "<|begin|>Hi<|end|>";
    int32_t begin = tokenizer_id(t, "<|begin|>"), end = tokenizer_id(t, "<|end|>");
    struct token_list plain = encode(t, text, sizeof text - 1, 0);
    struct token_list parsed = encode(t, text, sizeof text - 1, TOKENIZER_PARSE_SPECIAL);
    cr_assert(tokenizer_is_special(t, begin) && tokenizer_is_special(t, end));
    for (size_t i = 0; i < plain.n; i++)
        cr_assert(!tokenizer_is_special(t, plain.data[i]));
    cr_assert(parsed.n >= 3 && parsed.data[0] == begin && parsed.data[parsed.n - 1] == end);
    struct buf back = decode(t, &plain, false);
    cr_assert(back.n == sizeof text - 1 && memcmp(back.data, text, back.n) == 0);
    buf_deinit(&back);
    back = decode(t, &parsed, false);
    cr_assert(back.n == 2 && memcmp(back.data, "Hi", 2) == 0);
    buf_deinit(&back);
    token_list_deinit(&plain);
    token_list_deinit(&parsed);
    tokenizer_free(t);
}

Test(tokenizer, a_beginning_is_added_once)
{
    struct tokenizer *t = open_demo();
    int32_t begin = tokenizer_id(t, "<|begin|>");
    const unsigned both = TOKENIZER_ADD_SPECIAL | TOKENIZER_PARSE_SPECIAL;
    static const struct {
        const char *text;
        unsigned flags;
        size_t n_begin;
    } cases[] = {{"Hi", 0, 0},
                 {"Hi", TOKENIZER_ADD_SPECIAL, 1},
                 {"", TOKENIZER_ADD_SPECIAL, 1},
                 {"<|begin|>Hi", both, 1},
                 {"<|begin|><|begin|>", both, 2},
                 {"<|begin|>", TOKENIZER_ADD_SPECIAL, 1},
                 {"Hi<|begin|>", both, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct token_list ids = encode(t, cases[i].text, strlen(cases[i].text), cases[i].flags);
        size_t n = 0;
        for (size_t j = 0; j < ids.n; j++)
            n += ids.data[j] == begin;
        cr_assert_eq(n, cases[i].n_begin, "case %zu: %s", i, show(&ids));
        cr_assert(!(cases[i].flags & TOKENIZER_ADD_SPECIAL) || ids.data[0] == begin);
        token_list_deinit(&ids);
    }
    tokenizer_free(t);
}

Test(tokenizer, invalid_utf8_is_refused_with_its_place)
{
    struct tokenizer *t = open_demo();
    struct token_list ids = TOKEN_LIST_NULL;
    struct why why = {""};
    cr_assert_eq(token_list_push(&ids, 7), 0);
    cr_assert_eq(tokenizer_encode(t, "abc\xff", 4, 0, &ids, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "the text is not valid UTF-8 at byte 3 of 4");
    cr_assert(ids.n == 1 && ids.data[0] == 7);
    token_list_deinit(&ids);
    tokenizer_free(t);
}

/* Whatever bytes a text holds, it is refused or encoded, and what was encoded comes back. */
Test(tokenizer, invalid_bytes_never_break_anything)
{
    char path[SUPPORT_PATH];
    size_t n;
    support_data(path, "data/text/invalid_utf8.bin");
    char *bytes = support_read(path, &n);
    struct tokenizer *t = open_demo();
    for (size_t from = 0; from < n; from++) {
        struct token_list ids = TOKEN_LIST_NULL;
        size_t good = 0;
        struct why why;
        int r = tokenizer_encode(t, bytes + from, n - from, 0, &ids, &why);
        cr_assert(r == EX_DATAERR || r == 0);
        if (r && sscanf(why.text, "the text is not valid UTF-8 at byte %zu", &good) == 1) {
            cr_assert_eq(tokenizer_encode(t, bytes + from, good, 0, &ids, &why), 0);
            struct buf back = decode(t, &ids, true);
            cr_assert(back.n == good && (good == 0 || memcmp(back.data, bytes + from, good) == 0));
            buf_deinit(&back);
        }
        token_list_deinit(&ids);
    }
    free(bytes);
    tokenizer_free(t);
}

Test(tokenizer, facts)
{
    struct tokenizer *t = open_demo();
    size_t n;
    cr_assert_eq(tokenizer_n_vocab(t), 1024);
    cr_assert_eq(tokenizer_id(t, "no such piece"), -1);
    cr_assert_null(tokenizer_bytes(t, -1, &n));
    cr_assert_null(tokenizer_bytes(t, 1024, &n));
    cr_assert(!tokenizer_is_special(t, -1) && !tokenizer_is_special(t, 1024));
    const char *bytes = tokenizer_bytes(t, 1, &n);
    cr_assert(n == 7 && memcmp(bytes, "<|end|>", 7) == 0);
    size_t longest = tokenizer_max_piece(t);
    for (int32_t id = 0; id < 1024; id++) {
        tokenizer_bytes(t, id, &n);
        cr_assert(n > 0 && n <= longest);
    }
    tokenizer_free(t);
}

Test(tokenizer, a_missing_file_is_named)
{
    struct tokenizer *t = NULL;
    struct why why = {""};
    char folder[SUPPORT_PATH];
    support_dir_make(folder);
    cr_assert_eq(tokenizer_open(&t, folder, &why), EX_NOINPUT);
    cr_assert_not_null(strstr(why.text, "tokenizer.json"), "%s", why.text);
    support_dir_remove(folder);
}
