/* Model directories, good and malformed: src/weights/checkpoint.c. */
#include "config.h"
#include "src/weights/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "tests/support.h"

#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"

static char dir[SUPPORT_PATH];

static void setup(void)
{
    support_dir_make(dir);
}

static void teardown(void)
{
    support_dir_remove(dir);
}

TestSuite(checkpoint, .init = setup, .fini = teardown);

static void write_text(const char *name, const char *text)
{
    support_write(dir, name, text, strlen(text));
}

/* A shard whose tensors have these one-letter names, one byte each, which is the letter itself. */
static void write_shard(const char *name, const char *letters)
{
    struct buf header = BUF_NULL, file = BUF_NULL;
    for (size_t i = 0; letters[i]; i++)
        buf_push_format(&header, "%s\"%c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}",
                        i ? "," : "{", letters[i], i, i + 1);
    buf_push_format(&header, "}");
    uint64_t n = header.n;
    buf_push(&file, &n, sizeof n);
    buf_push(&file, header.data, header.n);
    buf_push(&file, letters, strlen(letters));
    support_write(dir, name, file.data, file.n);
    buf_deinit(&header);
    buf_deinit(&file);
}

static struct checkpoint *open_good(const char *path)
{
    struct checkpoint *cp = NULL;
    struct why why = {""};
    cr_assert_eq(checkpoint_open(&cp, path, &why), 0, "%s", why.text);
    cr_assert_str_empty(why.text);
    return cp;
}

static void expect_refusal_of(const char *path, int code, const char *part)
{
    struct checkpoint *cp = NULL;
    struct why why = {""};
    int r = checkpoint_open(&cp, path, &why);
    cr_expect_eq(r, code, "%d '%s'", r, why.text);
    cr_expect_null(cp);
    cr_expect_eq(strncmp(why.text, path, strlen(path)), 0, "'%s' does not begin with the path", why.text);
    cr_expect_not_null(strstr(why.text, part), "'%s' does not say '%s'", why.text, part);
    cr_expect_eq(checkpoint_open(&cp, path, NULL), code);
}

static void expect_refusal(int code, const char *part)
{
    expect_refusal_of(dir, code, part);
}

Test(checkpoint, a_directory_with_one_file)
{
    write_text("config.json", "{\"model_type\":\"llama\"}");
    write_shard(SINGLE, "cab");
    struct checkpoint *cp = open_good(dir);
    cr_assert_str_eq(checkpoint_path(cp), dir);
    cr_assert_str_eq(json_string(json_get(checkpoint_config(cp), "model_type"), ""), "llama");
    cr_assert_null(checkpoint_generation_config(cp));
    cr_assert_null(checkpoint_tokenizer_config(cp));
    cr_assert_eq(checkpoint_n_tensor(cp), 3);
    cr_assert_eq(checkpoint_bytes(cp), 3);
    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(checkpoint_tensor_at(cp, i)->name[0], "abc"[i], "sorted by name");
    cr_assert_eq(*(const char *)checkpoint_find(cp, "c")->data, 'c');
    cr_assert_null(checkpoint_find(cp, "d"));
    cr_assert_null(checkpoint_free(cp));
    cr_assert_null(checkpoint_free(NULL));
}

Test(checkpoint, optional_files_are_read)
{
    write_text("config.json", "{}");
    write_text("generation_config.json", "{\"eos_token_id\":2}");
    write_text("tokenizer_config.json", "{\"eos_token\":\"</s>\"}");
    write_shard(SINGLE, "a");
    struct checkpoint *cp = open_good(dir);
    cr_assert_float_eq(json_number(json_get(checkpoint_generation_config(cp), "eos_token_id"), 0), 2, 0);
    cr_assert_str_eq(json_string(json_get(checkpoint_tokenizer_config(cp), "eos_token"), ""), "</s>");
    checkpoint_free(cp);
    write_text("generation_config.json", "{");
    expect_refusal(EX_DATAERR, "/generation_config.json: not JSON");
    write_text("generation_config.json", "[]");
    expect_refusal(EX_DATAERR, "/generation_config.json: an array, must be an object");
}

