/* src/model/generation.c: end ids as a set, sampling defaults. */
#include "config.h"

#include "src/model/generation.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

static struct json *parse(const char *text)
{
    struct json *root = NULL;
    struct why why = {""};
    if (text)
        cr_assert_eq(json_parse(&root, text, strlen(text), &why), 0, "%s", why.text);
    return root;
}

Test(generation, ends)
{
    static const struct {
        const char *config, *generation;
        int32_t n, end[4];
        const char *sentence; /* refused */
    } cases[] = {
        {"{}", NULL, 0, {0}, NULL},
        {"{\"eos_token_id\": 2}", NULL, 1, {2}, NULL},
        {"{\"eos_token_id\": null}", "{\"eos_token_id\": [9, 8, 9]}", 2, {8, 9}, NULL},
        {"{\"eos_token_id\": [5, 1]}", "{\"eos_token_id\": 3}", 3, {1, 3, 5}, NULL},
        {"{\"eos_token_id\": 7}", "{\"eos_token_id\": [7, 0]}", 2, {0, 7}, NULL},
        {"{\"eos_token_id\": []}", "{}", 0, {0}, NULL},
        {"{\"eos_token_id\": 10}",
         NULL,
         0,
         {0},
         "config.json: eos_token_id is 10, the vocabulary has ids 0 to 9"},
        {"{\"eos_token_id\": -1}", NULL, 0, {0}, "eos_token_id is -1"},
        {"{}", "{\"eos_token_id\": 1.5}", 0, {0}, "generation_config.json: eos_token_id must be"},
        {"{\"eos_token_id\": \"x\"}", NULL, 0, {0}, "must be a whole number or a list"},
        {"{\"eos_token_id\": [[1]]}", NULL, 0, {0}, "must be a whole number or a list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *config = parse(cases[i].config), *generation = parse(cases[i].generation);
        int32_t end[MODEL_MAX_END], n;
        struct why why = {""};
        int r = generation_ends(config, generation, 10, end, &n, &why);
        cr_assert_eq(r, cases[i].sentence ? EX_DATAERR : 0, "%zu: %s", i, why.text);
        if (cases[i].sentence)
            cr_assert(strstr(why.text, cases[i].sentence), "%s", why.text);
        else
            cr_assert(n == cases[i].n && !memcmp(end, cases[i].end, (size_t)n * sizeof *end), "%zu", i);
        json_free(config);
        json_free(generation);
    }
}

Test(generation, too_many_ends)
{
    char text[1024] = "{\"eos_token_id\": [0";
    for (int i = 1; i <= MODEL_MAX_END; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",%d", i);
    strcat(text, "]}");
    struct json *config = parse(text);
    int32_t end[MODEL_MAX_END], n;
    struct why why = {""};
    cr_assert_eq(generation_ends(config, NULL, 1000, end, &n, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "config.json: more than 64 different end ids");
    json_free(config);
}

Test(generation, defaults)
{
    struct model_defaults d;
    struct why why = {""};
    cr_assert_eq(generation_defaults(NULL, 100, &d, &why), 0);
    cr_assert(isnan(d.temperature) && isnan(d.top_p) && isnan(d.min_p) && isnan(d.typical_p) &&
              isnan(d.repeat_penalty) && d.top_k == -1);

    struct json *g =
        parse("{\"do_sample\": true, \"temperature\": 0.7, \"top_p\": 0.95, \"top_k\": 50, \"min_p\": 0.1, "
              "\"typical_p\": 1, \"repetition_penalty\": 1.1}");
    cr_assert_eq(generation_defaults(g, 100, &d, &why), 0, "%s", why.text);
    cr_assert(d.temperature == 0.7f && d.top_p == 0.95f && d.top_k == 50 && d.min_p == 0.1f &&
              d.typical_p == 1 && d.repeat_penalty == 1.1f);
    cr_assert_eq(generation_defaults(g, 20, &d, &why), 0);
    cr_assert_eq(d.top_k, 20);
    json_free(g);

    g = parse("{\"do_sample\": false, \"temperature\": 0.6}");
    cr_assert_eq(generation_defaults(g, 100, &d, &why), 0);
    cr_assert(d.temperature == 0);
    json_free(g);
}

Test(generation, defaults_refused)
{
    static const char *const cases[][2] = {
        {"{\"temperature\": 2.5}", "'temperature' is 2.5"},
        {"{\"temperature\": -1}", "'temperature' is -1"},
        {"{\"top_p\": 0}", "'top_p' is 0"},
        {"{\"top_p\": 1.5}", "'top_p' is 1.5"},
        {"{\"top_k\": -3}", "'top_k' is -3"},
        {"{\"min_p\": 2}", "'min_p' is 2"},
        {"{\"typical_p\": 0}", "'typical_p' is 0"},
        {"{\"repetition_penalty\": 0}", "'repetition_penalty' is 0"},
        {"{\"do_sample\": 1}", "'do_sample'"},
        {"{\"temperature\": \"hot\"}", "'temperature'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *g = parse(cases[i][0]);
        struct model_defaults d;
        struct why why = {""};
        cr_assert_eq(generation_defaults(g, 100, &d, &why), EX_DATAERR, "%s", cases[i][0]);
        cr_assert(strstr(why.text, cases[i][1]) && !strncmp(why.text, "generation_config.json: ", 24), "%s",
                  why.text);
        json_free(g);
    }
}
