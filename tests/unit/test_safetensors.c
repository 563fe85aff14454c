/* One safetensors file, good and malformed: src/weights/safetensors.c. */
#include "config.h"
#include "src/weights/safetensors.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "src/base/clock.h"
#include "tests/support.h"

#define F32(shape, begin, end) \
    "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"
#define U8(shape, begin, end) "{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static char dir[SUPPORT_PATH], path[SUPPORT_PATH + 32];

static void setup(void)
{
    support_dir_make(dir);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
}

static void teardown(void)
{
    support_dir_remove(dir);
}

TestSuite(safetensors, .init = setup, .fini = teardown);

/* A file whose header claims this length, whose data are the bytes 0, 1, 2, ... */
static void write_claiming(uint64_t claim, const char *header, size_t n_header, size_t n_data)
{
    struct buf b = BUF_NULL;
    cr_assert_eq(buf_push(&b, &claim, sizeof claim), 0);
    cr_assert_eq(buf_push(&b, header, n_header), 0);
    for (size_t i = 0; i < n_data; i++)
        cr_assert_eq(buf_push(&b, &(uint8_t){(uint8_t)i}, 1), 0);
    support_write(dir, "model.safetensors", b.data, b.n);
    buf_deinit(&b);
}

static void write_file(const char *header, size_t n_data)
{
    write_claiming(strlen(header), header, strlen(header), n_data);
}

static struct safetensors *open_good(void)
{
    struct safetensors *file = NULL;
    struct why why = {""};
    cr_assert_eq(safetensors_open(&file, path, &why), 0, "%s", why.text);
    cr_assert_str_empty(why.text);
    return file;
}

/* The file is refused with this code, and with a sentence that begins with its path and holds this part. */
static void expect_refusal(int code, const char *part, const char *what)
{
    struct safetensors *file = NULL;
    struct why why = {""};
    int r = safetensors_open(&file, path, &why);
    cr_expect_eq(r, code, "%s: %d '%s'", what, r, why.text);
    cr_expect_null(file);
    cr_expect_eq(strncmp(why.text, path, strlen(path)), 0, "%s: '%s'", what, why.text);
    cr_expect_not_null(strstr(why.text, part), "%s: '%s' does not say '%s'", what, why.text, part);
    cr_expect_eq(safetensors_open(&file, path, NULL), code);
}

Test(safetensors, a_good_file)
{
    write_file(
        "{\"__metadata__\":{\"format\":\"pt\",\"x\":\"\"},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[3,1],\"data_offsets\":[24,30]},"
        "\"a\":" F32("[2,3]", 0, 24) ",\"none\":" F32(
            "[0,7]", 30, 30) ","
                             "\"byte\":{\"dtype\":\"F8_E4M3\",\"shape\":[],\"data_offsets\":[30,31]}}   ",
        31);
    struct safetensors *file = open_good();
    cr_assert_eq(safetensors_count(file), 4);
    cr_assert_str_eq(safetensors_at(file, 0)->name, "a", "in the order of the data");

    const struct tensor *a = safetensors_find(file, "a");
    cr_assert(a->type == LK_F32 && a->n_dim == 2 && a->dim[0] == 2 && a->dim[1] == 3 && a->n_byte == 24);
    const struct tensor *b = safetensors_find(file, "b");
    cr_assert(b->type == LK_BF16 && b->n_byte == 6 && *(const uint8_t *)b->data == 24);
    cr_assert_str_eq(b->type_name, "BF16");
    const struct tensor *byte = safetensors_find(file, "byte");
    cr_assert(byte->type == -1 && byte->n_dim == 0 && byte->n_byte == 1 &&
              *(const uint8_t *)byte->data == 30);
    cr_assert_str_eq(byte->type_name, "F8_E4M3");
    cr_assert_eq(safetensors_find(file, "none")->n_byte, 0);
    cr_assert_null(safetensors_find(file, "c"));
    cr_assert_null(safetensors_find(file, ""));
    cr_assert_null(safetensors_find(file, "__metadata__"));
    cr_assert_str_eq(safetensors_metadata(file, "format"), "pt");
    cr_assert_str_eq(safetensors_metadata(file, "x"), "");
    cr_assert_null(safetensors_metadata(file, "y"));
    cr_assert_null(safetensors_free(file));
    cr_assert_null(safetensors_free(NULL));
}

