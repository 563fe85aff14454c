/* Reading tokenizer.json: what is refused, and how it is said. src/text/tokenizer_file.c and the readers of
 * the components. */
#include "config.h"
#include "src/text/tokenizer_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "src/text/tokenizer.h"
#include "tests/support.h"
#include "tests/unit/text_util.h"

static void refuse(const char *json, const char *want)
{
    char folder[SUPPORT_PATH];
    struct tokenizer *t = NULL;
    struct why why = {""};
    support_dir_make(folder);
    support_write(folder, "tokenizer.json", json, strlen(json));
    int r = tokenizer_open(&t, folder, &why);
    support_dir_remove(folder);
    const char *sentence = strstr(why.text, "tokenizer.json: ");
    cr_assert_eq(r, EX_DATAERR, "%s: %s", json, why.text);
    cr_assert(sentence && strcmp(sentence + 16, want) == 0, "%s:\n got  %s\n want %s", json, why.text, want);
}

#define MODEL \
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}"

Test(tokenizer_file, the_model)
{
    refuse("", "line 1 column 1: the text ends too early");
    refuse("[]", "line 1 column 1: not an object");
    refuse("{}", "'model' is missing");
    refuse("{\"model\": {}}", "'vocab' is missing");
    refuse("{" MODEL "} x", "line 1 column 83: something follows the value");
    refuse("{\"mode\": 1}", "line 1 column 2: 'mode' is not known");
    refuse("{\"model\": {\"type\": \"WordPiece\", \"vocab\": {}}}",
           "line 1 column 44: model 'WordPiece' is not supported");
    refuse("{\"model\": {\"type\": \"Unigram\", \"vocab\": []}}",
           "model Unigram without an 'unk_id' below 0 is not supported");
    refuse("{\"model\": {\"vocab\": {\"a\": 0.5}}}", "line 1 column 27: the id of 'a' is a number");
    refuse("{\"model\": {\"vocab\": {\"a\": -1}}}",
           "line 1 column 27: piece 'a', id -1: its id is out of range");
    refuse("{\"model\": {\"vocab\": {\"a\": 4194304}}}",
           "line 1 column 27: piece 'a', id 4194304: its id is out of range");
    refuse("{\"model\": {\"vocab\": {\"a\": 0, \"b\": 0}}}",
           "line 1 column 35: piece 'b', id 0: another piece has its id");
    refuse("{\"model\": {\"vocab\": {\"a\": 0, \"a\": 1}}}",
           "line 1 column 35: piece 'a', id 1: it is there twice");
    refuse("{\"model\": {\"vocab\": {}, \"merges\": [\"a b\"]}}",
           "line 1 column 36: merge 0, 'a' and 'b': the first is no piece of the vocabulary");
    refuse("{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": [[\"a\", \"a\"]]}}",
           "line 1 column 48: merge 0, 'a' and 'a': both together is no piece of the vocabulary");
    refuse("{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": [\"a\"]}}",
           "line 1 column 42: merge 0 is not two pieces with a space between them");
    refuse("{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": [[\"a\"]]}}",
           "line 1 column 46: merge 0 is not a pair of strings");
    refuse("{\"model\": {\"vocab\": {}, \"merges\": 7}}",
           "line 1 column 35: 'merges' is an integer, must be an array");
    refuse("{\"model\": {\"dropout\": 0.1}}",
           "line 1 column 23: model: 'dropout' is set, which is not supported");
    refuse("{\"model\": {\"end_of_word_suffix\": \"</w>\"}}",
           "line 1 column 34: model: 'end_of_word_suffix' is set, which is not supported");
    refuse("{\"model\": {\"vocab\": {\"a\": 0}, \"unk_token\": \"<unk>\"}}",
           "model: the unk_token '<unk>' is no piece of the vocabulary");
}

/* One component of a kind, in a tokenizer that is good otherwise. */
static void refuse_part(const char *kind, const char *part, const char *want)
{
    char json[1024];
    snprintf(json, sizeof json, "{\"%s\": %s, " MODEL "}", kind, part);
    refuse(json, want);
}

Test(tokenizer_file, unknown_parts_are_named)
{
    refuse_part("normalizer", "{\"type\": \"Nmt\"}", "normalizer 'Nmt' is not known");
    refuse_part("normalizer", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"BertNormalizer\"}]}",
                "normalizer 'BertNormalizer' is not known");
    refuse_part("normalizer", "{\"type\": \"Prepend\"}", "normalizer Prepend: 'prepend' is missing");
    refuse_part("normalizer", "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"^*x\"}, \"content\": \"\"}",
                "pattern '^*x': a repeated anchor at byte 0 is not supported");
    refuse_part("pre_tokenizer", "{\"type\": \"UnicodeScripts\"}",
                "pre-tokenizer 'UnicodeScripts' is not known");
    refuse_part("pre_tokenizer", "{}", "pre-tokenizer '' is not known");
    refuse_part("pre_tokenizer",
                "{\"type\": \"Split\", \"pattern\": {\"String\": \"\"}, \"behavior\": \"Removed\"}",
                "pre-tokenizer Split: the pattern is empty");
    refuse_part("pre_tokenizer",
                "{\"type\": \"Split\", \"pattern\": {\"String\": \"x\"}, \"behavior\": \"Odd\"}",
                "pre-tokenizer Split: behavior 'Odd' is not known");
    refuse_part(
        "pre_tokenizer",
        "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"ByteLevel\"}, {\"type\": \"ByteLevel\"}]}",
        "pre-tokenizer ByteLevel after ByteLevel is not supported");
    refuse_part("pre_tokenizer",
                "{\"type\": \"Metaspace\", \"replacement\": \"_\", \"prepend_scheme\": \"last\"}",
                "pre-tokenizer Metaspace: 'prepend_scheme' is none of always, never, first");
    refuse("{\"normalizer\": {\"type\": \"NFKC\"}, \"pre_tokenizer\": {\"type\": \"Sequence\", "
           "\"pretokenizers\": "
           "[{\"type\": \"WhitespaceSplit\"}, {\"type\": \"Metaspace\", \"replacement\": \"_\", "
           "\"prepend_scheme\": \"first\"}]}, " MODEL "}",
           "pre-tokenizer Metaspace with 'prepend_scheme' first after another one is not supported where "
           "there is a "
           "normalizer");
    refuse("{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"byte_fallback\": "
           "true, "
           "\"vocab\": {\"a\": 0}, \"merges\": []}}",
           "model: 'byte_fallback' with pre-tokenizer ByteLevel is not supported where a byte, here 0x00, "
           "has no "
           "piece");
    refuse_part("pre_tokenizer", "{\"type\": \"Digits\", \"individual_digits\": 1}",
                "pre-tokenizer Digits: 'individual_digits' is an integer, must be true or false");
    refuse_part("pre_tokenizer", "{\"type\": \"ByteLevel\", \"add_prefix_space\": null}",
                "pre-tokenizer ByteLevel: 'add_prefix_space' is null, must be true or false");
    refuse_part("pre_tokenizer",
                "{\"type\": \"Metaspace\", \"replacement\": \"_\", \"prepend_scheme\": \"always\", "
                "\"add_prefix_space\": false}",
                "pre-tokenizer Metaspace: 'add_prefix_space' is false, 'prepend_scheme' is not never");
    refuse_part("post_processor", "{\"type\": \"BertProcessing\"}",
                "post-processor 'BertProcessing' is not known");
    refuse_part("post_processor",
                "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"<s>\"}}, "
                "{\"Sequence\": {\"id\": \"A\"}}], \"special_tokens\": {\"<s>\": {\"ids\": [9]}}}",
                "post-processor TemplateProcessing: no piece has the id 9");
    refuse_part("post_processor", "{\"type\": \"TemplateProcessing\", \"single\": []}",
                "post-processor TemplateProcessing: 'single' has the text 0 times");
    refuse_part("decoder", "{\"type\": \"WordPiece\"}", "decoder 'WordPiece' is not known");
    refuse_part(
        "decoder",
        "{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Fuse\"}, {\"type\": \"Strip\", \"content\": \" "
        "\", "
        "\"start\": 0, \"stop\": 1}]}",
        "decoder Strip is not supported where the text is already put together, other than once and at its "
        "beginning");
}

Test(tokenizer_file, added_tokens)
{
    refuse_part("added_tokens", "7", "line 1 column 18: 'added_tokens' is an integer");
    refuse_part("added_tokens", "[7]", "line 1 column 19: an added token is no object");
    refuse_part("added_tokens", "[{\"id\": 5}]", "added token: 'content' is missing");
    refuse_part("added_tokens", "[{\"content\": \"x\"}]",
                "added token 'x': its id is missing or out of range");
    refuse_part("added_tokens", "[{\"content\": \"a\", \"id\": 7}]",
                "added token 'a' has the id 7, the vocabulary gives it 0");
    refuse_part("added_tokens", "[{\"content\": \"x\", \"id\": 1}]",
                "added token 'x', id 1: another piece has its id");
    refuse_part("added_tokens", "[{\"content\": \"x\", \"id\": 7, \"special\": 3}]",
                "added token: 'special' is an integer, must be true or false");
}

Test(tokenizer_file, keys_may_come_in_any_order)
{
    static const char *const orders[] = {
        "{\"model\": {\"merges\": [\"a b\"], \"vocab\": {\"ab\": 2, \"b\": 1, \"a\": 0}, \"type\": \"BPE\"}, "
        "\"added_tokens\": [{\"special\": true, \"content\": \"<x>\", \"id\": 3}]}",
        "{\"added_tokens\": [{\"id\": 3, \"content\": \"<x>\", \"special\": true}], " MODEL "}",
    };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct tokenizer *t = text_util_parse(orders[i]);
        struct token_list ids = TOKEN_LIST_NULL;
        cr_assert_eq(tokenizer_encode(t, "abb<x>a", 7, TOKENIZER_PARSE_SPECIAL, &ids, NULL), 0);
        const int32_t want[] = {2, 1, 3, 0};
        cr_assert(ids.n == 4 && memcmp(ids.data, want, sizeof want) == 0);
        cr_assert_eq(tokenizer_n_vocab(t), 4);
        cr_assert_eq(tokenizer_id(t, "<x>"), 3);
        token_list_deinit(&ids);
        tokenizer_free(t);
    }
}

/* Every cut of a real file is refused with a sentence. */
Test(tokenizer_file, cut_files)
{
    char path[SUPPORT_PATH];
    size_t n;
    support_source(path, "contrib/demo-model/tokenizer.json");
    char *json = support_read(path, &n);
    while (n && json[n - 1] != '}')
        n--;
    for (size_t cut = 0; cut < n; cut += 1 + cut / 40) {
        /* In a block of just its size. */
        char *copy = malloc(cut ? cut : 1);
        struct tokenizer *t = NULL;
        struct why why = {""};
        char folder[SUPPORT_PATH];
        memcpy(copy, json, cut);
        support_dir_make(folder);
        support_write(folder, "tokenizer.json", copy, cut);
        cr_assert_eq(tokenizer_open(&t, folder, &why), EX_DATAERR, "cut at %zu", cut);
        cr_assert_not_null(strstr(why.text, "line "), "cut at %zu: %s", cut, why.text);
        support_dir_remove(folder);
        free(copy);
    }
    free(json);
}