Test(checkpoint, what_is_no_model_directory)
{
    char path[SUPPORT_PATH + 16];
    snprintf(path, sizeof path, "%s/none", dir);
    expect_refusal_of(path, EX_NOINPUT, "/none: No such file");
    write_text("file", "x");
    snprintf(path, sizeof path, "%s/file", dir);
    expect_refusal_of(path, EX_DATAERR,
                      "/file: a file; a model is a directory with config.json and model.safetensors or "
                      "model.safetensors.index.json");
    expect_refusal(EX_NOINPUT, "/config.json: No such file");
    write_text("config.json", "");
    expect_refusal(EX_DATAERR, "/config.json: empty");
    write_text("config.json", "7");
    expect_refusal(EX_DATAERR, "/config.json: a number, must be an object");
    write_text("config.json", "{}");
    expect_refusal(EX_NOINPUT, "neither model.safetensors nor model.safetensors.index.json is there");
    write_text(SINGLE, "short");
    expect_refusal(EX_DATAERR, "/model.safetensors: 5 bytes, a safetensors file has at least 8");
}

Test(checkpoint, a_link_that_leads_nowhere_is_no_missing_file)
{
    char path[SUPPORT_PATH + 64];
    write_text("config.json", "{}");
    write_shard(SINGLE, "a");
    snprintf(path, sizeof path, "%s/generation_config.json", dir);
    cr_assert_eq(symlink("gone.json", path), 0);
    expect_refusal(EX_NOINPUT, "/generation_config.json: No such file");
}

Test(checkpoint, what_may_not_be_read)
{
    static const char *const names[] = {"config.json", "tokenizer_config.json", SINGLE};
    write_text("tokenizer_config.json", "{}");
    write_text("config.json", "{}");
    write_shard(SINGLE, "a");
    cr_assert_eq(chmod(dir, 0755), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[SUPPORT_PATH + 64];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        cr_assert_eq(chmod(path, 0), 0);
        support_user_drop();
        expect_refusal_of(dir, EX_NOPERM, names[i]);
        support_user_back();
        cr_assert_eq(chmod(path, 0644), 0);
    }
    cr_assert_eq(chmod(dir, 0), 0);
    support_user_drop();
    expect_refusal_of(dir, EX_NOPERM, "/config.json: Permission denied");
    support_user_back();
}

Test(checkpoint, shards)
{
    write_text("config.json", "{}");
    write_shard("one", "ad");
    write_shard("two", "cb");
    write_text(INDEX, "{\"metadata\":{\"total_size\":4},"
                      "\"weight_map\":{\"a\":\"one\",\"b\":\"two\",\"c\":\"two\",\"d\":\"one\"}}");
    struct checkpoint *cp = open_good(dir);
    cr_assert_eq(checkpoint_n_tensor(cp), 4);
    cr_assert_eq(checkpoint_bytes(cp), 4);
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(*(const char *)checkpoint_tensor_at(cp, i)->data, "abcd"[i]);
    checkpoint_free(cp);

    write_shard(SINGLE, "x");
    cp = open_good(dir);
    cr_assert_not_null(checkpoint_find(cp, "x"), "one whole file goes before an index");
    checkpoint_free(cp);
}

