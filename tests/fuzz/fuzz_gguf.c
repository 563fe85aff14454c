/* A GGUF file of any bytes: opened, every value and tensor that passed looked at, and its vocabulary made a
 * tokenizer that encodes the input's last bytes. */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/utf8.h"
#include "src/text/tokenizer.h"
#include "src/weights/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_TEXT = 256 };

static volatile uint64_t sink; /* so that no read is optimized away */

static void touch(const void *data, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        sink += ((const uint8_t *)data)[i];
}

static void look(const struct gguf *file)
{
    for (size_t i = 0; i < gguf_n_value(file); i++) {
        const struct gguf_value *v = gguf_value_at(file, i);
        if (gguf_find(file, v->key) != v)
            abort();
        for (size_t j = 0; j < v->n && v->element != GGUF_ARRAY; j++) {
            if (v->element == GGUF_STRING)
                touch(gguf_string_at(v, j).s, gguf_string_at(v, j).n);
            else
                sink += (uint64_t)(gguf_double_at(v, j) > 0);
        }
    }
    for (size_t i = 0; i < gguf_n_tensor(file); i++) {
        const struct tensor *t = gguf_tensor_at(file, i);
        if (gguf_tensor_find(file, t->name) != t)
            abort();
        touch(t->data, t->n_byte);
    }
}

static void tokenize(const struct gguf *file, const uint8_t *data, size_t n)
{
    struct tokenizer *t = NULL;
    struct token_list ids = TOKEN_LIST_NULL;
    struct why why = {""};
    int r = tokenizer_from_gguf(&t, file, &why);
    if ((r == 0) != (t != NULL) || (r == 0) != (why.text[0] == '\0'))
        abort();
    if (n > MAX_TEXT) {
        data += n - MAX_TEXT;
        n = MAX_TEXT;
    }
    if (t) {
        tokenizer_encode(t, (const char *)data, utf8_check(data, n), TOKENIZER_ADD_SPECIAL, &ids, &why);
        tokenizer_encode(t, " a  b\n", 6, TOKENIZER_PARSE_SPECIAL, &ids, &why);
    }
    for (size_t i = 0; i < ids.n; i++)
        if (ids.data[i] < 0 || ids.data[i] >= tokenizer_n_vocab(t))
            abort();
    token_list_deinit(&ids);
    tokenizer_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n)
        abort();
    struct gguf *file = NULL;
    struct why why = {""};
    int r = gguf_open(&file, path, &why);
    if ((r == 0) != (file != NULL) || (r == 0) != (why.text[0] == '\0'))
        abort();
    if (file) {
        look(file);
        tokenize(file, data, n);
    }
    gguf_free(file);
    close(fd);
    return 0;
}
