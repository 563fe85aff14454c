/* A tokenizer.json of any bytes and, behind a NUL, a text: opened, the text encoded in every way, and the ids
 * decoded again. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/text/detok.h"
#include "src/text/tokenizer_file.h"
#include "src/text/tokenizer_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_TEXT = 4096 };

/* What comes out must be UTF-8, whatever the ids. */
static void decode(const struct tokenizer *t, const struct token_list *ids, bool special)
{
    struct detok d;
    char *out = malloc(detok_max_out(t));
    if (!out)
        abort();
    detok_start(&d, t, special, ids->data, ids->n / 2);
    for (size_t i = ids->n / 2; i <= ids->n; i++) {
        size_t n = i < ids->n ? detok_push(&d, ids->data[i], out) : detok_finish(&d, out);
        if (n > detok_max_out(t) || utf8_check(out, n) != n)
            abort();
    }
    free(out);
}

static void encode(const struct tokenizer *t, const uint8_t *text, size_t n)
{
    for (unsigned flags = 0; flags < 4; flags++) {
        struct token_list ids = TOKEN_LIST_NULL;
        struct why why = {""};
        int r = tokenizer_encode(t, (const char *)text, n, flags, &ids, &why);
        if (r == 0 && utf8_check(text, n) != n)
            abort();
        if ((r == 0) != (why.text[0] == '\0') || (r && r != EX_DATAERR))
            abort();
        for (size_t i = 0; i < ids.n; i++)
            if (ids.data[i] < 0 || ids.data[i] >= tokenizer_n_vocab(t))
                abort();
        decode(t, &ids, flags & 1);
        token_list_deinit(&ids);
    }
}

/* Bytes as ids: most are no token at all. */
static void decode_anything(const struct tokenizer *t, const uint8_t *text, size_t n)
{
    struct token_list ids = TOKEN_LIST_NULL;
    for (size_t i = 0; i < n; i++)
        if (token_list_push(&ids, (int32_t)text[i] - 3))
            abort();
    decode(t, &ids, true);
    token_list_deinit(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *end = n ? memchr(data, '\0', n) : NULL;
    size_t n_json = end ? (size_t)(end - data) : n;
    const uint8_t *text = end ? end + 1 : data;
    size_t n_text = end ? n - n_json - 1 : n;
    if (n_text > MAX_TEXT)
        n_text = MAX_TEXT;
    struct tokenizer *t = mem_array(1, sizeof *t);
    struct why why = {""};
    if (!t)
        abort();
    int r = tokenizer_file_read(t, data, n_json, &why);
    if ((r == 0) != (why.text[0] == '\0') || (r && r != EX_DATAERR))
        abort();
    if (r == 0) {
        encode(t, text, n_text);
        decode_anything(t, text, n_text);
    }
    tokenizer_free(t);
    return 0;
}
