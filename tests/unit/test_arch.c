/* src/model/arch.c: which architecture a configuration asks for. */
#include "config.h"

#include "src/model/arch.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "tests/support.h"

Test(arch, find)
{
    static const struct {
        const char *config, *name; /* NULL: unknown */
    } cases[] = {
        {"{\"model_type\": \"llama\"}", "llama"},
        {"{\"model_type\": \"LLaMA\", \"architectures\": [\"Other\"]}", "llama"},
        {"{\"architectures\": [\"LlamaForCausalLM\"]}", "llama"},
        {"{\"model_type\": \"unheard-of\", \"architectures\": [\"llamaforcausallm\", \"Other\"]}", "llama"},
        {"{\"model_type\": \"unheard-of\", \"architectures\": [\"Other\", \"LlamaForCausalLM\"]}", NULL},
        {"{\"model_type\": 7, \"architectures\": \"LlamaForCausalLM\"}", NULL},
        {"{}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *root = NULL;
        struct why why = {""};
        cr_assert_eq(json_parse(&root, cases[i].config, strlen(cases[i].config), &why), 0);
        const struct arch *arch = NULL;
        int r = arch_find(root, &arch, &why);
        if (cases[i].name)
            cr_assert(r == 0 && !strcmp(arch->name, cases[i].name), "%s", cases[i].config);
        else
            cr_assert(r == EX_DATAERR && strstr(why.text, "known are: llama, mistral, ") &&
                          strstr(why.text, ", gemma3_text, "),
                      "%s: %s", cases[i].config, why.text);
        json_free(root);
    }
}

/* The sizes of gpt-oss-20b, with something else instead of its clamp or its RoPE scaling. */
Test(arch, gpt_oss_20b)
{
    static const char start[] =
        "{\"model_type\": \"gpt_oss\", \"hidden_size\": 2880, \"intermediate_size\": 2880, \"head_dim\": 64, "
        "\"num_hidden_layers\": 24, \"num_attention_heads\": 64, \"num_key_value_heads\": 8, \"vocab_size\": "
        "201088, "
        "\"num_local_experts\": 32, \"num_experts_per_tok\": 4, \"rope_theta\": 150000, \"hidden_act\": "
        "\"silu\"";
#define YARN                                                                                               \
    ", \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 32.0, \"beta_fast\": 32.0, \"beta_slow\": " \
    "1.0, "                                                                                                \
    "\"truncate\": false, \"original_max_position_embeddings\": 4096}"
    static const struct {
        const char *rest, *refusal;
    } cases[] = {
        {YARN "}", NULL},
        {YARN ", \"swiglu_limit\": 7.0, \"swiglu_alpha\": 1.702, \"quantization_config\": null}", NULL},
        {YARN ", \"swiglu_limit\": 6}", "'swiglu_limit' is 6, "},
        {YARN ", \"swiglu_alpha\": 1}", "'swiglu_alpha' is 1, "},
        {YARN ", \"quantization_config\": {\"quant_method\": \"mxfp4\"}}", NULL},
        {YARN ", \"quantization_config\": {\"quant_method\": \"awq\"}}", "by 'awq', this"},
        {YARN ", \"quantization_config\": {}}", "by '(not a string)'"},
        {YARN ", \"quantization_config\": 4}", "'quantization_config' is set"},
        {YARN ", \"layer_types\": [\"full_attention\"]}", "layer_types has 1 entries"},
        {", \"swiglu_limit\": 7}", "'rope_scaling' is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        struct json *root = NULL;
        struct why why = {""};
        const struct arch *arch = NULL;
        struct arena arena = ARENA_NULL;
        struct arch_shape shape;
        void *self;
        int n = snprintf(text, sizeof text, "%s%s", start, cases[i].rest);
        cr_assert_eq(json_parse(&root, text, (size_t)n, &why), 0, "%s", why.text);
        cr_assert_eq(arch_find(root, &arch, &why), 0);
        int r = arch->read_config(root, &arena, &shape, &self, &why);
        cr_assert_eq(r, cases[i].refusal ? EX_DATAERR : 0, "%zu: %s", i, why.text);
        if (cases[i].refusal)
            cr_assert(strstr(why.text, cases[i].refusal), "%s", why.text);
        else
            cr_assert(shape.n_ctx == 131072 && shape.window[0] == 128 && shape.window[23] == 0);
        json_free(root);
        arena_deinit(&arena);
    }
}

/* A small model of a kind, with one more field. */
static int read_small(const char *model_type, const char *field, struct arena *arena,
                      struct arch_shape *ret_shape, struct why *why)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"model_type\": \"%s\", \"hidden_size\": 64, \"intermediate_size\": 96, "
             "\"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"vocab_size\": 320, "
             "\"num_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32, "
             "\"shared_expert_intermediate_size\": 32, %s}",
             model_type, field);
    struct json *config = NULL;
    const struct arch *arch = NULL;
    void *self;
    cr_assert_eq(json_parse(&config, text, strlen(text), why), 0, "%s", why->text);
    cr_assert_eq(arch_find(config, &arch, why), 0, "%s", why->text);
    int r = arch->read_config(config, arena, ret_shape, &self, why);
    json_free(config);
    return r;
}

