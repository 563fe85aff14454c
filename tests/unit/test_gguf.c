/* One GGUF file, good and malformed: src/weights/gguf.c and gguf_tensors.c. */
#include "config.h"
#include "src/weights/gguf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "tests/support.h"

static char dir[SUPPORT_PATH], path[SUPPORT_PATH + 32];
static struct buf file = BUF_NULL; /* what is being written */

static void setup(void)
{
    support_dir_make(dir);
    snprintf(path, sizeof path, "%s/model.gguf", dir);
}

static void teardown(void)
{
    support_dir_remove(dir);
    buf_deinit(&file);
}

TestSuite(gguf, .init = setup, .fini = teardown);

static void put(const void *data, size_t n)
{
    cr_assert_eq(buf_push(&file, data, n), 0);
}

static void put_u32(uint32_t v)
{
    put(&v, sizeof v);
}

static void put_u64(uint64_t v)
{
    put(&v, sizeof v);
}

static void put_string(const char *s)
{
    put_u64(strlen(s));
    put(s, strlen(s));
}

static void put_header(uint64_t n_tensor, uint64_t n_value)
{
    file.n = 0;
    put("GGUF", 4);
    put_u32(3);
    put_u64(n_tensor);
    put_u64(n_value);
}

static void put_key(const char *key, uint32_t type)
{
    put_string(key);
    put_u32(type);
}

static void put_tensor(const char *name, uint32_t type, uint64_t inner, uint64_t outer, uint64_t offset)
{
    put_string(name);
    put_u32(2);
    put_u64(inner);
    put_u64(outer);
    put_u32(type);
    put_u64(offset);
}

/* Zeros up to the next multiple of 32, then n bytes 0, 1, 2, ... */
static void put_data(size_t n)
{
    while (file.n % 32)
        put("", 1);
    for (size_t i = 0; i < n; i++)
        put(&(uint8_t){(uint8_t)i}, 1);
}

static struct gguf *open_good(void)
{
    struct gguf *f = NULL;
    struct why why = {""};
    support_write(dir, "model.gguf", file.data, file.n);
    cr_assert_eq(gguf_open(&f, path, &why), 0, "%s", why.text);
    cr_assert_str_empty(why.text);
    return f;
}

/* The file is refused with a sentence that begins with its path and holds this. */
static void check_bad(const char *sentence)
{
    struct gguf *f = NULL;
    struct why why = {""};
    support_write(dir, "model.gguf", file.data, file.n);
    cr_assert_eq(gguf_open(&f, path, &why), EX_DATAERR, "%s", sentence);
    cr_assert_null(f);
    cr_assert_eq(strncmp(why.text, path, strlen(path)), 0);
    cr_assert_not_null(strstr(why.text, sentence), "'%s' in '%s'", sentence, why.text);
}

Test(gguf, values_of_every_type)
{
    put_header(0, 15);
    put_key("u8", GGUF_U8), put("\xfe", 1);
    put_key("i8", GGUF_I8), put("\xfe", 1);
    put_key("u16", GGUF_U16), put("\xfe\xff", 2);
    put_key("i16", GGUF_I16), put("\xfe\xff", 2);
    put_key("u32", GGUF_U32), put_u32(4000000000);
    put_key("i32", GGUF_I32), put_u32((uint32_t)-7);
    put_key("f32", GGUF_F32), put(&(float){0.5f}, 4);
    put_key("bool", GGUF_BOOL), put("\1", 1);
    put_key("string", GGUF_STRING), put_string("text");
    put_key("u64", GGUF_U64), put_u64(UINT64_MAX);
    put_key("i64", GGUF_I64), put_u64((uint64_t)-9);
    put_key("f64", GGUF_F64), put(&(double){-0.25}, 8);
    put_key("strings", GGUF_ARRAY), put_u32(GGUF_STRING), put_u64(3);
    put_string("a"), put_string(""), put_string("ccc");
    put_key("numbers", GGUF_ARRAY), put_u32(GGUF_I16), put_u64(2), put("\1\0\xff\xff", 4);
    put_key("nested", GGUF_ARRAY), put_u32(GGUF_ARRAY), put_u64(1), put_u32(GGUF_U8), put_u64(2),
        put("xy", 2);
    struct gguf *f = open_good();
    static const struct {
        const char *key;
        int64_t want;
    } integers[] = {{"u8", 254},         {"i8", -2},  {"u16", 65534},     {"i16", -2},
                    {"u32", 4000000000}, {"i32", -7}, {"u64", INT64_MAX}, {"i64", -9}};
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        int64_t got = 0;
        cr_assert_eq(gguf_get_int(f, integers[i].key, true, INT64_MIN, INT64_MAX, &got, NULL), 0);
        cr_assert_eq(got, integers[i].want, "%s", integers[i].key);
    }
    double number = 0;
    bool flag = false;
    struct gguf_string s = {0};
    const struct gguf_value *list;
    cr_assert(gguf_get_double(f, "f32", true, &number, NULL) == 0 && number == 0.5);
    cr_assert(gguf_get_double(f, "f64", true, &number, NULL) == 0 && number == -0.25);
    cr_assert(gguf_get_bool(f, "bool", true, &flag, NULL) == 0 && flag);
    cr_assert(gguf_get_string(f, "string", true, &s, NULL) == 0 && s.n == 4 && memcmp(s.s, "text", 4) == 0);
    cr_assert(gguf_get_array(f, "strings", true, GGUF_STRING, &list, NULL) == 0 && list->n == 3);
    cr_assert(gguf_string_at(list, 0).n == 1 && gguf_string_at(list, 1).n == 0);
    cr_assert(gguf_string_at(list, 2).n == 3 && memcmp(gguf_string_at(list, 2).s, "ccc", 3) == 0);
    cr_assert(gguf_get_array(f, "numbers", true, GGUF_I32, &list, NULL) == 0 && list->n == 2);
    cr_assert(gguf_int_at(list, 0) == 1 && gguf_int_at(list, 1) == -1);
    cr_assert(gguf_find(f, "nested")->n == 1 && gguf_n_value(f) == 15 && gguf_version(f) == 3);
    cr_assert_null(gguf_find(f, "none"));
    gguf_free(f);
}

