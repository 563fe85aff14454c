/* Encoding and decoding whole texts: src/text/tokenizer.c. */
#include "config.h"
#include "src/text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "src/base/buf.h"
#include "src/text/detok.h"
#include "tests/support.h"
#include "tests/unit/text_util.h"

static struct tokenizer *open_demo(void)
{
    char path[SUPPORT_PATH];
    support_source(path, "contrib/demo-model/tokenizer.json");
    return text_util_open(path);
}

Test(tokenizer, special_tokens_are_text_unless_asked_for)
{
    struct tokenizer *t = open_demo();
    const char text[] = "<|begin|>Hi<|end|>";
    int32_t begin = tokenizer_id(t, "<|begin|>"), end = tokenizer_id(t, "<|end|>");
    struct token_list plain = text_util_encode(t, text, sizeof text - 1, 0);
    struct token_list parsed = text_util_encode(t, text, sizeof text - 1, TOKENIZER_PARSE_SPECIAL);
    cr_assert(tokenizer_is_special(t, begin) && tokenizer_is_special(t, end));
    for (size_t i = 0; i < plain.n; i++)
        cr_assert(!tokenizer_is_special(t, plain.data[i]));
    cr_assert(parsed.n >= 3 && parsed.data[0] == begin && parsed.data[parsed.n - 1] == end);
    struct buf back = text_util_decode(t, &plain, false);
    cr_assert(back.n == sizeof text - 1 && memcmp(back.data, text, back.n) == 0);
    buf_deinit(&back);
    back = text_util_decode(t, &parsed, false);
    cr_assert(back.n == 2 && memcmp(back.data, "Hi", 2) == 0);
    buf_deinit(&back);
    token_list_deinit(&plain);
    token_list_deinit(&parsed);
    tokenizer_free(t);
}

Test(tokenizer, a_beginning_is_added_once)
{
    struct tokenizer *t = open_demo();
    int32_t begin = tokenizer_id(t, "<|begin|>");
    const unsigned both = TOKENIZER_ADD_SPECIAL | TOKENIZER_PARSE_SPECIAL;
    static const struct {
        const char *text;
        unsigned flags;
        size_t n_begin;
    } cases[] = {{"Hi", 0, 0},
                 {"Hi", TOKENIZER_ADD_SPECIAL, 1},
                 {"", TOKENIZER_ADD_SPECIAL, 1},
                 {"<|begin|>Hi", both, 1},
                 {"<|begin|><|begin|>", both, 2},
                 {"<|begin|>", TOKENIZER_ADD_SPECIAL, 1},
                 {"Hi<|begin|>", both, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct token_list ids = text_util_encode(t, cases[i].text, strlen(cases[i].text), cases[i].flags);
        size_t n = 0;
        for (size_t j = 0; j < ids.n; j++)
            n += ids.data[j] == begin;
        cr_assert_eq(n, cases[i].n_begin, "case %zu: %zu of %zu ids", i, n, ids.n);
        cr_assert(!(cases[i].flags & TOKENIZER_ADD_SPECIAL) || ids.data[0] == begin);
        token_list_deinit(&ids);
    }
    tokenizer_free(t);
}

Test(tokenizer, invalid_utf8_is_refused_with_its_place)
{
    struct tokenizer *t = open_demo();
    struct token_list ids = TOKEN_LIST_NULL;
    struct why why = {""};
    cr_assert_eq(token_list_push(&ids, 7), 0);
    cr_assert_eq(tokenizer_encode(t, "abc\xff", 4, 0, &ids, &why), EX_DATAERR);
    cr_assert_str_eq(why.text, "the text is not valid UTF-8 at byte 3 of 4");
    cr_assert(ids.n == 1 && ids.data[0] == 7);
    token_list_deinit(&ids);
    tokenizer_free(t);
}

/* Whatever bytes a text holds, it is refused or encoded, and what was encoded comes back. */
Test(tokenizer, invalid_bytes_never_break_anything)
{
    char path[SUPPORT_PATH];
    size_t n;
    support_data(path, "data/text/invalid_utf8.bin");
    char *bytes = support_read(path, &n);
    struct tokenizer *t = open_demo();
    for (size_t from = 0; from < n; from++) {
        struct token_list ids = TOKEN_LIST_NULL;
        size_t good = 0;
        struct why why;
        int r = tokenizer_encode(t, bytes + from, n - from, 0, &ids, &why);
        cr_assert(r == EX_DATAERR || r == 0);
        if (r && sscanf(why.text, "the text is not valid UTF-8 at byte %zu", &good) == 1) {
            cr_assert_eq(tokenizer_encode(t, bytes + from, good, 0, &ids, &why), 0);
            struct buf back = text_util_decode(t, &ids, true);
            cr_assert(back.n == good && (good == 0 || memcmp(back.data, bytes + from, good) == 0));
            buf_deinit(&back);
        }
        token_list_deinit(&ids);
    }
    free(bytes);
    tokenizer_free(t);
}

Test(tokenizer, facts)
{
    struct tokenizer *t = open_demo();
    size_t n;
    cr_assert_eq(tokenizer_n_vocab(t), 1024);
    cr_assert_eq(tokenizer_id(t, "no such piece"), -1);
    cr_assert_null(tokenizer_bytes(t, -1, &n));
    cr_assert_null(tokenizer_bytes(t, 1024, &n));
    cr_assert(!tokenizer_is_special(t, -1) && !tokenizer_is_special(t, 1024));
    const char *bytes = tokenizer_bytes(t, 1, &n);
    cr_assert(n == 7 && memcmp(bytes, "<|end|>", 7) == 0);
    size_t longest = tokenizer_max_piece(t);
    for (int32_t id = 0; id < 1024; id++) {
        tokenizer_bytes(t, id, &n);
        cr_assert(n > 0 && n <= longest);
    }
    tokenizer_free(t);
}

Test(tokenizer, a_missing_file_is_named)
{
    struct tokenizer *t = NULL;
    struct why why = {""};
    char folder[SUPPORT_PATH];
    support_dir_make(folder);
    cr_assert_eq(tokenizer_open(&t, folder, &why), EX_NOINPUT);
    cr_assert_not_null(strstr(why.text, "tokenizer.json"), "%s", why.text);
    support_dir_remove(folder);
}
