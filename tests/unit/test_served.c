/* Tests of src/engine/served.c: directories made of the demo model's files and others. */
#include "config.h"
#include "src/engine/served.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "tests/unit/engine_util.h"

static char dir[64];

static void make_dir(void)
{
    snprintf(dir, sizeof dir, "/tmp/lorch-served-XXXXXX");
    cr_assert(mkdtemp(dir));
}

static void remove_dir(void)
{
    static const char *const names[] = {"config.json", "generation_config.json", "model.safetensors",
                                        "tokenizer.json", "tokenizer_config.json"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

TestSuite(served, .init = make_dir, .fini = remove_dir);

static void link_file(const char *from, const char *name)
{
    char there[4400], here[256], *real = realpath(from, NULL);
    cr_assert(real);
    snprintf(there, sizeof there, "%s/%s", real, name);
    snprintf(here, sizeof here, "%s/%s", dir, name);
    cr_assert(symlink(there, here) == 0);
    free(real);
}

static void write_file(const char *name, const char *text)
{
    char here[256];
    snprintf(here, sizeof here, "%s/%s", dir, name);
    FILE *f = fopen(here, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static struct model_options options(void)
{
    return (struct model_options){.path = dir, .device = "cpu", .n_thread = 1, .max_row = 64};
}

static void link_model(void)
{
    link_file(util_demo_model(), "config.json");
    link_file(util_demo_model(), "model.safetensors");
}

Test(served, without_tokenizer_it_works_by_ids)
{
    link_model();
    struct engine *engine = util_start(dir, NULL, 1);
    cr_assert(engine_model(engine));
    cr_expect(engine_tokenizer(engine) == NULL);
    const int32_t prompt[] = {0, 3, 355, 309, 262, 305, 324, 682, 270, 262, 848, 18, 1, 4};
    struct job_ask *ask = util_ask_ids(1, prompt, 14, 3);
    ask->return_tokens = false; /* implied */
    ask->logprobs = true;
    struct outcome *o = util_run(engine, ask);
    cr_expect(o->kind == NOTICE_DONE && o->n_token == 3 && o->tokens[0] == 370 && !o->has_content);
    cr_expect(o->n_logprob == 3 && o->logprobs[0].n_byte == 0);
    free(o);

    ask = util_ask_ids(2, prompt, 14, 3);
    ask->stop[0] = strdup("x");
    ask->stop_bytes[0] = ask->n_stop = 1;
    struct job_ask *refused[] = {ask, util_ask_text(3, JOB_GENERATE, "text"),
                                 util_ask_text(4, JOB_TOKENIZE, "text"), util_ask_ids(5, prompt, 14, 3)};
    refused[3]->kind = JOB_DETOKENIZE;
    static const char *const param[] = {"stop", "prompt", "content", ""};
    for (int i = 0; i < 4; i++) {
        o = util_run(engine, refused[i]);
        cr_expect(o->kind == NOTICE_FAILED && strcmp(o->code, "not_supported") == 0 &&
                  strcmp(o->param, param[i]) == 0);
        free(o);
    }
    engine_free(engine);
}

static void expect_ends(const char *config, int32_t n_want, int32_t want)
{
    write_file("tokenizer_config.json", config);
    struct served served = SERVED_NULL;
    struct why why = {""};
    const struct model_options o = options();
    cr_assert(served_load(&served, &o, NULL, NULL, &why) == 0, "%s", why.text);
    cr_expect(served.n_end == n_want && served.end[n_want - 1] == want, "%s: %d", config, served.n_end);
    served_deinit(&served);
}

Test(served, the_end_of_the_tokenizer_configuration_counts)
{
    link_model();
    link_file(util_demo_model(), "tokenizer.json");
    expect_ends("{\"eos_token\": \"<|user|>\"}", 2, 3);
    expect_ends("{\"eos_token\": {\"content\": \"<|user|>\", \"lstrip\": false}}", 2, 3);
    expect_ends("{\"eos_token\": \"<|end|>\"}", 1, 1);
    expect_ends("{\"eos_token\": \"<|nowhere|>\"}", 1, 1);
    expect_ends("{\"eos_token\": null}", 1, 1);
    expect_ends("{}", 1, 1);
}

Test(served, a_broken_tokenizer_is_refused)
{
    link_model();
    write_file("tokenizer.json", "{\"model\": ");
    struct served served = SERVED_NULL;
    struct why why = {""};
    const struct model_options o = options();
    cr_expect(served_load(&served, &o, NULL, NULL, &why) == EX_DATAERR && why.text[0]);
    cr_expect(!served.model && !served.tokenizer);
    why = (struct why){""};
    cr_expect(served_check(&served, &o, &why) == EX_DATAERR && why.text[0]);
}

Test(served, a_look_finds_all_in_order)
{
    const struct model_options o = {.path = util_demo_model(), .device = "cpu", .n_thread = 1, .max_row = 64};
    struct served served = SERVED_NULL;
    struct why why = {""};
    cr_expect(served_check(&served, &o, &why) == 0, "%s", why.text);
    cr_expect(served.info && served.info->n_vocab == 1024 && served.tokenizer);
    served_deinit(&served);
}

Test(served, a_tokenizer_with_more_ids_than_the_model_is_refused)
{
    const char *data = getenv("LORCH_TESTDATA");
    if (!data)
        cr_skip_test("LORCH_TESTDATA is not set");
    char golden[4096];
    snprintf(golden, sizeof golden, "%s/golden/llama", data);
    link_file(golden, "config.json");
    link_file(golden, "model.safetensors");
    link_file(util_demo_model(), "tokenizer.json");
    struct served served = SERVED_NULL;
    struct why why = {""};
    const struct model_options o = options();
    cr_expect(served_load(&served, &o, NULL, NULL, &why) == EX_DATAERR);
    cr_expect(strstr(why.text, "1023") && strstr(why.text, "320"), "%s", why.text);
}
