/* JSON configuration files: src/base/json.c. */
#include "config.h"
#include "src/base/json.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "tests/support.h"

static struct json *parse(const char *text)
{
    struct json *root = NULL;
    struct why why;
    cr_assert_eq(json_parse(&root, text, strlen(text), &why), 0, "%s: %s", text, why.text);
    return root;
}

Test(json, what_is_not_json_is_refused_with_its_place)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "empty"},
        {" ", "line 1"},
        {"{", "line 1"},
        {"{\n  \"a\": 1,\n  \"b\": x\n}", "line 3, column 8"},
        {"{\"a\":1} x", "more text after the value at line 1, column 9"},
        {"[1,]", "line 1"},
        {"[1 2]", "line 1"},
        {"{\"a\"}", "line 1"},
        {"{1:2}", "line 1"},
        {"\"open", "line 1"},
        {"\"open\\", "line 1"},
        {"[\"a\nb\"]", "control character at line 1, column 4"},
        {"[1,\x01 2]", "control character at line 1, column 4"},
        {"nul", "line 1"},
        {"NaN", "line 1"},
        {"]", "line 1"},
        {"[}", "line 1"},
        {"\"\\ud800\"", "line 1"},
        {"{\"a\": \"b\\u0000c\"}", "NUL in a string, which would end it here at line 1, column 9"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json *root = NULL;
        struct why why = {"untouched"};
        cr_assert_eq(json_parse(&root, rows[i].text, strlen(rows[i].text), &why), EX_DATAERR, "row %zu", i);
        cr_assert_not_null(strstr(why.text, rows[i].why), "row %zu says '%s'", i, why.text);
        cr_assert_null(root);
    }
    struct json *root;
    cr_assert_eq(json_parse(&root, "{}\0", 3, NULL), EX_DATAERR, "a zero byte is no space");
}

Test(json, depth_is_limited_before_parsing)
{
    char text[2 * 100000];
    struct why why;
    struct json *root;
    for (int depth = JSON_MAX_DEPTH; depth <= JSON_MAX_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        int r = json_parse(&root, text, 2 * (size_t)depth, &why);
        cr_assert_eq(r, depth <= JSON_MAX_DEPTH ? 0 : EX_DATAERR);
        if (r == 0)
            json_free(root);
    }
    cr_assert_not_null(strstr(why.text, "more than 64 deep at line 1, column 65"));
    memset(text, '[', sizeof text);
    cr_assert_eq(json_parse(&root, text, sizeof text, &why), EX_DATAERR);
    struct json *brackets =
        parse("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[\"]");
    json_free(brackets); /* brackets in a string are text */
}

Test(json, the_number_of_values_is_limited_before_parsing)
{
    /* [0,0,...,0]: each value but the first brings one comma; the array itself is a value too. */
    size_t n = 2 * (size_t)JSON_MAX_VALUE + 1;
    char *text = malloc(n);
    for (size_t i = 0; i < n; i++)
        text[i] = i % 2 ? '0' : ',';
    text[0] = '[';
    text[n - 1] = ']';
    struct json *root;
    struct why why;
    cr_assert_eq(json_parse(&root, text, n, &why), EX_DATAERR);
    cr_assert_not_null(strstr(why.text, "more than 2000000 values"), "got '%s'", why.text);
    text[2] = text[4] = text[6] = ' ';
    text[3] = text[5] = text[7] = ' ';
    cr_assert_eq(json_parse(&root, text, n, &why), 0, "%s", why.text);
    cr_assert_eq(json_count(root), JSON_MAX_VALUE - 3);
    json_free(root);
    free(text);
}

Test(json, values_and_their_fallbacks)
{
    struct json *root =
        parse(" {\"s\": \"text\\u00e9\", \"n\": -1.5e3, \"t\": true, \"z\": null, \"a\": [1, [2], {}],"
              " \"d\": 1, \"d\": 2} \n");
    cr_assert_str_eq(json_string(json_get(root, "s"), "-"), "text\xc3\xa9");
    cr_assert_str_eq(json_string(json_get(root, "n"), "-"), "-");
    cr_assert_float_eq(json_number(json_get(root, "n"), 0), -1500, 0);
    cr_assert_float_eq(json_number(json_get(root, "s"), 7), 7, 0);
    cr_assert(json_bool(json_get(root, "t"), false));
    cr_assert(json_bool(json_get(root, "missing"), true));
    cr_assert_null(json_get(root, "z"), "null counts as missing");
    cr_assert(!json_is_null(json_get(root, "z")) && !json_is_null(NULL));
    cr_assert_null(json_get(root, "S"), "case matters");
    cr_assert_null(json_get(json_get(root, "a"), "x"));
    cr_assert_null(json_get(NULL, "x"));
    cr_assert_float_eq(json_number(json_get(root, "d"), 0), 2, 0, "the last of equal keys counts");
    cr_assert_str_eq(json_kind(json_get(root, "a")), "an array");
    cr_assert_str_eq(json_kind(NULL), "nothing");

    const struct json *a = json_get(root, "a");
    cr_assert_eq(json_count(a), 3);
    cr_assert_eq(json_count(root), 7);
    cr_assert_eq(json_count(json_get(root, "s")), 0);
    const struct json *element = json_first(a);
    cr_assert(json_is_number(element));
    element = json_next(element);
    cr_assert(json_is_array(element) && json_count(element) == 1);
    element = json_next(element);
    cr_assert(json_is_object(element) && json_first(element) == NULL);
    cr_assert_null(json_next(element));
    cr_assert_str_eq(json_key(json_first(root)), "s");
    cr_assert_null(json_free(root));
    cr_assert_null(json_free(NULL));
}

