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

/* The ends that a file names, and the beginning that it adds. */
Test(vocabularies, beginnings_and_ends)
{
    char path[SUPPORT_PATH];
    size_t n;
    support_data(path, "data/gguf-vocab/ggml-vocab-phi-3.gguf");
    struct tokenizer *t = text_util_open(path);
    const int32_t *ends = tokenizer_ends(t, &n);
    cr_assert(n == 1 && ends[0] == 32000);
    struct token_list ids = text_util_encode(t, "", 0, TOKENIZER_ADD_SPECIAL);
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