Test(safetensors, a_file_without_tensors)
{
    write_file("{}", 0);
    struct safetensors *file = open_good();
    cr_assert_eq(safetensors_count(file), 0);
    cr_assert_null(safetensors_find(file, "a"));
    cr_assert_null(safetensors_metadata(file, "format"));
    safetensors_free(file);
}

Test(safetensors, metadata_may_be_null)
{
    write_file("{\"__metadata__\":null,\"a\":" U8("[1]", 0, 1) "}", 1);
    struct safetensors *file = open_good();
    cr_assert_eq(safetensors_count(file), 1);
    cr_assert_null(safetensors_metadata(file, "format"));
    safetensors_free(file);
}

Test(safetensors, data_is_used_in_place_or_copied_where_it_is_not_aligned)
{
    /* With a header of each length, the first float is aligned or not. */
    for (int pad = 0; pad < 8; pad++) {
        char header[256];
        snprintf(header, sizeof header, "{\"x\":%s,\"h\":%s}%*s", F32("[2]", 0, 8),
                 "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[8,10]}", pad, "");
        write_file(header, 10);
        struct safetensors *file = open_good();
        const struct mapfile *map = safetensors_map(file);
        for (size_t i = 0; i < 2; i++) {
            const struct tensor *t = safetensors_at(file, i);
            size_t bytes = t->type == LK_F32 ? 4 : 2, begin = 8 + strlen(header) + (i == 0 ? 0 : 8);
            bool is_in_place = (const uint8_t *)t->data == map->data + begin;
            cr_assert_eq((uintptr_t)t->data % bytes, 0, "pad %d", pad);
            cr_assert_eq(is_in_place, begin % bytes == 0, "pad %d", pad);
            cr_assert_eq(memcmp(t->data, map->data + begin, t->n_byte), 0);
        }
        safetensors_free(file);
    }
}

