/* Vocabularies in other formats than tokenizer.json: tokenizer.model, GGUF, lists of ranks. */
#include "config.h"
#include "src/text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "src/base/mem.h"
#include "src/text/recipe.h"
#include "src/text/tokenizer_parts.h"
#include "tests/support.h"
#include "tests/unit/text_util.h"

static struct token_list encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags)
{
    struct token_list ids = TOKEN_LIST_NULL;
    struct why why = {""};
    cr_assert_eq(tokenizer_encode(t, text, n, flags, &ids, &why), 0, "%s", why.text);
    return ids;
}

static void check_ids(const struct token_list *ids, const struct part *want, const char *what,
                      const char *text)
{
    size_t n = 0;
    for (const struct part *id = want->first; id; id = id->next, n++)
        cr_assert(n < ids->n && ids->data[n] == id->integer, "%s: id %zu of '%s' differs", what, n, text);
    cr_assert_eq(n, ids->n, "%s: %zu ids of '%s', want %zu", what, ids->n, text, n);
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
        struct token_list ids = encode(t, text, n, 0);
        check_ids(&ids, part_get(c, "ids"), name, text);
        token_list_deinit(&ids);
    }
    for (const struct part *f = part_get(root, "files")->first; f; f = f->next, n_checked++) {
        support_data(path, "data/text/%s", f->key);
        char *text = support_read(path, &n);
        struct token_list ids = encode(t, text, n, 0);
        if (part_get(f, "ids"))
            check_ids(&ids, part_get(f, "ids"), name, f->key);
        cr_assert_eq(ids.n, part_get(f, "n")->integer, "%s: %s", name, f->key);
        token_list_deinit(&ids);
        free(text);
    }
    cr_assert_geq(n_checked, 40);
    tokenizer_free(t);
    arena_deinit(&arena);
}

Test(vocabularies, spm_of_llama_2)
{
    check_spm("llama-2-7b");
}

Test(vocabularies, spm_of_mistral)
{
    check_spm("mistral-7b-v0.1");
    check_spm("mistral-7b-v0.3");
}

Test(vocabularies, spm_of_gemma)
{
    check_spm("gemma-mini-synthetic");
}

Test(vocabularies, spm_of_stories)
{
    check_spm("stories260K");
}

/* data/text/expected/NAME.json, special tokens parsed, with a vocabulary of another format. */
static void check_texts(const char *name, const char *vocabulary)
{
    char path[SUPPORT_PATH];
    struct arena arena = ARENA_NULL;
    size_t n;
    support_data(path, "data/%s", vocabulary);
    struct tokenizer *t = text_util_open(path);
    support_data(path, "data/text/expected/%s.json", name);
    const struct part *root = text_util_json(&arena, path);
    for (const struct part *f = part_get(root, "files")->first; f; f = f->next) {
        support_data(path, "data/text/%s", f->key);
        char *text = support_read(path, &n);
        struct token_list ids = encode(t, text, n, TOKENIZER_PARSE_SPECIAL);
        if (part_get(f, "ids"))
            check_ids(&ids, part_get(f, "ids"), name, f->key);
        else
            cr_assert_eq(ids.n, part_get(f, "n")->integer, "%s: %s", name, f->key);
        token_list_deinit(&ids);
        free(text);
    }
    tokenizer_free(t);
    arena_deinit(&arena);
}

Test(vocabularies, gguf_of_falcon)
{
    check_texts("falcon-7b", "gguf-vocab/ggml-vocab-falcon.gguf");
}

Test(vocabularies, gguf_of_gpt_neox)
{
    check_texts("gpt-neox-20b", "gguf-vocab/ggml-vocab-gpt-neox.gguf");
}

Test(vocabularies, gguf_of_llama_2)
{
    check_texts("llama-2-7b", "gguf-vocab/ggml-vocab-llama-spm.gguf");
}

Test(vocabularies, gguf_of_phi_3)
{
    check_texts("phi-3-mini", "gguf-vocab/ggml-vocab-phi-3.gguf");
}

Test(vocabularies, ranks_of_llama_3)
{
    check_texts("llama-3-8b", "tokenizers/llama-3-8b/original/tokenizer.model");
}

/* The ends that a file names, and the beginning that it adds. */
Test(vocabularies, beginnings_and_ends)
{
    char path[SUPPORT_PATH];
    size_t n;
    support_data(path, "data/gguf-vocab/ggml-vocab-phi-3.gguf");
    struct tokenizer *t = text_util_open(path);
    const int32_t *ends = tokenizer_ends(t, &n);
    cr_assert(n == 1 && ends[0] == 32000);
    struct token_list ids = encode(t, "", 0, TOKENIZER_ADD_SPECIAL);
    cr_assert(ids.n == 1 && ids.data[0] == 1);
    token_list_deinit(&ids);
    tokenizer_free(t);
}

/* Every rule for words that a GGUF file may name can be read, and cuts. */
Test(vocabularies, every_recipe_is_read)
{
    static const char *const names[] = {
#define RECIPE(name, shape, ignore_merges, adds_bos) name,
#include "src/text/recipes.def"
#undef RECIPE
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct tokenizer *t = mem_array(1, sizeof *t);
        struct why why = {""};
        const struct recipe *recipe = recipe_find(names[i], strlen(names[i]));
        cr_assert_not_null(recipe, "%s", names[i]);
        cr_assert_eq(recipe_apply(t, recipe, &why), 0, "%s: %s", names[i], why.text);
        cr_assert(t->pretok.byte_level, "%s", names[i]);
        tokenizer_free(t);
    }
    cr_assert_null(recipe_find("qwen", 4));
}

/* What is no vocabulary at all is refused with a sentence. */
Test(vocabularies, broken_files_are_refused)
{
    static const struct {
        const char *content, *sentence;
    } cases[] = {
        {"YQ== 0\nYg== 1\n", "a list of 2 ranks up to 1; only Llama-3's is known, which has 128000"},
        {"YQ== 0\nYg= 1\n", "line 2 is not a piece in base64 and its rank"},
        {"\x08", "the message ends inside a number"},
        {"\x0a\x7f", "a string of 127 bytes, 0 are left"},
        {"", "a SentencePiece model without pieces"},
        {"\x0a\x0d\x0a\x04\xe2\x96\x81\xc4\x15\x01\x01\x01\x01\x18\x04" /* user-defined */
         "\x0a\x05\x0a\x01?\x18\x02"                                    /* unknown */
         "\x12\x02\x18\x02",                                            /* BPE */
         "added token with the id 0 is not valid UTF-8 at its byte 3 of 4"},
    };
    char folder[SUPPORT_PATH], path[SUPPORT_PATH + 32];
    support_dir_make(folder);
    snprintf(path, sizeof path, "%s/tokenizer.model", folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokenizer *t = NULL;
        struct why why = {""};
        support_write(folder, "tokenizer.model", cases[i].content, strlen(cases[i].content));
        cr_assert_eq(tokenizer_open(&t, path, &why), EX_DATAERR);
        cr_assert_not_null(strstr(why.text, cases[i].sentence), "'%s' in '%s'", cases[i].sentence, why.text);
        cr_assert_eq(tokenizer_open(&t, folder, &why), EX_DATAERR);
    }
    support_dir_remove(folder);
}
