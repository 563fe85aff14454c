/* src/model/window.c: sizes and layers, by every way to spell them. */
#include "config.h"

#include "src/model/window.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sysexits.h>

#include "src/model/arch.h"

enum { N_LAYER = 4 };

static struct json *parse(const char *text)
{
    struct json *root = NULL;
    struct why why = {""};
    cr_assert_eq(json_parse(&root, text, strlen(text), &why), 0, "%s", why.text);
    return root;
}

Test(window, size)
{
    static const struct {
        const char *config;
        int32_t want;
    } cases[] = {{"{}", 7},
                 {"{\"sliding_window\": null}", 0},
                 {"{\"sliding_window\": 0}", 0},
                 {"{\"sliding_window\": 4096}", 4096}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *config = parse(cases[i].config);
        struct why why = {""};
        int32_t size = -1;
        cr_assert_eq(window_read_size(config, 7, &size, &why), 0, "%s", why.text);
        cr_assert_eq(size, cases[i].want, "%s", cases[i].config);
        json_free(config);
    }
}

Test(window, qwen)
{
    static const struct {
        const char *config;
        int32_t want[N_LAYER];
    } cases[] = {
        {"{\"sliding_window\": 9, \"max_window_layers\": 0}", {0}},
        {"{\"sliding_window\": 9, \"max_window_layers\": 1, \"use_sliding_window\": false}", {0}},
        {"{\"sliding_window\": 9, \"max_window_layers\": 1, \"use_sliding_window\": true}", {0, 9, 9, 9}},
        {"{\"sliding_window\": 9, \"max_window_layers\": 70, \"use_sliding_window\": true}", {0}},
        {"{\"sliding_window\": 9, \"use_sliding_window\": true}", {0}},
        {"{\"sliding_window\": 9, \"use_sliding_window\": true, \"max_window_layers\": 0, \"layer_types\": "
         "[\"full_attention\", \"sliding_attention\", \"full_attention\", \"sliding_attention\"]}",
         {0, 9, 0, 9}},
        {"{\"layer_types\": [\"full_attention\", \"full_attention\", \"full_attention\", "
         "\"full_attention\"]}",
         {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *config = parse(cases[i].config);
        struct why why = {""};
        int32_t window[N_LAYER];
        memset(window, 0xff, sizeof window);
        cr_assert_eq(window_read_qwen(config, window, N_LAYER, &why), 0, "%s", why.text);
        cr_assert_arr_eq(window, cases[i].want, sizeof window, "%s", cases[i].config);
        json_free(config);
    }
}

Test(window, refusals)
{
    static const struct {
        const char *config, *sentence;
    } cases[] = {
        {"{\"sliding_window\": -1, \"use_sliding_window\": true}", "'sliding_window' is -1"},
        {"{\"sliding_window\": 4294967296}", "'sliding_window' is 4294967296"},
        {"{\"layer_types\": [\"full_attention\"]}", "layer_types has 1 entries, num_hidden_layers is 4"},
        {"{\"layer_types\": \"full_attention\"}", "layer_types has 0 entries"},
        {"{\"layer_types\": [\"full_attention\", 3, \"full_attention\", \"full_attention\"]}",
         "layer_types has '(not a string)' for layer 1"},
        {"{\"layer_types\": [\"full_attention\", \"full_attention\", \"linear_attention\", "
         "\"full_attention\"]}",
         "layer_types has 'linear_attention' for layer 2; known are: full_attention, sliding_attention"},
        {"{\"layer_types\": [\"sliding_attention\", \"full_attention\", \"full_attention\", "
         "\"full_attention\"]}",
         "layer_types has 'sliding_attention' for layer 0, but there is no window"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *config = parse(cases[i].config);
        struct why why = {""};
        int32_t window[N_LAYER];
        cr_assert_eq(window_read_qwen(config, window, N_LAYER, &why), EX_DATAERR, "%s", cases[i].config);
        cr_assert(strstr(why.text, cases[i].sentence), "%s: %s", cases[i].config, why.text);
        json_free(config);
    }
}

Test(window, of_all)
{
    struct arena arena = {0};
    struct arch_shape shape = {.n_layer = N_LAYER};
    cr_assert(window_of_all(0, &arena, &shape) == 0 && !shape.window);
    cr_assert_eq(window_of_all(4096, &arena, &shape), 0);
    for (int i = 0; i < N_LAYER; i++)
        cr_assert_eq(shape.window[i], 4096);
    arena_deinit(&arena);
}