Test(safetensors, malformed_headers)
{
    static const struct {
        const char *header;
        size_t n_data;
        const char *part;
    } rows[] = {
        {"", 0, "the header of 0 bytes does not begin with '{'"},
        {"{", 0, "header: not JSON at line 1"},
        {"nonsense", 0, "the header of 8 bytes does not begin with '{'"},
        {" {}", 0, "does not begin with"},
        {"\xef\xbb\xbf{}", 0, "does not begin with"},
        {"{\x01\x02}", 0, "header: not JSON: a control character at line 1, column 2"},
        {"{\"\xff\":1}", 0, "header: not JSON: invalid UTF-8 at line 1, column 3"},
        {"{} {}", 0, "more text after the value"},
        {"[]", 0, "does not begin with"},
        {"{\"a\":7}", 0, "tensor 'a' is a number, must be an object"},
        {"{\"a\":null}", 0, "tensor 'a' is null, must be an object"},
        {"{\"a\":{}}", 0, "tensor 'a': 'dtype' is nothing, must be a string"},
        {"{\"a\":{\"dtype\":7}}", 0, "'dtype' is a number"},
        {"{\"a\":{\"dtype\":\"Q4\"}}", 0, "tensor 'a': unknown type 'Q4'"},
        {"{\"a\":{\"dtype\":\"f32\"}}", 0, "unknown type 'f32'"},
        {"{\"a\":{\"dtype\":\"F32\"}}", 0, "tensor 'a': 'shape' is nothing, must be an array"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":4}}", 0, "'shape' is a number"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1]}}", 0, "dimension 0 is -1, must be a whole number"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1.5]}}", 0, "dimension 1 is 1.5"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[\"1\"]}}", 0, "dimension 0 is a string"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1e300]}}", 0, "dimension 0 is 1.0000000000000001e+300"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[18014398509481984]}}", 0, "dimension 0 is 18014398509481984"},
        {"{\"a\":" F32("[4294967296,4294967296]", 0, 0) "}", 0, "too large, at dimension 1 of 4294967296"},
        {"{\"a\":" F32("[4503599627370496,4503599627370496,0]", 0, 0) "}", 0, "too large, at dimension 1"},
        {"{\"a\":" F32("[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "tensor 'a' has 9 dimensions, at most 8"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1, "12 bits of type F4"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4,
         "tensor 'a': 'data_offsets' must be an array of two"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "array of two"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, "array of two"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":{\"b\":0,\"e\":4}}}", 4, "array of two"},
        {"{\"a\":" F32("[1]", -4, 0) "}", 4, "'data_offsets' are -4 and 0, must be whole numbers"},
        {"{\"a\":" F32("[1]", 0.5, 4.5) "}", 5, "'data_offsets' are 0.5 and 4.5"},
        {"{\"a\":" F32("[1]", 0, "4") "}", 4, "'data_offsets' are 0 and a string"},
        {"{\"a\":" F32("[1]", 0, 1e300) "}", 4, "must be whole numbers"},
        {"{\"a\":" F32("[1]", 9007199254740993, 9007199254740997) "}", 4, "must be whole numbers"},
        {"{\"a\":" F32("[1]", 0, 18446744073709551620) "}", 4, "must be whole numbers"},
        {"{\"a\":" F32("[1]", 4, 0) "}", 4, "tensor 'a' begins at byte 4 and ends before it, at 0"},
        {"{\"a\":" F32("[2]", 0, 8) "}", 7, "tensor 'a' ends at byte 8, but the file has 7 bytes of data"},
        {"{\"a\":" F32("[2]", 0, 4) "}", 8, "tensor 'a' has 4 bytes, its shape of type F32 needs 8"},
        {"{\"a\":" F32("[]", 0, 8) "}", 8, "tensor 'a' has 8 bytes, its shape of type F32 needs 4"},
        {"{\"a\":" F32("[0]", 0, 4) "}", 4, "tensor 'a' has 4 bytes, its shape of type F32 needs 0"},
        {"{\"a\":" F32("[1]", 0, 4) "}", 5, "the tensors end at byte 4, but the file has 5 bytes of data"},
        {"{}", 3, "the tensors end at byte 0, but the file has 3"},
        {"{\"a\":" U8("[4]", 0, 4) ",\"b\":" U8("[4]", 2, 6) "}", 6,
         "tensor 'b' begins at byte 2, inside 'a', which ends at 4"},
        {"{\"b\":" U8("[4]", 0, 4) ",\"a\":" U8("[4]", 0, 4) "}", 4, "begins at byte 0, inside"},
        {"{\"a\":" U8("[4]", 0, 4) ",\"b\":" U8("[0]", 2, 2) "}", 4,
         "tensor 'b' begins at byte 2, inside 'a'"},
        {"{\"b\":" U8("[2]", 4, 6) ",\"a\":" U8("[2]", 0, 2) "}", 6,
         "no tensor has the bytes from 2 to 4, where 'b' begins"},
        {"{\"a\":" U8("[1]", 1, 2) "}", 2, "no tensor has the bytes from 0 to 1, where 'a' begins"},
        {"{\"a\":" U8("[1]", 0, 1) ",\"a\":" U8("[1]", 1, 2) "}", 2, "tensor 'a' is there twice"},
        {"{\"\":" U8("[1]", 0, 1) "}", 1, "a tensor without a name"},
        {"{\"a\\nb\":" U8("[1]", 0, 1) "}", 1, "tensor 'a?b': the name holds the control character 0x0a"},
        {"{\"a\\u001b\":" U8("[1]", 0, 1) "}", 1, "control character 0x1b"},
        {"{\"a\\u0000b\":" U8("[1]", 0, 1) "}", 1, "the header holds the character U+0000"},
        {"{\"__metadata__\":7}", 0, "'__metadata__' is a number, must be an object"},
        {"{\"__metadata__\":{\"format\":7}}", 0, "'__metadata__': 'format' is a number, must be a string"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "'__metadata__' is there twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file(rows[i].header, rows[i].n_data);
        expect_refusal(EX_DATAERR, rows[i].part, rows[i].header);
    }
    write_file("{\"a\\\\u0000b\":" U8("[1]", 0, 1) "}", 1);
    safetensors_free(open_good()); /* an escaped backslash before "u0000" */
}