/* Fields that would change the computation, where it does not implement them. */
Test(arch, refusals)
{
    static const char *const cases[][3] = {
        {"qwen2_moe", "\"use_sliding_window\": true", "'use_sliding_window' is set"},
        {"qwen2_moe", "\"qkv_bias\": false", "'qkv_bias' is false"},
        {"qwen3", "\"attention_bias\": true", "'attention_bias' is set"},
        {"gemma", "\"use_bidirectional_attention\": true", "'use_bidirectional_attention' is set"},
        {"gemma2", "\"use_bidirectional_attention\": true", "'use_bidirectional_attention' is set"},
        {"gemma3_text", "\"use_bidirectional_attention\": true", "'use_bidirectional_attention' is set"},
        {"gemma3_text", "\"attn_logit_softcapping\": 50.0", "'attn_logit_softcapping' is set"},
        {"llama", "\"quantization_config\": {}", "'quantization_config' is set"},
        {"falcon", "\"apply_residual_connection_post_layernorm\": true",
         "'apply_residual_connection_post_layernorm' is set"},
        {"stablelm_epoch", "\"norm_eps\": -1", "'norm_eps' is -1"},
        {"stablelm_epoch", "\"rope_pct\": 2", "'rope_pct' is 2"},
        {"stablelm_epoch", "\"rope_pct\": 0.2", "heads of 16 have 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = ARENA_NULL;
        struct arch_shape shape;
        struct why why = {""};
        cr_expect_eq(read_small(cases[i][0], "\"x\": 0", &arena, &shape, &why), 0, "%s: %s", cases[i][0],
                     why.text);
        cr_expect_eq(read_small(cases[i][0], cases[i][1], &arena, &shape, &why), EX_DATAERR, "%s",
                     cases[i][1]);
        cr_expect(strstr(why.text, cases[i][2]), "%s: %s", cases[i][1], why.text);
        arena_deinit(&arena);
    }
}

/* Which layers have a window, of those that golden cases do not have. */
Test(arch, windows)
{
    static const struct {
        const char *model_type, *field;
        int32_t want[4];
    } cases[] = {
        {"mixtral", "\"sliding_window\": 8", {8, 8, 8, 8}},
        {"mixtral", "\"x\": 0", {0}},
        {"qwen3",
         "\"use_sliding_window\": true, \"sliding_window\": 8, \"max_window_layers\": 1",
         {0, 8, 8, 8}},
        {"qwen3_moe",
         "\"use_sliding_window\": true, \"sliding_window\": 8, \"max_window_layers\": 1",
         {8, 8, 8, 8}},
        {"qwen3_moe", "\"use_sliding_window\": true", {4096, 4096, 4096, 4096}},
        {"qwen3_moe", "\"sliding_window\": 8", {0}},
        {"qwen2_moe",
         "\"use_sliding_window\": true, \"sliding_window\": 8, \"layer_types\": [\"sliding_attention\", "
         "\"full_attention\", \"sliding_attention\", \"full_attention\"]",
         {8, 0, 8, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = ARENA_NULL;
        struct arch_shape shape;
        struct why why = {""};
        cr_assert_eq(read_small(cases[i].model_type, cases[i].field, &arena, &shape, &why), 0, "%s",
                     why.text);
        for (int k = 0; k < 4; k++)
            cr_expect_eq(shape.window ? shape.window[k] : 0, cases[i].want[k], "%s, %s: layer %d",
                         cases[i].model_type, cases[i].field, k);
        arena_deinit(&arena);
    }
}

enum { MAX_CONFIG = 1 << 20 };

#define UNKNOWN "not known here; known are: llama, "
#define IMAGES "not known here (images are not implemented); known are: llama, "

/* Published configurations. */
static const struct published {
    const char *folder, *arch;
    int32_t n_ctx, n_window, n_expert; /* layers with a window; experts of a layer */
    const char *refusal;               /* part of the sentence; NULL: it is read */
} published[] = {
    {"configs/codellama-7b", "llama", 16384, 0, 0, NULL},
    {"configs/falcon-7b-instruct", "falcon", 2048, 0, 0, NULL},
    {"configs/gemma-2-27b", "gemma2", 8192, 23, 0, NULL},
    {"configs/gemma-2-2b", "gemma2", 8192, 13, 0, NULL},
    {"configs/gemma-2-9b", "gemma2", 8192, 21, 0, NULL},
    {"configs/gemma-2b", "gemma", 8192, 0, 0, NULL},
    {"configs/gemma-3-1b-it", "gemma3", 32768, 22, 0, NULL},
    {"configs/gemma-3-27b-it", NULL, 0, 0, 0, IMAGES},
    {"configs/llama-2-70b", "llama", 2048, 0, 0, NULL},
    {"configs/llama-2-7b", "llama", 2048, 0, 0, NULL},
    {"configs/llama-3.1-8b", "llama", 131072, 0, 0, NULL},
    {"configs/llama-3.2-1b-instruct", "llama", 131072, 0, 0, NULL},
    {"configs/llama-3.2-3b", "llama", 131072, 0, 0, NULL},
    {"configs/mistral-7b-instruct-v0.3", "mistral", 32768, 0, 0, NULL},
    {"configs/mistral-7b-v0.3", "mistral", 32768, 0, 0, NULL},
    {"configs/mixtral-8x7b-v0.1", "mixtral", 32768, 0, 8, NULL},
    {"configs/phi-1", "phi", 2048, 0, 0, NULL},
    {"configs/phi-1_5-legacy-msft", "phi", 2048, 0, 0, NULL},
    {"configs/phi-2-legacy-msft", "phi", 2048, 0, 0, NULL},
    {"configs/phi-3-mini-128k-instruct", "phi3", 131072, 32, 0, NULL},
    {"configs/phi-3-mini-4k-instruct", "phi3", 4096, 32, 0, NULL},
    {"configs/phi-3.5-mini-instruct", "phi3", 131072, 32, 0, NULL},
    {"configs/phi-4-mini-instruct", "phi3", 131072, 32, 0, NULL},
    {"configs/qwen1.5-0.5b-chat", "qwen2", 32768, 0, 0, NULL},
    {"configs/qwen1.5-1.8b-chat", "qwen2", 4096, 0, 0, NULL},
    {"configs/qwen1.5-moe-a2.7b", "qwen2_moe", 32768, 0, 60, NULL},
    {"configs/qwen2-0.5b", "qwen2", 32768, 0, 0, NULL},
    {"configs/qwen2-7b-instruct", "qwen2", 32768, 0, 0, NULL},
    {"configs/qwen2.5-3b", "qwen2", 32768, 0, 0, NULL},
    {"configs/qwen2.5-7b-instruct", "qwen2", 32768, 0, 0, NULL},
    {"configs/qwen3-0.6b-base", "qwen3", 32768, 0, 0, NULL},
    {"configs/qwen3-30b-a3b", "qwen3_moe", 40960, 0, 128, NULL},
    {"configs/qwen3-8b", "qwen3", 40960, 0, 0, NULL},
    {"configs/smollm2-135m", "llama", 8192, 0, 0, NULL},
    {"configs/smollm2-360m", "llama", 8192, 0, 0, NULL},
    {"configs/stablelm-2-zephyr-1_6b", "stablelm", 4096, 0, 0, NULL},
    {"configs/stablelm-3b-4e1t", "stablelm", 4096, 0, 0, NULL},
    {"configs/variants/falcon-40b", "falcon", 2048, 0, 0, NULL},
    {"configs/variants/falcon-40b-refinedweb-legacy", "falcon", 2048, 0, 0, NULL},
    {"configs/variants/internlm2.5-7b-rope-dynamic", NULL, 0, 0, 0, UNKNOWN},
    {"configs/variants/llama-2-7b-rope-dynamic", "llama", 2048, 0, 0, NULL},
    {"configs/variants/llama-2-7b-rope-linear", "llama", 32768, 0, 0, NULL},
    {"configs/variants/llama-3.1-8b-both-type-keys", "llama", 131072, 0, 0, NULL},
    {"configs/variants/llama3.2-small-4l", "llama", 131072, 0, 0, NULL},
    {"configs/variants/mistral-sw1024-tied-4l", "mistral", 32768, 4, 0, NULL},
    {"configs/variants/mixtral-8x7b-neuron-train", "mixtral", 4096, 0, 8, NULL},
    {"configs/variants/mixtral-8x7b-sliding4096", "mixtral", 32768, 32, 8, NULL},
    {"configs/variants/phi-3-mini-128k-su", "phi3", 131072, 32, 0, NULL},
    {"configs/variants/qwen2-7b-use-sliding-window", "qwen2", 32768, 8, 0, NULL},
    {"configs/variants/qwen2.5-7b-yarn", "qwen2", 131072, 0, 0, NULL},
    {"configs/variants/qwen3-8b-yarn", "qwen3", 131072, 0, 0, NULL},
    {"configs/variants/yi-34b", "llama", 4096, 0, 0, NULL},
    {"tokenizers/llama-3-8b", "llama", 8192, 0, 0, NULL},
    {"tokenizers/mistral-7b-v0.1", "mistral", 32768, 32, 0, NULL},
    {"tokenizers/phi-2", "phi", 2048, 0, 0, NULL},
    {"tokenizers/tinyllama-1.1b-chat-v1.0", "llama", 2048, 0, 0, NULL},
    {"tiny-random/tiny_gemma3", "gemma3", 512, 1, 0, NULL},
    {"tiny-random/tiny_llama3", "llama", 512, 0, 0, NULL},
    {"tiny-random/tiny_llama3_sharded", "llama", 512, 0, 0, NULL},
    {"tiny-random/tiny_mistral", "mistral", 512, 2, 0, NULL},
    {"tiny-random/tiny_qwen3", "qwen3", 2048, 0, 0, NULL},
};

static const struct published *find_published(const char *folder)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        if (!strcmp(published[i].folder, folder))
            return &published[i];
    return NULL;
}

static int32_t n_window_of(const struct arch_shape *shape)
{
    int32_t n = 0;
    for (int32_t i = 0; shape->window && i < shape->n_layer; i++)
        n += shape->window[i] > 0;
    return n;
}

static void check_published(const struct published *want, const struct json *config)
{
    const struct arch *arch = NULL;
    struct arena arena = ARENA_NULL;
    struct arch_shape shape;
    void *self;
    struct why why = {""};
    int r = arch_find(config, &arch, &why);
    cr_assert(want->arch ? r == 0 && !strcmp(arch->name, want->arch) : r == EX_DATAERR, "%s: %s",
              want->folder, why.text);
    r = r ? r : arch->read_config(config, &arena, &shape, &self, &why);
    if (want->refusal) {
        cr_assert(r == EX_DATAERR && strstr(why.text, want->refusal), "%s: %s", want->folder, why.text);
    } else {
        cr_assert_eq(r, 0, "%s: %s", want->folder, why.text);
        const struct json *n_layer = json_get(config, "num_hidden_layers");
        n_layer = n_layer ? n_layer : json_get(config, "n_layer"); /* older Falcon and Phi */
        cr_assert_eq(shape.n_layer, (int32_t)json_number(n_layer, 0));
        cr_assert_eq(shape.n_ctx, want->n_ctx, "%s: context %d", want->folder, shape.n_ctx);
        cr_assert_eq(n_window_of(&shape), want->n_window, "%s: %d", want->folder, n_window_of(&shape));
        cr_assert_eq(shape.experts.n, want->n_expert, "%s: %d experts", want->folder, shape.experts.n);
        cr_assert_eq(shape.experts.n_layer, want->n_expert ? shape.n_layer : 0);
    }
    arena_deinit(&arena);
}

/* Every configuration in the folder is in the table. */
static size_t check_folder(const char *root, const char *folder)
{
    char path[2 * SUPPORT_PATH];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%s", root, folder);
    DIR *d = opendir(path);
    cr_assert(d, "%s: %m", path);
    for (struct dirent *e; (e = readdir(d));) {
        char name[SUPPORT_PATH];
        struct json *config = NULL;
        struct why why = {""};
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        snprintf(path, sizeof path, "%s/%s/config.json", root, name);
        if (e->d_name[0] == '.' || json_read_file(&config, path, MAX_CONFIG, &why))
            continue;
        const struct published *want = find_published(name);
        cr_assert(want, "%s is not in the table", name);
        check_published(want, config);
        json_free(config);
        n++;
    }
    closedir(d);
    return n;
}

Test(arch, published_configurations)
{
    char root[SUPPORT_PATH];
    support_data(root, "data");
    size_t n = check_folder(root, "configs") + check_folder(root, "configs/variants") +
               check_folder(root, "tokenizers") + check_folder(root, "tiny-random");
    cr_assert_eq(n, sizeof published / sizeof *published);
}
