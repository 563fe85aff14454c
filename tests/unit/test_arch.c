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
            cr_assert(r == EX_DATAERR && strstr(why.text, "known are: llama"), "%s: %s", cases[i].config,
                      why.text);
        json_free(root);
    }
}

enum { MAX_CONFIG = 1 << 20 };

/* Published configurations: those of Llama's build are read, the others refused with the list of what is
 * known. */
static int check_folder(const char *folder)
{
    int n_read = 0;
    DIR *d = opendir(folder);
    cr_assert(d, "%s: %m", folder);
    for (struct dirent *e; (e = readdir(d));) {
        char path[2 * SUPPORT_PATH];
        struct json *config = NULL;
        struct why why = {""};
        snprintf(path, sizeof path, "%s/%s/config.json", folder, e->d_name);
        if (e->d_name[0] == '.' || json_read_file(&config, path, MAX_CONFIG, &why))
            continue;
        const struct arch *arch = NULL;
        int r = arch_find(config, &arch, &why);
        bool is_llama = !strcmp(json_string(json_get(config, "model_type"), ""), "llama");
        cr_assert_eq(r, is_llama ? 0 : EX_DATAERR, "%s: %s", path, why.text);
        struct arena arena = ARENA_NULL;
        struct arch_shape shape;
        void *self;
        if (is_llama) {
            r = arch->read_config(config, &arena, &shape, &self, &why);
            cr_assert_eq(r, 0, "%s: %s", path, why.text);
            cr_assert_eq(shape.n_layer, (int32_t)json_number(json_get(config, "num_hidden_layers"), 0));
            cr_assert_eq(shape.n_ctx, (int32_t)json_number(json_get(config, "max_position_embeddings"), 0));
            n_read++;
        } else {
            cr_assert(strstr(why.text, "known are: llama"), "%s", why.text);
        }
        arena_deinit(&arena);
        json_free(config);
    }
    closedir(d);
    return n_read;
}

Test(arch, published_configurations)
{
    char folder[SUPPORT_PATH];
    support_data(folder, "data/configs");
    int n = check_folder(folder);
    support_data(folder, "data/configs/variants");
    n += check_folder(folder);
    support_data(folder, "data/tokenizers");
    n += check_folder(folder);
    cr_assert(n >= 14, "%d", n);
}
