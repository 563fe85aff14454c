/* What the readers of tokenizer files share: see tokenizer_parts.h. */
#include "config.h"
#include "src/text/tokenizer_parts.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"

enum { SHOWN = 60 /* bytes of a name in a sentence */ };

int tokenizer_parts_shown(size_t n)
{
    return n < SHOWN ? (int)n : SHOWN;
}

int tokenizer_parts_push_added(struct tokenizer *t, const struct added_token *token, struct why *why)
{
    if (token->n > ADDED_MAX_BYTES)
        return why_set(why, EX_DATAERR, "added token '%.*s...' has %zu bytes, at most %d are allowed",
                       tokenizer_parts_shown(token->n), token->content, token->n, ADDED_MAX_BYTES);
    if (token->n == 0)
        return 0;
    size_t good = utf8_check(token->content, token->n); /* else it could end inside a character of a text */
    if (good != token->n)
        return why_set(why, EX_DATAERR,
                       "added token with the id %d is not valid UTF-8 at its byte %zu of %zu", token->id,
                       good, token->n);
    if (t->n_added == ADDED_MAX_TOKENS)
        return why_set(why, EX_DATAERR, "more than %d added tokens", ADDED_MAX_TOKENS);
    if (t->n_added == t->added_capacity) {
        size_t capacity = t->added_capacity ? 2 * t->added_capacity : 64;
        struct added_token *added = mem_resize(t->added, capacity, sizeof *added);
        if (!added)
            return -ENOMEM;
        t->added = added;
        t->added_capacity = capacity;
    }
    t->added[t->n_added++] = *token;
    return 0;
}

/* An added token is a piece with this id and spelling, or becomes one that only its id leads to. */
static int place(struct tokenizer *t, const struct added_token *a, struct why *why)
{
    size_t n;
    const uint8_t *piece = vocab_piece(&t->vocab, a->id, &n);
    if (piece && n == a->n && memcmp(piece, a->content, n) == 0)
        return 0;
    int32_t known = vocab_find(&t->vocab, a->content, a->n);
    if (known != VOCAB_NONE)
        return why_set(why, EX_DATAERR, "added token '%.*s' has the id %d, the vocabulary gives it %d",
                       tokenizer_parts_shown(a->n), a->content, a->id, known);
    int code = vocab_add_hidden(&t->vocab, a->content, a->n, a->id);
    return code <= 0 ? code
                     : why_set(why, EX_DATAERR, "added token '%.*s', id %d: %s", tokenizer_parts_shown(a->n),
                               a->content, a->id, vocab_error(code));
}

int tokenizer_parts_seal_added(struct tokenizer *t, struct why *why)
{
    int code = 0;
    for (size_t i = 0; i < t->n_added && code == 0; i++)
        code = place(t, &t->added[i], why);
    if (code)
        return code;
    t->special = mem_array(t->vocab.n_id, sizeof *t->special);
    if (!t->special)
        return -ENOMEM;
    struct normalize_run run = {0};
    for (size_t i = 0; i < t->n_added && code == 0; i++) {
        const struct added_token *a = &t->added[i];
        const uint8_t *search = (const uint8_t *)a->content;
        size_t n = a->n;
        t->special[a->id] |= a->special;
        if (a->normalized)
            code = normalize_text(&t->normalize, &run, search, n, &search, &n, why);
        if (code == 0 && n)
            code = added_index_push(a->normalized ? &t->normalized : &t->raw, search, n, (uint32_t)i);
    }
    normalize_run_deinit(&run);
    added_index_seal(&t->raw);
    added_index_seal(&t->normalized);
    return code;
}

void tokenizer_parts_add_end(struct tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->n_end; i++)
        if (t->ends[i] == id)
            return;
    if (id != VOCAB_NONE && t->n_end < TOKENIZER_MAX_ENDS)
        t->ends[t->n_end++] = id;
}