Test(gguf, getters_name_what_is_wrong)
{
    struct why why;
    int64_t n = 5;
    bool flag = true;
    const struct gguf_value *list;
    put_header(0, 2);
    put_key("count", GGUF_U32), put_u32(12);
    put_key("list", GGUF_ARRAY), put_u32(GGUF_F32), put_u64(0);
    struct gguf *f = open_good();
    cr_assert_eq(gguf_get_int(f, "missing", false, 0, 9, &n, &why), 0);
    cr_assert_eq(n, 5);
    cr_assert_eq(gguf_get_int(f, "missing", true, 0, 9, &n, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "metadata 'missing' is missing");
    cr_assert_eq(gguf_get_int(f, "count", true, 0, 9, &n, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "metadata 'count' is 12, must be 0 to 9");
    cr_assert_eq(gguf_get_bool(f, "count", true, &flag, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "metadata 'count' is of type uint32, must be a bool");
    cr_assert_eq(gguf_get_array(f, "list", true, GGUF_STRING, &list, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "metadata 'list' is of type array of float32, must be an array of strings");
    gguf_free(f);
}

Test(gguf, tensors_are_found_where_they_lie)
{
    put_header(2, 0);
    put_tensor("b", 8, 32, 2, 64); /* Q8_0: two rows of one block of 34 bytes */
    put_tensor("a", 0, 2, 4, 0);
    put_data(64 + 68);
    struct gguf *f = open_good();
    cr_assert_eq(gguf_n_tensor(f), 2);
    const struct tensor *a = gguf_tensor_find(f, "a"), *b = gguf_tensor_find(f, "b");
    cr_assert(gguf_tensor_at(f, 0) == a && gguf_tensor_at(f, 1) == b && !gguf_tensor_find(f, "c"));
    cr_assert(a->n_dim == 2 && a->dim[0] == 4 && a->dim[1] == 2 && a->n_byte == 32 && a->type == LK_F32);
    cr_assert(b->n_byte == 68 && b->type == -1 && strcmp(b->type_name, "Q8_0") == 0);
    cr_assert(*(const uint8_t *)a->data == 0 && *(const uint8_t *)b->data == 64);
    gguf_free(f);
}

Test(gguf, malformed_tensors)
{
    put_header(1, 0), put_tensor("t", 0, 2, 4, 0), put_data(31);
    check_bad("tensor 't' takes 32 bytes from byte 0 of the data, which has 31 bytes");
    put_header(1, 0), put_tensor("t", 0, 2, 4, 1), put_data(64);
    check_bad("tensor 't' begins at byte 1, which the alignment 32 does not divide");
    put_header(1, 0), put_tensor("t", 4, 2, 4, 0), put_data(64);
    check_bad("tensor 't' has type 4, which is not known");
    put_header(1, 0), put_tensor("t", 8, 33, 1, 0), put_data(64);
    check_bad("tensor 't' has rows of 33 elements, type Q8_0 needs a multiple of 32");
    put_header(1, 0), put_tensor("t", 0, UINT64_MAX / 2, 3, 0), put_data(64);
    check_bad("too large with the others");
    put_header(1, 0), put_tensor("t", 0, 0, 3, 0), put_data(64);
    check_bad("tensor 't': dimension 0 is 0, which is too small");
    put_header(2, 0), put_tensor("t", 0, 2, 4, 0), put_tensor("t", 0, 2, 4, 32), put_data(64);
    check_bad("tensor 't' is there twice");
    put_header(2, 0), put_tensor("t", 0, 4, 4, 0), put_tensor("u", 0, 2, 4, 32), put_data(96);
    check_bad("tensor 'u' begins at byte 32, inside tensor 't', which ends at 64");
    put_header(1, 0), put_string("t"), put_u32(5), put_data(64);
    check_bad("tensor 't' has 5 dimensions, must be 1 to 4");
    put_header(100001, 0), put_data(64);
    check_bad("100001 tensors, at most 100000 are allowed");
    put_header(100000, 0), put_data(64);
    check_bad("the tensor directory needs");
}

Test(gguf, malformed_metadata)
{
    file.n = 0, put("GGML", 4);
    check_bad("no GGUF file");
    file.n = 0, put("GGUF\1\0\0\0", 8);
    check_bad("GGUF version 1, only 2 and 3 are supported");
    file.n = 0, put("GGUF\0\0\0\3", 8);
    check_bad("a big-endian GGUF file");
    put_header(0, 1000), put_data(0);
    check_bad("the metadata needs 13000 bytes");
    put_header(0, 1), put_key("k", 13), put_u64(0);
    check_bad("metadata 'k' has type 13, which is not known");
    put_header(0, 1), put_key("k", GGUF_STRING), put_u64(1 << 21), put_u64(0);
    check_bad("k has 2097152 bytes, at most 1048576 are allowed");
    put_header(0, 1), put_key("k", GGUF_STRING), put_u64(1000), put_u64(0);
    check_bad("k needs 1000 bytes");
    put_header(0, 1), put_key("k", GGUF_ARRAY), put_u32(GGUF_U8), put_u64(10000001), put_u64(0);
    check_bad("metadata 'k' is an array of 10000001 elements, at most 10000000 are allowed");
    put_header(0, 1), put_key("k", GGUF_ARRAY), put_u32(GGUF_STRING), put_u64(10000000), put_u64(0);
    check_bad("k needs 80000000 bytes");
    put_header(0, 1), put_key("k", GGUF_BOOL), put("\2", 1);
    check_bad("metadata 'k' is a bool of the value 2");
    put_header(0, 2), put_key("k", GGUF_U8), put("a", 1), put_key("k", GGUF_U8), put("a", 1);
    check_bad("metadata 'k' is there twice");
    put_header(0, 1), put_key("general.alignment", GGUF_U32), put_u32(48);
    check_bad("'general.alignment' is 48, which is no power of two");
    put_header(0, 1), put_key("general.alignment", GGUF_U32), put_u32(1 << 17);
    check_bad("metadata 'general.alignment' is 131072, must be 1 to 65536");
    put_header(0, 1), put_key("k", GGUF_ARRAY);
    for (int i = 0; i < 3; i++)
        put_u32(GGUF_ARRAY), put_u64(1);
    put_u32(GGUF_U8), put_u64(0);
    check_bad("metadata 'k' is nested more than 2 arrays deep");
}

/* A file that ends anywhere is refused, never read beyond. */
Test(gguf, every_shorter_file_is_refused)
{
    put_header(1, 2);
    put_key("list", GGUF_ARRAY), put_u32(GGUF_STRING), put_u64(2), put_string("ab"), put_string("c");
    put_key("count", GGUF_U32), put_u32(12);
    put_tensor("t", 0, 2, 4, 0), put_data(32);
    const size_t n = file.n;
    gguf_free(open_good());
    for (file.n = 0; file.n < n; file.n++)
        check_bad("");
}

Test(gguf, files_of_others)
{
    char name[SUPPORT_PATH];
    struct why why = {""};
    struct gguf *f = NULL;
    const struct gguf_value *list;
    support_data(name, "data/gguf-vocab/ggml-vocab-falcon.gguf");
    cr_assert_eq(gguf_open(&f, name, &why), 0, "%s", why.text);
    cr_assert_eq(gguf_get_array(f, "tokenizer.ggml.tokens", true, GGUF_STRING, &list, &why), 0);
    cr_assert(list->n == 65024 && gguf_string_at(list, 0).n == 9);
    gguf_free(f);
    support_data(name, "data/stories260K-gguf/stories260K-f32.gguf");
    cr_assert_eq(gguf_open(&f, name, &why), 0, "%s", why.text);
    cr_assert_eq(gguf_n_tensor(f), 47);
    const struct tensor *t = gguf_tensor_find(f, "token_embd.weight");
    cr_assert(t && t->dim[0] == 512 && t->dim[1] == 64 && t->n_byte == 4 * 64 * 512);
    gguf_free(f);
    support_data(name, "data/gguf-vocab/empty.gguf");
    cr_assert_eq(gguf_open(&f, name, &why), 0, "%s", why.text);
    gguf_free(f);
    support_data(name, "data/gguf-vocab/tiny.gguf");
    cr_assert_eq(gguf_open(&f, name, &why), EX_DATAERR); /* it has no data */
}
