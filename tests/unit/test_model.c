/* src/model/model.c: figures of an opened model; everything that is refused, by its sentence. */
#include "config.h"

#include "src/model/model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "tests/model/fixture.h"

#define GOLDEN "tests/data/golden/llama"

static struct model_options options_of(const char *dir)
{
    return (struct model_options){.path = dir, .device = "cpu", .n_thread = 1, .max_row = 16};
}

Test(model, info)
{
    char dir[SUPPORT_PATH];
    support_source(dir, GOLDEN);
    struct model *model = fixture_open(dir, "c", 2, 16);
    const struct model_info *info = model_info(model);
    cr_assert_str_eq(info->arch, "llama");
    cr_assert_str_eq(info->type, "F32");
    cr_assert_str_eq(info->device, "cpu");
    cr_assert_str_eq(info->level, "c");
    cr_assert(info->n_layer == 3 && info->n_head == 4 && info->n_kv_head == 2 && info->head_dim == 16);
    cr_assert(info->dim == 64 && info->ff_dim == 96 && info->n_vocab == 320);
    cr_assert(info->n_ctx_train == 256 && info->n_ctx == 256 && model_n_page(model) == 4);
    uint64_t n_param = 2 * 320 * 64 + 64 + 3 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64 + 2 * 64);
    cr_assert(info->n_param == n_param && info->weight_bytes == 4 * n_param);
    cr_assert(info->kv_bytes >= 256 * 3 * 2 * 2 * 16 * 4 && info->scratch_bytes > 0 &&
              info->fingerprint != 0);
    cr_assert(info->n_end == 1 && info->end[0] == 2 && info->n_thread == 2 && info->max_row == 16);
    model_free(model);
}

Test(model, check_agrees_with_open)
{
    char dir[SUPPORT_PATH];
    support_source(dir, GOLDEN);
    struct model_options options = options_of(dir);
    struct model *checked = NULL, *opened = fixture_open(dir, NULL, 1, 16);
    struct why why = {""};
    cr_assert_eq(model_check(&checked, &options, &why), 0, "%s", why.text);
    const struct model_info *a = model_info(checked), *b = model_info(opened);
    cr_assert(a->n_ctx == b->n_ctx && a->kv_bytes == b->kv_bytes && a->scratch_bytes == b->scratch_bytes);
    cr_assert(a->fingerprint == b->fingerprint && a->n_param == b->n_param);
    model_free(checked);
    model_free(opened);
}

static bool stop_at_half(void *ctx, double fraction, const char *phase)
{
    (void)phase;
    ++*(int *)ctx;
    return fraction < 0.5;
}

Test(model, progress_can_stop_it)
{
    char dir[SUPPORT_PATH];
    support_source(dir, GOLDEN);
    struct model_options options = options_of(dir);
    struct model *model = NULL;
    struct why why = {""};
    int n = 0;
    cr_assert_eq(model_open(&model, &options, stop_at_half, &n, &why), EX_TEMPFAIL);
    cr_assert(n >= 1 && !model);
    cr_assert_str_eq(why.text, "loading was stopped");
}

/* A copy of the golden case with another config.json. */
static void copy_golden(char dir[SUPPORT_PATH], const char *config)
{
    char source[SUPPORT_PATH];
    support_source(source, GOLDEN);
    support_dir_make(dir);
    fixture_link(dir, source, NULL);
    support_write(dir, "config.json", config, strlen(config));
}

/* Opens a copy of the golden case whose config.json has `from` replaced by `to`; both functions must refuse
 * it alike. */
static void check_refused(const char *from, const char *to, struct model_options options, int code,
                          const char *sentence)
{
    char dir[SUPPORT_PATH], source[SUPPORT_PATH], path[SUPPORT_PATH], edited[16384];
    size_t n_text;
    support_source(source, GOLDEN);
    support_source(path, GOLDEN "/config.json");
    support_dir_make(dir);
    fixture_link(dir, source, NULL);
    char *text = support_read(path, &n_text), *at = strstr(text, from);
    cr_assert(at, "no %s in config.json", from);
    int n = snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    support_write(dir, "config.json", edited, (size_t)n);
    free(text);
    options.path = dir;
    struct model *model = NULL;
    struct why why = {""}, why_check = {""};
    int r = model_open(&model, &options, NULL, NULL, &why),
        r_check = model_check(&model, &options, &why_check);
    cr_assert(r == code && r_check == code, "%s: %d, %d: %s", to, r, r_check, why.text);
    cr_assert(strstr(why.text, sentence), "%s: %s", to, why.text);
    cr_assert_str_eq(why_check.text, why.text);
    cr_assert_null(model);
    support_dir_remove(dir);
}

