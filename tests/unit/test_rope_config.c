/* src/model/rope_config.c: both spellings, blocks for kinds of layers, refusals. */
#include "config.h"

#include "src/model/rope_config.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sysexits.h>

/* Without the lists of longrope, which die here. */
static int read(const char *config, const struct rope_want *want, struct rope_freq *rope, struct why *why)
{
    struct arena arena = ARENA_NULL;
    struct json *root = NULL;
    cr_assert_eq(json_parse(&root, config, strlen(config), why), 0, "%s", why->text);
    int r = rope_config_read(root, want, &arena, rope, why);
    json_free(root);
    arena_deinit(&arena);
    return r;
}

static struct rope_freq read_ok(const char *config, const struct rope_want *want)
{
    struct rope_freq rope;
    struct why why = {""};
    cr_assert_eq(read(config, want, &rope, &why), 0, "%s: %s", config, why.text);
    return rope;
}

Test(rope_config, partial)
{
    struct rope_want want = {.head_dim = 80, .n_ctx = 100, .theta = 10000, .part = 0.5};
    cr_assert_eq(read_ok("{}", &want).n_rot, 40);
    cr_assert_eq(read_ok("{\"partial_rotary_factor\": 0.25}", &want).n_rot, 20);
    cr_assert_eq(read_ok("{\"rope_parameters\": {\"partial_rotary_factor\": 0.5}}", &want).n_rot, 40);
}

/* YaRN reaches factor times its original length, also where the configuration keeps that length. */
Test(rope_config, reach)
{
    struct rope_want want = {.head_dim = 64, .n_ctx = 40960, .theta = 1e6, .part = 1};
    static const char yarn[] = "{\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, "
                               "\"original_max_position_embeddings\": 32768}}";
    cr_assert_eq(read_ok(yarn, &want).n_ctx, 131072);
    want.n_ctx = 200000;
    cr_assert_eq(read_ok(yarn, &want).n_ctx, 200000);
}

/* Two kinds of layers, as Gemma 3 has them, in both spellings. */
Test(rope_config, blocks_for_layer_types)
{
    static const char old[] =
        "{\"rope_theta\": 1000000, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 8}}";
    static const char new[] =
        "{\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 1000000, \"rope_type\": "
        "\"linear\", \"factor\": 8}, \"sliding_attention\": {\"rope_theta\": 20000, "
        "\"rope_type\": \"default\"}}}";
    struct rope_want full = {
        .head_dim = 32, .n_ctx = 100, .theta = 1, .part = 1, .layer_type = "full_attention"};
    struct rope_want local = full;
    local.layer_type = "sliding_attention";
    local.theta = 20000;
    local.only_own = true;
    for (int i = 0; i < 2; i++) {
        struct rope_freq rope = read_ok(i ? new : old, &full);
        cr_assert(rope.theta == 1e6 && rope.kind == ROPE_KIND_LINEAR && rope.factor == 8);
        rope = read_ok(i ? new : old, &local);
        cr_assert(rope.theta == 20000 && rope.kind == ROPE_KIND_DEFAULT);
    }
}

Test(rope_config, refusals)
{
    static const struct {
        const char *config, *sentence;
    } cases[] = {
        {"{\"rope_scaling\": {\"type\": \"mrope\"}}", "RoPE scaling 'mrope' is not known here; known are: "
                                                      "default, linear, dynamic, llama3, yarn, longrope"},
        {"{\"rope_scaling\": {\"type\": 3}}", "'(not a string)'"},
        {"{\"rope_scaling\": {\"type\": \"linear\"}}", "RoPE scaling 'linear' has no 'factor'"},
        {"{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 0.5}}",
         "'factor' is 0.5, must be at least 1"},
        {"{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2, \"beta\": 1}}", "unknown field 'beta'"},
        {"{\"rope_scaling\": \"linear\"}", "'rope_scaling' is not an object"},
        {"{\"rope_theta\": 0}", "'rope_theta' is 0"},
        {"{\"rope_theta\": 1}", "rope_theta is 1, must be above 1"},
        {"{\"rope_theta\": 10000, \"rope_parameters\": {\"rope_theta\": 500000}}", "10000, and 500000"},
        {"{\"rope_parameters\": {\"rope_type\": \"default\"}, \"rope_scaling\": {\"type\": \"linear\", "
         "\"factor\": 2}}",
         "rope_parameters says 'default', rope_scaling says 'linear'"},
        {"{\"rope_scaling\": {\"type\": \"llama3\", \"factor\": 8}}", "original_max_position_embeddings"},
        {"{\"rope_scaling\": {\"type\": \"llama3\", \"factor\": 8, \"original_max_position_embeddings\": "
         "8192, "
         "\"low_freq_factor\": 4, \"high_freq_factor\": 4}}",
         "low_freq_factor is 4, high_freq_factor 4"},
        {"{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"beta_slow\": 64}}",
         "beta_slow is 64, beta_fast 32"},
        {"{\"rope_scaling\": {\"type\": \"longrope\", \"long_factor\": [1, 2]}}", "no list 'short_factor'"},
        {"{\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 2]}}",
         "'short_factor' has 2 values, heads have 32 pairs"},
        {"{\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 10000}}}",
         "unknown field 'full_attention'"},
        {"{\"partial_rotary_factor\": 0.0625, \"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": "
         "[1, 1e-300]}}",
         "value 1 of 'short_factor' is no number from 1e-06 to 1e+06"},
        {"{\"partial_rotary_factor\": 0.3}", "heads of 64 have 19 rotary elements"},
    };
    struct rope_want want = {.head_dim = 64, .n_ctx = 4096, .theta = 10000, .part = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rope_freq rope;
        struct why why = {""};
        cr_assert_eq(read(cases[i].config, &want, &rope, &why), EX_DATAERR, "%s", cases[i].config);
        cr_assert(strstr(why.text, cases[i].sentence), "%s: %s", cases[i].config, why.text);
    }
}