Test(checkpoint, malformed_indexes)
{
    static const struct {
        const char *index;
        int code;
        const char *part;
    } rows[] = {
        {"", EX_DATAERR, "index.json: empty"},
        {"[]", EX_DATAERR, "index.json: 'weight_map' is nothing, must be an object"},
        {"{}", EX_DATAERR, "'weight_map' is nothing"},
        {"{\"weight_map\":[\"a\"]}", EX_DATAERR, "'weight_map' is an array"},
        {"{\"weight_map\":{\"a\":1}}", EX_DATAERR,
         "'weight_map': 'a' is a number, must be the name of a file"},
        {"{\"weight_map\":{\"a\":\"../one\"}}", EX_DATAERR,
         "'a' is in '../one', must be a file of this directory"},
        {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", EX_DATAERR, "'a' is in '/etc/passwd', must be"},
        {"{\"weight_map\":{\"a\":\"sub/one\"}}", EX_DATAERR, "'a' is in 'sub/one', must be"},
        {"{\"weight_map\":{\"a\":\"..\"}}", EX_DATAERR, "'a' is in '..', must be"},
        {"{\"weight_map\":{\"a\":\".\"}}", EX_DATAERR, "'a' is in '.', must be"},
        {"{\"weight_map\":{\"a\":\"\"}}", EX_DATAERR, "'a' is in '', must be"},
        {"{\"weight_map\":{\"a\":\"one\",\"b\":\"one\",\"a\":\"one\"}}", EX_DATAERR,
         "names tensor 'a' twice"},
        {"{\"weight_map\":{\"a\":\"one\",\"b\":\"three\"}}", EX_NOINPUT, "/three: No such file"},
        {"{\"weight_map\":{\"a\":\"one\",\"b\":\"bad\"}}", EX_DATAERR, "/bad: 3 bytes"},
        {"{\"weight_map\":{\"a\":\"one\",\"b\":\"one\",\"z\":\"one\"}}", EX_DATAERR,
         "tensor 'z' is not in 'one', where the index says it is"},
        {"{\"weight_map\":{\"0\":\"one\",\"a\":\"one\",\"b\":\"one\"}}", EX_DATAERR,
         "tensor '0' is not in 'one'"},
        {"{\"weight_map\":{\"a\":\"one\"}}", EX_DATAERR, "tensor 'b' of 'one' is not in the index"},
        {"{\"weight_map\":{\"b\":\"one\"}}", EX_DATAERR, "tensor 'a' of 'one' is not in the index"},
        {"{\"weight_map\":{\"a\":\"one\",\"b\":\"two\",\"c\":\"two\"}}", EX_DATAERR,
         "tensor 'b' is in 'one', the index says in 'two'"},
        {"{\"weight_map\":{\"a\":\"one\",\"b\":\"also\"}}", EX_DATAERR,
         "tensor 'b' is in 'also' and in 'one'"},
    };
    write_text("config.json", "{}");
    write_shard("one", "ab");
    write_shard("two", "c");
    write_shard("also", "b");
    write_text("bad", "xyz");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_text(INDEX, rows[i].index);
        expect_refusal(rows[i].code, rows[i].part);
    }
}

Test(checkpoint, an_index_of_too_many_files)
{
    struct buf index = BUF_NULL;
    for (int i = 0; i < 1001; i++)
        buf_push_format(&index, "%s\"t%d\":\"f%d\"", i ? "," : "{\"weight_map\":{", i, i);
    buf_push_format(&index, "}}");
    write_text("config.json", "{}");
    support_write(dir, INDEX, index.data, index.n);
    buf_deinit(&index);
    expect_refusal(EX_DATAERR, "'weight_map' names 1001 files, at most 1000 are read");
}

struct seen {
    int n_call, n_max;
    double last;
};

static bool on_progress(void *ctx, double fraction)
{
    struct seen *seen = ctx;
    cr_assert(fraction > seen->last && fraction <= 1);
    seen->last = fraction;
    return ++seen->n_call < seen->n_max;
}

enum { LARGE_HEADER = 65536, LARGE_A = 40 << 20, LARGE_B = 30 << 20 };

/* Two tensors that begin and end where pages do, in a file with holes, so that three slices are read and no
 * disk is filled. */
static void write_large(void)
{
    static char file[LARGE_HEADER];
    char path[SUPPORT_PATH + 64];
    const uint64_t n = LARGE_HEADER - 8;
    memset(file, ' ', sizeof file);
    memcpy(file, &n, 8);
    int end = snprintf(file + 8, sizeof file - 8,
                       "{\"a\":{\"dtype\":\"U8\",\"shape\":[%d],\"data_offsets\":[0,%d]},"
                       "\"b\":{\"dtype\":\"U8\",\"shape\":[%d],\"data_offsets\":[%d,%d]}}",
                       LARGE_A, LARGE_A, LARGE_B, LARGE_A, LARGE_A + LARGE_B);
    file[8 + end] = ' ';
    support_write(dir, SINGLE, file, sizeof file);
    snprintf(path, sizeof path, "%s/" SINGLE, dir);
    cr_assert_eq(truncate(path, LARGE_HEADER + LARGE_A + LARGE_B), 0);
}

Test(checkpoint, populate_tells_its_progress_and_stops)
{
    write_text("config.json", "{}");
    write_large();
    struct checkpoint *cp = open_good(dir);
    struct why why = {""};
    struct seen all = {.n_max = 100};
    cr_assert_eq(checkpoint_populate(cp, on_progress, &all, &why), 0, "%s", why.text);
    cr_assert(all.n_call == 3 && all.last == 1);
    struct seen one = {.n_max = 1};
    cr_assert_eq(checkpoint_populate(cp, on_progress, &one, &why), 0);
    cr_assert_eq(one.n_call, 1, "stopped where it was told to");
    checkpoint_free(cp);
}

