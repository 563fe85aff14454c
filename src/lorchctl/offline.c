/* What needs a tokenizer and no server: see offline.h. */
#include "config.h"
#include "src/lorchctl/offline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/base/cleanup.h"
#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/lorchctl/input.h"
#include "src/lorchctl/lines.h"
#include "src/lorchctl/out.h"
#include "src/lorchctl/tokens.h"
#include "src/text/detok.h"
#include "src/text/tokenizer.h"

int offline_needs_tokenizer(void)
{
    fprintf(stderr, "lorchctl: --jsonl needs --tokenizer\n");
    return EX_USAGE;
}

/* Prints why something failed; returns the exit status. */
static int report(int r, const struct why *why)
{
    if (r)
        fprintf(stderr, "lorchctl: %s\n", r < 0 ? strerror(-r) : why->text);
    return r < 0 ? EX_OSERR : r;
}

/* ---- text to ids ---- */

struct encoder {
    const struct offline_encoding *e;
    struct tokenizer *tokenizer;
    bool add_special, parse_special; /* of this text */
    struct buf text;
    struct token_list ids;
};

static int encode(struct encoder *x, struct why *why)
{
    unsigned flags =
        (x->add_special ? TOKENIZER_ADD_SPECIAL : 0) | (x->parse_special ? TOKENIZER_PARSE_SPECIAL : 0);
    x->ids.n = 0;
    return tokenizer_encode(x->tokenizer, (const char *)x->text.data, x->text.n, flags, &x->ids, why);
}

/* The ids as rows to print, for free(). NULL: out of memory. */
static struct tokens_row *make_rows(const struct encoder *x)
{
    struct tokens_row *rows = mem_array(x->ids.n, sizeof *rows);
    for (size_t i = 0; rows && i < x->ids.n; i++) {
        rows[i].id = x->ids.data[i];
        rows[i].piece = tokenizer_bytes(x->tokenizer, x->ids.data[i], &rows[i].n_piece);
    }
    return rows;
}

static int print_ids(const struct encoder *x, const char *before)
{
    if (x->e->count) {
        printf("{%s\"n_tokens\": %zu}", before, x->ids.n);
        return 0;
    }
    CLEANUP_FREE struct tokens_row *rows = make_rows(x);
    if (!rows)
        return -ENOMEM;
    printf("{%s", before);
    tokens_print_members(stdout, rows, x->ids.n, x->e->pieces);
    putchar('}');
    return 0;
}

static int encode_line(void *ctx, struct jsonread *reader, struct why *why)
{
    struct encoder *x = ctx;
    bool has_content = false;
    x->add_special = x->e->add_special;
    x->parse_special = x->e->parse_special;
    if (jsonread_next(reader) != JSONREAD_OBJECT)
        return jsonread_fail(reader, "%s, not an object", jsonread_kind_name(reader->kind));
    while (jsonread_next(reader) == JSONREAD_KEY) {
        int r;
        if (jsonread_is(reader, "content")) {
            r = lines_read_text(reader, "content", &x->text);
            has_content = true;
        } else if (jsonread_is(reader, "add_special")) {
            r = lines_read_bool(reader, "add_special", &x->add_special);
        } else if (jsonread_is(reader, "parse_special")) {
            r = lines_read_bool(reader, "parse_special", &x->parse_special);
        } else {
            r = lines_fail_unknown(reader);
        }
        if (r != 0)
            return r;
    }
    if (!has_content)
        return lines_fail_missing(reader, "content");
    if (jsonread_next(reader) != JSONREAD_END)
        return reader->error;
    int r = encode(x, why);
    return r ? r : print_ids(x, "");
}

/* Replaces what is no UTF-8, if that was asked for. */
static int mend(struct encoder *x)
{
    if (!x->e->invalid_utf8 || strcmp(x->e->invalid_utf8, "replace"))
        return 0;
    struct buf mended = BUF_NULL;
    int r = utf8_replace(&mended, x->text.data, x->text.n);
    buf_deinit(&x->text);
    x->text = mended;
    return r;
}

static int encode_text(struct encoder *x)
{
    struct why why = {""};
    int r = input_read(&x->text, NULL, x->e->text);
    if (r)
        return r;
    x->add_special = x->e->add_special;
    x->parse_special = x->e->parse_special;
    r = mend(x);
    if (r == 0)
        r = encode(x, &why);
    if (r)
        return report(r, &why);
    if (x->e->json) {
        char before[32];
        snprintf(before, sizeof before, "\"format\": %d, ", OUT_FORMAT);
        r = print_ids(x, before);
        putchar('\n');
    } else if (x->e->count) {
        printf("%zu\n", x->ids.n);
    } else {
        CLEANUP_FREE struct tokens_row *rows = make_rows(x);
        r = rows ? 0 : -ENOMEM;
        if (rows)
            tokens_print_text(stdout, rows, x->ids.n, x->e->pieces);
    }
    return report(r, &why);
}

