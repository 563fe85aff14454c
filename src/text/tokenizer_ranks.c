/* A list of ranks becomes a tokenizer: see tokenizer_ranks.h. Pattern and special tokens are those of Meta's
 * llama3/tokenizer.py. */
#include "config.h"
#include "src/text/tokenizer_ranks.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/text/base64.h"
#include "src/text/bytelevel.h"
#include "src/text/recipe.h"
#include "src/text/sp_merges.h"
#include "src/text/tokenizer_parts.h"

enum {
    MAX_CODE = 1024, /* characters of base64; Llama-3's longest piece has 128 bytes */
    MAX_PIECE = MAX_CODE / 4 * 3 + 3,
    MAX_DIGITS = 7, /* of a rank */
    N_SPECIAL = 256,
};

struct line {
    uint8_t bytes[MAX_PIECE];
    size_t n_byte;
    int64_t rank;
};

/* Reads one line of n bytes: false where it is none of such a list. */
static bool parse(const uint8_t *s, size_t n, struct line *ret)
{
    const uint8_t *space = n ? memchr(s, ' ', n) : NULL; /* an empty file has no bytes to point to */
    size_t n_code = space ? (size_t)(space - s) : 0, at = n_code + 1;
    if (n_code == 0 || n_code > MAX_CODE || n - at > MAX_DIGITS || at == n ||
        !base64_decode((const char *)s, n_code, ret->bytes, &ret->n_byte))
        return false;
    for (ret->rank = 0; at < n && s[at] >= '0' && s[at] <= '9'; at++)
        ret->rank = 10 * ret->rank + (s[at] - '0');
    return at == n;
}

/* The next line: where it ends, without the line end. */
static size_t line_length(const uint8_t *s, size_t n)
{
    const uint8_t *end = memchr(s, '\n', n);
    return end ? (size_t)(end - s) : n;
}

bool tokenizer_ranks_is(const void *data, size_t n)
{
    struct line line;
    size_t length = n ? line_length(data, n) : 0;
    return parse(data, length, &line);
}

static int read_lines(struct tokenizer *t, const uint8_t *s, size_t n, struct why *why)
{
    struct line line;
    size_t number = 1;
    for (size_t at = 0, length; at < n; at += length + 1, number++) {
        uint8_t spelling[2 * MAX_PIECE];
        length = line_length(s + at, n - at);
        if (length == 0)
            continue;
        if (!parse(s + at, length, &line))
            return why_set(why, EX_DATAERR, "line %zu is not a piece in base64 and its rank", number);
        size_t n_spelling = bytelevel_spell(line.bytes, line.n_byte, spelling);
        int code = vocab_add(&t->vocab, spelling, n_spelling, line.rank);
        if (code > 0)
            return why_set(why, EX_DATAERR, "line %zu, rank %lld: %s", number, (long long)line.rank,
                           vocab_error(code));
        if (code)
            return code;
    }
    if (t->vocab.n_piece != TOKENIZER_RANKS_LLAMA3 || t->vocab.n_id != TOKENIZER_RANKS_LLAMA3)
        return why_set(
            why, EX_DATAERR,
            "a list of %zu ranks up to %zu; only Llama-3's is known, which has %d: how text is cut "
            "into words does not stand in such a file",
            t->vocab.n_piece, t->vocab.n_id - 1, TOKENIZER_RANKS_LLAMA3);
    return 0;
}

/* The piece with the lowest rank is made first, from whatever two pieces are there. */
static int set_bpe(struct tokenizer *t)
{
    float *scores = mem_array(t->vocab.n_id, sizeof *scores);
    struct sp_merges merges = {.vocab = &t->vocab, .scores = scores};
    if (!scores)
        return -ENOMEM;
    for (size_t i = 0; i < t->vocab.n_id; i++)
        scores[i] = -(float)i;
    int r = sp_merges_find(&merges);
    t->bpe.vocab = &t->vocab;
    t->bpe.byte_level = t->bpe.ignore_merges = true;
    t->bpe.unk = VOCAB_NONE;
    if (r == 0)
        r = bpe_seal(&t->bpe, merges.list, merges.n);
    sp_merges_deinit(&merges);
    free(scores);
    return r;
}

static int add_special(struct tokenizer *t, struct why *why)
{
    static const char *const names[] = {
        [0] = "begin_of_text", [1] = "end_of_text", [6] = "start_header_id",
        [7] = "end_header_id", [9] = "eot_id",
    };
    int r = 0;
    for (int i = 0, n_reserved = 0; i < N_SPECIAL && r == 0; i++) {
        char name[64];
        if (i < (int)(sizeof names / sizeof names[0]) && names[i])
            snprintf(name, sizeof name, "<|%s|>", names[i]);
        else
            snprintf(name, sizeof name, "<|reserved_special_token_%d|>", n_reserved++);
        struct added_token token = {.content = arena_strdup(&t->arena, name),
                                    .n = strlen(name),
                                    .id = TOKENIZER_RANKS_LLAMA3 + i,
                                    .special = true};
        r = token.content ? tokenizer_parts_push_added(t, &token, why) : -ENOMEM;
    }
    t->post.before[t->post.n_before++] = TOKENIZER_RANKS_LLAMA3;
    tokenizer_parts_add_end(t, TOKENIZER_RANKS_LLAMA3 + 1);
    tokenizer_parts_add_end(t, TOKENIZER_RANKS_LLAMA3 + 9);
    return r;
}

int tokenizer_ranks_read(struct tokenizer *t, const void *data, size_t n, struct why *why)
{
    if (n > TOKENIZER_RANKS_MAX_BYTES)
        return why_set(why, EX_DATAERR, "%zu bytes, at most %d are allowed", n, TOKENIZER_RANKS_MAX_BYTES);
    int r = read_lines(t, data, n, why);
    if (r == 0)
        r = set_bpe(t);
    if (r == 0)
        r = recipe_apply(t, recipe_find("llama-bpe", 9), why);
    if (r == 0)
        r = add_special(t, why);
    if (r == 0)
        r = tokenizer_parts_seal_added(t, why);
    return r ? r : decode_seal(&t->decode, &t->vocab, why);
}