Test(checkpoint, populate_of_a_file_that_shrank)
{
    write_text("config.json", "{}");
    write_large();
    struct checkpoint *cp = open_good(dir);
    char path[SUPPORT_PATH + 64];
    snprintf(path, sizeof path, "%s/" SINGLE, dir);
    cr_assert_eq(truncate(path, 40 << 20), 0);
    struct why why = {""};
    struct seen seen = {.n_max = 100};
    cr_assert_eq(checkpoint_populate(cp, on_progress, &seen, &why), EX_IOERR);
    cr_assert_not_null(strstr(why.text, "/model.safetensors: cannot be read"), "'%s'", why.text);
    checkpoint_free(cp);
}

/* A file that ends within the second tensor shows who reads it. */
Test(checkpoint, a_released_tensor_is_left_out)
{
    write_text("config.json", "{}");
    write_large();
    struct checkpoint *cp = open_good(dir);
    const struct tensor *a = checkpoint_find(cp, "a"), *b = checkpoint_find(cp, "b");
    struct why why = {""};
    struct seen seen = {.n_max = 100};
    cr_assert_eq(checkpoint_hold(cp, b, &why), 0, "%s", why.text);
    checkpoint_release(cp, b);
    cr_assert_eq(((const uint8_t *)b->data)[LARGE_B / 2], 0, "it may be read all the same");

    char path[SUPPORT_PATH + 64];
    snprintf(path, sizeof path, "%s/" SINGLE, dir);
    cr_assert_eq(truncate(path, LARGE_HEADER + LARGE_A + (1 << 20)), 0);
    cr_assert_eq(checkpoint_populate(cp, on_progress, &seen, &why), 0, "%s", why.text);
    cr_assert(seen.n_call == 3 && seen.last == 1);
    cr_assert_eq(checkpoint_hold(cp, a, &why), 0, "%s", why.text);
    cr_assert_eq(checkpoint_hold(cp, b, &why), EX_IOERR);
    cr_assert_not_null(strstr(why.text, "/model.safetensors: cannot be read"), "'%s'", why.text);
    checkpoint_free(cp);
}

Test(checkpoint, sharded_equals_whole)
{
    char whole_path[SUPPORT_PATH], sharded_path[SUPPORT_PATH];
    support_data(whole_path, "data/tiny-random/tiny_llama3");
    support_data(sharded_path, "data/tiny-random/tiny_llama3_sharded");
    struct checkpoint *whole = open_good(whole_path), *sharded = open_good(sharded_path);
    size_t n = checkpoint_n_tensor(whole);
    cr_assert(n > 0 && checkpoint_n_tensor(sharded) == n);
    cr_assert_eq(checkpoint_bytes(sharded), checkpoint_bytes(whole));
    for (size_t i = 0; i < n; i++) {
        const struct tensor *a = checkpoint_tensor_at(whole, i), *b = checkpoint_find(sharded, a->name);
        cr_assert(b && a->type == b->type && a->n_dim == b->n_dim && a->n_byte == b->n_byte, "%s", a->name);
        cr_assert_eq(memcmp(a->dim, b->dim, sizeof a->dim), 0, "%s", a->name);
        cr_assert_eq(memcmp(a->data, b->data, a->n_byte), 0, "%s", a->name);
    }
    checkpoint_free(whole);
    checkpoint_free(sharded);
}

Test(checkpoint, a_real_model_opens)
{
    char path[SUPPORT_PATH];
    support_data(path, "data/stories260K");
    struct checkpoint *cp = open_good(path);
    cr_assert_not_null(checkpoint_find(cp, "model.embed_tokens.weight"));
    cr_assert_not_null(checkpoint_generation_config(cp));
    cr_assert_not_null(checkpoint_tokenizer_config(cp));
    cr_assert_eq(checkpoint_find(cp, "model.norm.weight")->dim[0],
                 (uint64_t)json_number(json_get(checkpoint_config(cp), "hidden_size"), 0));
    checkpoint_free(cp);
}

Test(checkpoint, the_demo_model_opens)
{
    char path[SUPPORT_PATH];
    support_source(path, "contrib/demo-model");
    struct checkpoint *cp = open_good(path);
    struct why why = {""};
    struct seen seen = {.n_max = 100};
    cr_assert_eq(checkpoint_populate(cp, on_progress, &seen, &why), 0);
    cr_assert_eq(seen.last, 1);
    checkpoint_free(cp);
}