int offline_encode(const struct offline_encoding *e)
{
    struct why why = {""};
    struct encoder x = {.e = e};
    int r = tokenizer_open(&x.tokenizer, e->tokenizer, &why);
    if (r)
        return report(r, &why);
    r = e->jsonl ? lines_run(encode_line, &x) : encode_text(&x);
    token_list_deinit(&x.ids);
    buf_deinit(&x.text);
    tokenizer_free(x.tokenizer);
    return r;
}

/* ---- ids to text ---- */

struct decoder {
    const struct offline_decoding *d;
    struct tokenizer *tokenizer;
    bool return_special; /* of these ids */
    struct token_list ids;
    struct buf text;
};

static int decode(struct decoder *x, const int32_t *ids, size_t n, struct why *why)
{
    const size_t room = detok_max_out(x->tokenizer);
    struct detok d;
    detok_start(&d, x->tokenizer, x->return_special, NULL, 0);
    x->text.n = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && ids[i] >= tokenizer_n_vocab(x->tokenizer))
            return why_set(why, EX_DATAERR, "id %d at index %zu is beyond the vocabulary, ids are 0 to %d",
                           ids[i], i, tokenizer_n_vocab(x->tokenizer) - 1);
        int r = buf_reserve(&x->text, room);
        if (r)
            return r;
        char *out = (char *)x->text.data + x->text.n;
        x->text.n += i < n ? detok_push(&d, ids[i], out) : detok_finish(&d, out);
    }
    return 0;
}

static int read_ids(struct jsonread *reader, struct token_list *ids)
{
    ids->n = 0;
    if (jsonread_next(reader) != JSONREAD_ARRAY)
        return jsonread_fail(reader, "'tokens' is %s, must be an array", jsonread_kind_name(reader->kind));
    while (jsonread_next(reader) != JSONREAD_ARRAY_END) {
        if (reader->kind != JSONREAD_INT || reader->integer < 0 || reader->integer > INT32_MAX)
            return jsonread_fail(reader, "an element of 'tokens' is no token id");
        int r = token_list_push(ids, (int32_t)reader->integer);
        if (r)
            return r;
    }
    return 0;
}

static void print_content(const struct decoder *x, const char *before)
{
    printf("{%s\"content\": ", before);
    out_json_string(stdout, (const char *)x->text.data, x->text.n);
    putchar('}');
}

static int decode_line(void *ctx, struct jsonread *reader, struct why *why)
{
    struct decoder *x = ctx;
    bool has_tokens = false;
    x->return_special = x->d->return_special;
    if (jsonread_next(reader) != JSONREAD_OBJECT)
        return jsonread_fail(reader, "%s, not an object", jsonread_kind_name(reader->kind));
    while (jsonread_next(reader) == JSONREAD_KEY) {
        int r;
        if (jsonread_is(reader, "tokens")) {
            r = read_ids(reader, &x->ids);
            has_tokens = true;
        } else if (jsonread_is(reader, "return_special")) {
            r = lines_read_bool(reader, "return_special", &x->return_special);
        } else {
            r = lines_fail_unknown(reader);
        }
        if (r != 0)
            return r;
    }
    if (!has_tokens)
        return lines_fail_missing(reader, "tokens");
    if (jsonread_next(reader) != JSONREAD_END)
        return reader->error;
    int r = decode(x, x->ids.data, x->ids.n, why);
    if (r == 0)
        print_content(x, "");
    return r;
}

static int decode_ids(struct decoder *x)
{
    struct why why = {""};
    x->return_special = x->d->return_special;
    int r = decode(x, x->d->ids, x->d->n, &why);
    if (r)
        return report(r, &why);
    if (x->d->json) {
        char before[32];
        snprintf(before, sizeof before, "\"format\": %d, ", OUT_FORMAT);
        print_content(x, before);
        putchar('\n');
        return 0;
    }
    fwrite(x->text.data, 1, x->text.n, stdout);
    if (isatty(STDOUT_FILENO))
        putchar('\n');
    return 0;
}

int offline_decode(const struct offline_decoding *d)
{
    struct why why = {""};
    struct decoder x = {.d = d};
    int r = tokenizer_open(&x.tokenizer, d->tokenizer, &why);
    if (r)
        return report(r, &why);
    r = d->jsonl ? lines_run(decode_line, &x) : decode_ids(&x);
    token_list_deinit(&x.ids);
    buf_deinit(&x.text);
    tokenizer_free(x.tokenizer);
    return r;
}
