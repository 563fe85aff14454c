/* Tokenizes JSON lines on standard input: what contrib/compare-tokenizers drives.
 *
 *   tokenize_lines TOKENIZER.json
 *
 * In, one object a line: {"content": "...", "add_special": false, "parse_special": false}, or {"ids": [...],
 * "special": true} to decode. Out, one a line: the ids as {"tokens": [...]}, the text as {"content":
 * [bytes]}, or
 * {"error": "..."}. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/jsonread.h"
#include "src/text/detok.h"
#include "src/text/tokenizer.h"

struct line {
    struct buf content;
    bool has_content, special;
    unsigned flags;
    struct token_list ids;
};

static bool read_ids(struct line *l, struct jsonread *r)
{
    jsonread_next(r);
    while (jsonread_next(r) == JSONREAD_INT)
        if (token_list_push(&l->ids, (int32_t)r->integer))
            return false;
    return r->kind == JSONREAD_ARRAY_END;
}

static bool read_flag(struct jsonread *r, unsigned *flags, unsigned flag)
{
    if (jsonread_next(r) == JSONREAD_TRUE)
        *flags |= flag;
    return r->kind == JSONREAD_TRUE || r->kind == JSONREAD_FALSE;
}

static bool read_member(struct line *l, struct jsonread *r)
{
    unsigned special = 0;
    if (jsonread_is(r, "add_special"))
        return read_flag(r, &l->flags, TOKENIZER_ADD_SPECIAL);
    if (jsonread_is(r, "parse_special"))
        return read_flag(r, &l->flags, TOKENIZER_PARSE_SPECIAL);
    if (jsonread_is(r, "ids"))
        return read_ids(l, r);
    if (jsonread_is(r, "special")) {
        bool ok = read_flag(r, &special, 1);
        l->special = special;
        return ok;
    }
    l->has_content = true;
    return jsonread_next(r) == JSONREAD_STRING && buf_push(&l->content, r->string, r->n_string) == 0;
}

static void print_text(const struct tokenizer *t, const struct line *l)
{
    struct detok d;
    char *out = malloc(detok_max_out(t));
    const char *comma = "";
    if (!out)
        abort();
    detok_start(&d, t, l->special, NULL, 0);
    printf("{\"content\": [");
    for (size_t i = 0; i <= l->ids.n; i++) {
        size_t n = i < l->ids.n ? detok_push(&d, l->ids.data[i], out) : detok_finish(&d, out);
        for (size_t j = 0; j < n; j++, comma = ",")
            printf("%s%u", comma, (unsigned)(unsigned char)out[j]);
    }
    printf("]}\n");
    free(out);
}

static void print_ids(const struct tokenizer *t, struct line *l)
{
    struct why why;
    l->ids.n = 0;
    if (tokenizer_encode(t, (const char *)l->content.data, l->content.n, l->flags, &l->ids, &why)) {
        printf("{\"error\": \"%s\"}\n", why.text);
        return;
    }
    printf("{\"tokens\": [");
    for (size_t i = 0; i < l->ids.n; i++)
        printf("%s%d", i ? "," : "", l->ids.data[i]);
    printf("]}\n");
}

static bool do_line(const struct tokenizer *t, struct line *l, const char *text, size_t n)
{
    struct jsonread r;
    struct why why;
    l->content.n = l->ids.n = 0;
    l->flags = 0;
    l->has_content = l->special = false;
    jsonread_init(&r, text, n, &why);
    bool ok = jsonread_next(&r) == JSONREAD_OBJECT;
    while (ok && jsonread_next(&r) == JSONREAD_KEY)
        ok = read_member(l, &r);
    ok = ok && r.kind == JSONREAD_OBJECT_END && jsonread_next(&r) == JSONREAD_END;
    if (!ok)
        fprintf(stderr, "tokenize_lines: %s\n", r.error ? why.text : "not a line for this program");
    else if (l->has_content)
        print_ids(t, l);
    else
        print_text(t, l);
    jsonread_deinit(&r);
    return ok;
}

int main(int argc, char **argv)
{
    struct tokenizer *t = NULL;
    struct why why = {""};
    struct line l = {.content = BUF_NULL};
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n;
    bool ok = true;
    if (argc != 2 || tokenizer_open(&t, argv[1], &why)) {
        fprintf(stderr, "tokenize_lines: %s\n",
                argc == 2 ? why.text : "usage: tokenize_lines TOKENIZER.json");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* who asks waits for each answer */
    while (ok && (n = getline(&text, &capacity, stdin)) > 0)
        ok = do_line(t, &l, text, (size_t)n);
    buf_deinit(&l.content);
    token_list_deinit(&l.ids);
    free(text);
    tokenizer_free(t);
    return ok ? 0 : 1;
}
