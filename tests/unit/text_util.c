/* What the tests of src/text share: see text_util.h. */
#include "config.h"
#include "tests/unit/text_util.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/text/detok.h"
#include "tests/support.h"

const struct part *text_util_json(struct arena *arena, const char *path)
{
    size_t n;
    char *text = support_read(path, &n);
    struct jsonread r;
    struct why why = {""};
    const struct part *p = NULL;
    jsonread_init(&r, text, n, &why);
    jsonread_next(&r);
    cr_assert_eq(part_read(&p, &r, arena), 0, "%s: %s", path, why.text);
    cr_assert_eq(jsonread_next(&r), JSONREAD_END, "%s: %s", path, why.text);
    jsonread_deinit(&r);
    free(text);
    return p;
}

const char *text_util_string(const struct part *p, const char *key, size_t *ret_n)
{
    const char *s = NULL;
    struct why why = {""};
    cr_assert_eq(part_get_string(p, "test data", key, &s, ret_n, &why), 0, "%s", why.text);
    return s;
}

struct tokenizer *text_util_open(const char *path)
{
    struct tokenizer *t = NULL;
    struct why why = {""};
    cr_assert_eq(tokenizer_open(&t, path, &why), 0, "%s", why.text);
    return t;
}

struct tokenizer *text_util_parse(const char *json)
{
    char folder[SUPPORT_PATH];
    support_dir_make(folder);
    support_write(folder, "tokenizer.json", json, strlen(json));
    struct tokenizer *t = text_util_open(folder);
    support_dir_remove(folder);
    return t;
}

uint32_t text_util_random(uint64_t *state, uint32_t n)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(*state * UINT64_C(0x2545f4914f6cdd1d) >> 32) % n;
}

uint32_t text_util_code(uint64_t *state)
{
    static const uint32_t tops[] = {0x80, 0x80, 0x250, 0x3000, 0xd800, 0x110000};
    uint32_t code = text_util_random(state, tops[text_util_random(state, 6)]);
    return code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
}

struct token_list text_util_encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags)
{
    struct token_list ids = TOKEN_LIST_NULL;
    struct why why = {""};
    cr_assert_eq(tokenizer_encode(t, text, n, flags, &ids, &why), 0, "%s", why.text);
    return ids;
}

struct buf text_util_decode(const struct tokenizer *t, const struct token_list *ids, bool special)
{
    struct detok d;
    struct buf text;
    buf_init(&text, 0);
    char *out = malloc(detok_max_out(t));
    detok_start(&d, t, special, NULL, 0);
    for (size_t i = 0; i <= ids->n; i++) {
        size_t n = i < ids->n ? detok_push(&d, ids->data[i], out) : detok_finish(&d, out);
        cr_assert(n <= detok_max_out(t));
        cr_assert_eq(buf_push(&text, out, n), 0);
    }
    free(out);
    return text;
}
