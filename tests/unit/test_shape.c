/* src/model/shape.c: sizes, defaults, limits, contradictions. */
#include "config.h"

#include "src/model/shape.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define BASE "\"hidden_size\": 64, \"num_hidden_layers\": 3, \"intermediate_size\": 96, \"vocab_size\": 320"

static int read_shape(const char *fields, struct arch_shape *ret_shape, struct why *why)
{
    char text[1024];
    struct json *root = NULL;
    int n = snprintf(text, sizeof text, "{%s}", fields);
    cr_assert_eq(json_parse(&root, text, (size_t)n, why), 0);
    int r = shape_read(root, NULL, 2048, ret_shape, why);
    json_free(root);
    return r;
}

Test(shape, defaults)
{
    struct arch_shape s;
    struct why why = {""};
    cr_assert_eq(read_shape(BASE ", \"num_attention_heads\": 4", &s, &why), 0, "%s", why.text);
    cr_assert(s.dim == 64 && s.n_layer == 3 && s.ff_dim == 96 && s.n_vocab == 320);
    cr_assert(s.n_head == 4 && s.n_kv_head == 4 && s.head_dim == 16 && s.n_ctx == 2048);
}

Test(shape, given)
{
    struct arch_shape s;
    struct why why = {""};
    cr_assert_eq(read_shape(BASE
                            ", \"num_attention_heads\": 6, \"num_key_value_heads\": 2, \"head_dim\": 32, "
                            "\"max_position_embeddings\": 131072",
                            &s, &why),
                 0, "%s", why.text);
    cr_assert(s.n_head == 6 && s.n_kv_head == 2 && s.head_dim == 32 && s.n_ctx == 131072);
}

Test(shape, refusals)
{
    static const struct {
        const char *fields, *sentence;
    } cases[] = {
        {"\"hidden_size\": 64", "num_hidden_layers"},
        {"\"hidden_size\": 64, \"num_hidden_layers\": 2147483648",
         "'num_hidden_layers' is 2147483648, must be 1 to 4096"},
        {"\"hidden_size\": 64, \"num_hidden_layers\": 0", "'num_hidden_layers' is 0, must be 1 to 4096"},
        {"\"hidden_size\": 1e300", "'hidden_size' is 1"},
        {"\"hidden_size\": 64.5", "'hidden_size' is 64.5"},
        {"\"hidden_size\": \"64\"", "'hidden_size'"},
        {BASE ", \"num_attention_heads\": 5", "hidden_size 64 is no multiple of num_attention_heads 5"},
        {BASE ", \"num_attention_heads\": 4, \"num_key_value_heads\": 3",
         "num_attention_heads 4 is no multiple of num_key_value_heads 3"},
        {BASE ", \"num_attention_heads\": 4096, \"head_dim\": 4096",
         "num_attention_heads 4096 of head_dim 4096"},
        {BASE ", \"num_attention_heads\": 4, \"max_position_embeddings\": 1000000000",
         "must be 1 to 16777216"},
        {"\"hidden_size\": 1048576, \"num_hidden_layers\": 1, \"num_attention_heads\": 1",
         "heads of 1048576, at most 4096"},
        {"\"hidden_size\": 64, \"num_hidden_layers\": 1, \"num_attention_heads\": 4, \"intermediate_size\": "
         "64",
         "vocab_size"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arch_shape s;
        struct why why = {""};
        cr_assert_eq(read_shape(cases[i].fields, &s, &why), EX_DATAERR, "%s", cases[i].fields);
        cr_assert(strstr(why.text, cases[i].sentence), "%s: %s", cases[i].fields, why.text);
    }
}

Test(shape, activation)
{
    static const char *const names[] = {"silu", "swish", NULL};
    static const struct {
        const char *text;
        int code;
    } cases[] = {{"{}", 0},
                 {"{\"hidden_act\": \"swish\"}", 0},
                 {"{\"hidden_act\": null}", 0},
                 {"{\"hidden_act\": \"gelu\"}", EX_DATAERR},
                 {"{\"hidden_act\": 1}", EX_DATAERR}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *root = NULL;
        struct why why = {""};
        cr_assert_eq(json_parse(&root, cases[i].text, strlen(cases[i].text), &why), 0);
        cr_assert_eq(shape_check_act(root, "hidden_act", names, &why), cases[i].code, "%s", cases[i].text);
        json_free(root);
    }
}

Test(shape, the_only_number)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"{}", NULL},
        {"{\"swiglu_limit\": null}", NULL},
        {"{\"swiglu_limit\": 7}", NULL},
        {"{\"swiglu_limit\": 7.0}", NULL},
        {"{\"swiglu_limit\": 6.5}", "'swiglu_limit' is 6.5, this architecture is implemented with 7"},
        {"{\"swiglu_limit\": \"7\"}", "'swiglu_limit' is a string, must be the number 7"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *root = NULL;
        struct why why = {""};
        cr_assert_eq(json_parse(&root, cases[i].text, strlen(cases[i].text), &why), 0);
        cr_assert_eq(shape_check_number(root, "swiglu_limit", 7, &why), cases[i].sentence ? EX_DATAERR : 0);
        cr_assert_str_eq(why.text, cases[i].sentence ? cases[i].sentence : "");
        json_free(root);
    }
}

Test(shape, refuse)
{
    static const char *const keys[] = {"quantization_config", NULL};
    static const struct {
        const char *text;
        int code;
    } cases[] = {{"{}", 0},
                 {"{\"quantization_config\": null}", 0},
                 {"{\"quantization_config\": false}", 0},
                 {"{\"quantization_config\": 0}", 0},
                 {"{\"quantization_config\": {\"quant_method\": \"gptq\"}}", EX_DATAERR},
                 {"{\"quantization_config\": 4}", EX_DATAERR}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *root = NULL;
        struct why why = {""};
        cr_assert_eq(json_parse(&root, cases[i].text, strlen(cases[i].text), &why), 0);
        cr_assert_eq(shape_refuse(root, keys, &why), cases[i].code, "%s", cases[i].text);
        json_free(root);
    }
}