Test(safetensors, malformed_lengths)
{
    support_write(dir, "model.safetensors", "", 0);
    expect_refusal(EX_DATAERR, "0 bytes, a safetensors file has at least 8", "empty");
    support_write(dir, "model.safetensors", "\x02\0\0\0\0\0\0", 7);
    expect_refusal(EX_DATAERR, "7 bytes, a safetensors file has at least 8", "seven bytes");
    support_write(dir, "model.safetensors", "\x02\0\0\0\0\0\0\0", 8);
    expect_refusal(EX_DATAERR, "a header of 2 bytes in a file of 8: the file is cut", "eight bytes");
    write_claiming(0, "", 0, 0);
    expect_refusal(EX_DATAERR, "the header of 0 bytes", "no header");
    write_claiming(3, "{}", 2, 0);
    expect_refusal(EX_DATAERR, "a header of 3 bytes in a file of 10", "one byte short");
    write_claiming(SAFETENSORS_MAX_HEADER, "{}", 2, 0);
    expect_refusal(EX_DATAERR, "a header of 100000000 bytes in a file of 10", "the largest allowed");
    write_claiming(SAFETENSORS_MAX_HEADER + 1, "{}", 2, 0);
    expect_refusal(EX_DATAERR, "a header of 100000001 bytes, at most 100000000", "one more");
    write_claiming(UINT64_MAX, "{}", 2, 0);
    expect_refusal(EX_DATAERR, "a header of 18446744073709551615 bytes", "all ones");
    support_write(dir, "model.safetensors", "GGUF\x03\0\0\0\x01\0\0\0", 12);
    expect_refusal(EX_DATAERR, "is it safetensors?", "another format");
}

Test(safetensors, a_good_file_cut_at_each_byte_is_refused)
{
    write_file("{\"a\":" F32("[2]", 0, 8) "}", 8);
    size_t n;
    char *whole = support_read(path, &n);
    for (size_t i = 0; i < n; i++) {
        support_write(dir, "model.safetensors", whole, i);
        expect_refusal(EX_DATAERR, ": ", "cut");
    }
    free(whole);
}

Test(safetensors, what_is_no_file)
{
    expect_refusal(EX_NOINPUT, "No such file", "missing");
    snprintf(path, sizeof path, "%s", dir);
    expect_refusal(EX_DATAERR, "a directory", "directory");
}

/* n tensors of one byte each, with names of real length. */
static void write_many(int n)
{
    struct buf header = BUF_NULL;
    for (int i = 0; i < n; i++)
        cr_assert_eq(buf_push_format(&header,
                                     "%s\"model.layers.%d.mlp.experts.w\":{\"dtype\":\"U8\",\"shape\":[1],"
                                     "\"data_offsets\":[%d,%d]}",
                                     i ? "," : "{", i, i, i + 1),
                     0);
    cr_assert_eq(buf_push(&header, "}", 2), 0);
    write_claiming(header.n - 1, (const char *)header.data, header.n - 1, (size_t)n);
    buf_deinit(&header);
}

Test(safetensors, a_hundred_thousand_tensors_and_no_more)
{
    write_many(SAFETENSORS_MAX_TENSOR);
    int64_t begin = clock_us();
    struct safetensors *file = open_good();
    int64_t us = clock_us() - begin;
    cr_assert_eq(safetensors_count(file), SAFETENSORS_MAX_TENSOR);
    for (int i = 0; i < SAFETENSORS_MAX_TENSOR; i += 997) {
        char name[64];
        snprintf(name, sizeof name, "model.layers.%d.mlp.experts.w", i);
        const struct tensor *t = safetensors_find(file, name);
        cr_assert(t && *(const uint8_t *)t->data == (uint8_t)i);
    }
    safetensors_free(file);
    /* 0.1 s here; anything quadratic takes minutes, also on a slow machine under a sanitizer. */
    cr_assert_lt(us, 20000000, "%lld us", (long long)us);

    write_many(SAFETENSORS_MAX_TENSOR + 1);
    expect_refusal(EX_DATAERR, "100001 tensors, at most 100000 are read", "one more");
}

Test(safetensors, reference_files_open)
{
    char golden[SUPPORT_PATH];
    support_data(golden, "golden");
    DIR *d = opendir(golden);
    cr_assert_not_null(d);
    int n_file = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        static const char *const names[] = {"model.safetensors", "golden.safetensors"};
        for (size_t i = 0; entry->d_name[0] != '.' && i < 2; i++) {
            char name[3 * SUPPORT_PATH];
            snprintf(name, sizeof name, "%s/%s/%s", golden, entry->d_name, names[i]);
            struct safetensors *file;
            struct why why = {""};
            int r = safetensors_open(&file, name, &why);
            if (r == EX_NOINPUT)
                continue; /* a folder of something else */
            cr_assert_eq(r, 0, "%s", why.text);
            cr_assert_gt(safetensors_count(file), 0);
            safetensors_free(file);
            n_file++;
        }
    }
    closedir(d);
    cr_assert_gt(n_file, 50, "%d files", n_file);
}