Test(model, refused_configurations)
{
    static const char *const cases[][3] = {
        {"\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4",
         "tensor 'model.layers.3.input_layernorm.weight' is missing"},
        {"\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2",
         "tensor 'model.layers.2.input_layernorm.weight' has no place in the model that config.json "
         "describes, nor have 8 more"},
        {"\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2147483648",
         "config.json: 'num_hidden_layers' is 2147483648, must be 1 to 4096"},
        {"\"vocab_size\": 320", "\"vocab_size\": 321",
         "tensor 'model.embed_tokens.weight' is [320,64], config.json asks for [321,64]"},
        {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 4",
         "tensor 'model.layers.0.self_attn.k_proj.weight' is [32,64], config.json asks for [64,64]"},
        {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", "num_attention_heads 4 is no multiple"},
        {"\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\"", "config.json: hidden_act is 'gelu'"},
        {"\"hidden_act\": \"silu\"", "\"attention_bias\": true",
         "tensor 'model.layers.0.self_attn.q_proj.bias' is missing"},
        {"\"hidden_act\": \"silu\"", "\"mlp_bias\": true",
         "tensor 'model.layers.0.mlp.gate_proj.bias' is missing"},
        {"\"hidden_act\": \"silu\"", "\"mlp_bias\": \"yes\"", "config.json: 'mlp_bias' is"},
        {"\"hidden_act\": \"silu\"", "\"rope_scaling\": {\"type\": \"new\"}",
         "RoPE scaling 'new' is not known here"},
        {"\"hidden_act\": \"silu\"", "\"quantization_config\": {\"quant_method\": \"awq\"}",
         "'quantization_config' is set"},
        {"\"hidden_act\": \"silu\"", "\"head_dim\": 15", "heads of 15"},
        {"\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": 0", "'rms_norm_eps' is 0"},
        {"\"eos_token_id\": 2", "\"eos_token_id\": 320",
         "config.json: eos_token_id is 320, the vocabulary has ids 0 to 319"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(cases[i][0], cases[i][1], options_of(""), EX_DATAERR, cases[i][2]);
}

Test(model, refused_architecture)
{
    check_refused("\"LlamaForCausalLM\"\n  ],\n  \"model_type\": \"llama\"",
                  "\"Gpt9\"], \"model_type\": \"gpt9\"", options_of(""), EX_DATAERR,
                  "config.json: model_type 'gpt9', architectures 'Gpt9': not known here; known are: llama");
}

Test(model, refused_options)
{
    struct model_options options = options_of("");
    options.n_ctx = 257;
    check_refused("{", "{", options, EX_CONFIG, "a context of 257 was asked for, the model's own is 256");
    options = options_of("");
    options.device = "abacus";
    check_refused("{", "{", options, EX_CONFIG, "'abacus'");
    options = options_of("");
    options.level = "slide-rule";
    check_refused("{", "{", options, EX_CONFIG, "'slide-rule'");
}

#define CONFIG                                                                                             \
    "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 3, \"num_attention_heads\": " \
    "4, "                                                                                                  \
    "\"num_key_value_heads\": 2, \"vocab_size\": 320, \"intermediate_size\": 96"

/* A tied model may carry an output head of its own, which is not used. */
Test(model, tied_with_head)
{
    char dir[SUPPORT_PATH];
    copy_golden(dir, CONFIG "}");
    struct model *model = fixture_open(dir, NULL, 1, 16);
    uint64_t n_param = model_info(model)->n_param;
    cr_assert_eq(model_info(model)->n_ctx_train, 2048);
    model_free(model);
    support_dir_remove(dir);
    copy_golden(dir, CONFIG ", \"tie_word_embeddings\": true}");
    model = fixture_open(dir, NULL, 1, 16);
    cr_assert_eq(model_info(model)->n_param, n_param - 320 * 64);
    model_free(model);
    support_dir_remove(dir);
}

Test(model, dynamic_ends_at_its_original_length)
{
    char dir[SUPPORT_PATH];
    copy_golden(dir, CONFIG ", \"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 4, "
                            "\"original_max_position_embeddings\": 128}}");
    struct model *model = fixture_open(dir, NULL, 1, 16);
    cr_assert(model_info(model)->n_ctx_train == 128 && model_info(model)->n_ctx == 128);
    model_free(model);
    support_dir_remove(dir);
}

static void keep_first_norm(void *ctx, const char *name, int32_t layer, const float *x, int32_t n_row,
                            int32_t n)
{
    (void)n_row, (void)n;
    if (!strcmp(name, "attn_norm") && layer == 0)
        *(float *)ctx = x[0];
}

/* RMSNorm's epsilon is the configured one. */
Test(model, epsilon)
{
    static const char *const configs[] = {CONFIG ", \"rms_norm_eps\": 1}",
                                          CONFIG ", \"rms_norm_eps\": 0.01}"};
    float first[2] = {0};
    for (int i = 0; i < 2; i++) {
        char dir[SUPPORT_PATH];
        copy_golden(dir, configs[i]);
        struct model *model = fixture_open(dir, "c", 1, 16);
        static const int32_t zero = 0;
        struct lk_span span = {.pages = &zero, .n_row = 1, .length = 1};
        struct model_batch batch = {.rows = {.token = &zero, .n_row = 1, .span = &span, .n_span = 1}};
        atomic_bool abort = false;
        model_trace(model, keep_first_norm, &first[i]);
        cr_assert_eq(model_forward(model, &batch, &abort), 0);
        model_free(model);
        support_dir_remove(dir);
    }
    cr_assert(first[0] != 0 && first[1] != first[0]);
}
