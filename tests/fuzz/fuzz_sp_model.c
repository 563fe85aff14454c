/* A tokenizer.model of any bytes: opened as what it claims to be, then the input's last bytes are encoded. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/text/tokenizer_parts.h"
#include "src/text/tokenizer_ranks.h"
#include "src/text/tokenizer_sp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_TEXT = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tokenizer *t = mem_array(1, sizeof *t);
    struct token_list ids = TOKEN_LIST_NULL;
    struct why why = {""};
    if (!t)
        abort();
    int r = tokenizer_ranks_is(data, n) ? tokenizer_ranks_read(t, data, n, &why)
                                        : tokenizer_sp_read(t, data, n, NULL, &why);
    if ((r == 0) != (why.text[0] == '\0') || (r && r != EX_DATAERR))
        abort();
    if (r == 0) {
        const uint8_t *text = n > MAX_TEXT ? data + n - MAX_TEXT : data;
        size_t n_text = utf8_check(text, n > MAX_TEXT ? MAX_TEXT : n);
        for (unsigned flags = 0; flags < 4; flags++)
            tokenizer_encode(t, (const char *)text, n_text, flags, &ids, &why);
        tokenizer_encode(t, " a\xe2\x96\x81  b\n", 8, TOKENIZER_PARSE_SPECIAL, &ids, &why);
    }
    for (size_t i = 0; i < ids.n; i++)
        if (ids.data[i] < 0 || ids.data[i] >= tokenizer_n_vocab(t))
            abort();
    token_list_deinit(&ids);
    tokenizer_free(t);
    return 0;
}