Test(json, whole_numbers_are_bounded)
{
    struct json *root =
        parse("{\"ok\": 32, \"f\": 32.0, \"zero\": 0, \"half\": 1.5, \"s\": \"32\", \"big\": 1e300,"
              " \"edge\": 9007199254740992, \"over\": 9007199254740994, \"neg\": -1, \"z\": null}");
    struct why why;
    int64_t v = -7;
    cr_assert(json_get_int(root, "ok", true, 1, 32, &v, &why) == 0 && v == 32);
    cr_assert(json_get_int(root, "f", true, 32, 100, &v, &why) == 0 && v == 32);
    cr_assert(json_get_int(root, "edge", true, 1, INT64_MAX, &v, &why) == 0 && v == (int64_t)1 << 53);
    v = -7;
    static const struct {
        const char *key, *why;
    } rows[] = {
        {"zero", "'zero' is 0, must be 1 to 32"},
        {"neg", "'neg' is -1, must be 1 to 32"},
        {"half", "'half' is 1.5, must be a whole number"},
        {"s", "'s' is a string, must be a whole number"},
        {"big", "'big' is 1.0000000000000001e+300, must be 1 to 32"},
        {"over", "'over' is 9007199254740994, must be 1 to 32"},
        {"missing", "'missing' is missing"},
        {"z", "'z' is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(json_get_int(root, rows[i].key, true, 1, 32, &v, &why), EX_DATAERR, "%s", rows[i].key);
        cr_assert_str_eq(why.text, rows[i].why);
        cr_assert_eq(v, -7);
    }
    cr_assert_eq(json_get_int(root, "over", true, INT64_MIN, INT64_MAX, &v, &why), EX_DATAERR,
                 "beyond 2^53 a number is not exact");
    cr_assert(json_get_int(root, "missing", false, 1, 32, &v, &why) == 0 && v == -7);
    cr_assert(json_get_int(root, "z", false, 1, 32, &v, &why) == 0 && v == -7);
    cr_assert_eq(json_get_int(root, "s", false, 1, 32, &v, NULL), EX_DATAERR);
    json_free(root);
}

Test(json, numbers_and_booleans)
{
    struct json *root = parse("{\"eps\": 1e-5, \"huge\": 1e999, \"flag\": true, \"one\": 1}");
    struct why why;
    double d = -1;
    bool flag = false;
    cr_assert(json_get_double(root, "eps", true, 0, 1, &d, &why) == 0 && d == 1e-5);
    cr_assert_eq(json_get_double(root, "eps", true, 1e-4, 1, &d, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "'eps' is 1e-05, must be 0.0001 to 1");
    cr_assert_eq(json_get_double(root, "huge", true, 0, DBL_MAX, &d, &why), EX_DATAERR,
                 "infinity is no number");
    cr_assert_eq(json_get_double(root, "flag", true, 0, 1, &d, &why), EX_DATAERR);
    cr_assert_eq(json_get_double(root, "none", true, 0, 1, &d, &why), EX_DATAERR);
    cr_assert_eq(json_get_double(root, "none", false, 0, 1, &d, &why), 0);
    cr_assert_eq(d, 1e-5);
    cr_assert(json_get_bool(root, "flag", &flag, &why) == 0 && flag);
    cr_assert(json_get_bool(root, "none", &flag, &why) == 0 && flag, "missing: stays as it is");
    cr_assert_eq(json_get_bool(root, "one", &flag, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "'one' is a number, must be true or false");
    json_free(root);
}

Test(json, files)
{
    char dir[SUPPORT_PATH], path[SUPPORT_PATH + 16];
    support_dir_make(dir);
    snprintf(path, sizeof path, "%s/config.json", dir);
    struct json *root;
    struct why why;
    cr_assert_eq(json_read_file(&root, path, 100, &why), EX_NOINPUT);
    cr_assert_not_null(strstr(why.text, "config.json: No such file"));
    support_write(dir, "config.json", "{\"a\": 1}", 8);
    cr_assert_eq(json_read_file(&root, path, 8, &why), 0);
    cr_assert_float_eq(json_number(json_get(root, "a"), 0), 1, 0);
    json_free(root);
    cr_assert_eq(json_read_file(&root, path, 7, &why), EX_DATAERR);
    cr_assert_not_null(strstr(why.text, "config.json: 8 bytes, at most 7 are read"));
    support_write(dir, "config.json", "", 0);
    cr_assert_eq(json_read_file(&root, path, 100, &why), EX_DATAERR);
    cr_assert_not_null(strstr(why.text, "config.json: empty"));
    support_write(dir, "config.json", "{\n\n", 3);
    cr_assert_eq(json_read_file(&root, path, 100, &why), EX_DATAERR);
    cr_assert_not_null(strstr(why.text, "config.json: not JSON at line 2"), "got '%s'", why.text);
    cr_assert_eq(json_read_file(&root, dir, 100, &why), EX_DATAERR);
    support_dir_remove(dir);
}
