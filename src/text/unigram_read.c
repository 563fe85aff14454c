/* The Unigram model of tokenizer.json: see unigram_read.h. */
#include "config.h"
#include "src/text/unigram_read.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/text/bpe.h"

enum {
    EXACT_POWER = 22, /* the largest power of ten that is a double */
    MAX_POWER = 308,
    MAX_EXPONENT = 100000, /* beyond all that make a difference */
};

/* 10^e, correctly rounded; e is at most MAX_POWER. */
static double power_of_ten(unsigned e)
{
    char text[16];
    double power = 1;
    if (e > EXACT_POWER) {
        snprintf(text, sizeof text, "1e%u", e);
        return strtod(text, NULL);
    }
    for (unsigned i = 0; i < e; i++)
        power *= 10;
    return power;
}

/* A number as serde_json reads it, which is what the reference does: the digits that fit 64 bits, rounded,
 * then divided or multiplied by a power of ten, and rounded again. Correct rounding would decide some ties
 * differently. */
static double read_number(const char *s, size_t n)
{
    const bool negative = s[0] == '-';
    bool behind_point = false, full = false;
    uint64_t digits = 0;
    long exponent = 0;
    size_t i = negative;
    for (; i < n && s[i] != 'e' && s[i] != 'E'; i++) {
        uint64_t more;
        if (s[i] == '.') {
            behind_point = true;
            continue;
        }
        full = full || __builtin_mul_overflow(digits, UINT64_C(10), &more) ||
               __builtin_add_overflow(more, (uint64_t)(s[i] - '0'), &more);
        if (!full)
            digits = more;
        exponent += full ? !behind_point : -(long)behind_point;
    }
    if (i < n) {
        long given = strtol(s + i + 1, NULL, 10); /* a number never ends the text, so this stops in time */
        exponent += given > MAX_EXPONENT ? MAX_EXPONENT : given < -MAX_EXPONENT ? -MAX_EXPONENT : given;
    }
    double value = (double)digits;
    for (; exponent < -MAX_POWER && value != 0; exponent += MAX_POWER)
        value /= 1e308;
    if (exponent < 0 && value != 0)
        value /= power_of_ten((unsigned)-exponent);
    else if (exponent > 0 && value != 0)
        value = exponent > MAX_POWER ? INFINITY : value * power_of_ten((unsigned)exponent);
    return negative ? -value : value;
}

static int read_entry(struct unigram *u, struct vocab *vocab, struct jsonread *r, size_t id)
{
    if (r->kind != JSONREAD_ARRAY || jsonread_next(r) != JSONREAD_STRING)
        return jsonread_fail(r, "piece %zu is not a pair of a string and a number", id);
    int code = vocab_add(vocab, r->string, r->n_string, (int64_t)id);
    if (code > 0)
        return jsonread_fail(r, "piece %zu: %s", id, vocab_error(code));
    if (code)
        return code;
    jsonread_next(r);
    bool is_number = r->kind == JSONREAD_FLOAT || r->kind == JSONREAD_INT;
    double score = is_number ? read_number(r->string, r->n_string) : 0;
    if (!is_number || !isfinite(score))
        return jsonread_fail(r, "the score of piece %zu is %s", id,
                             is_number ? "not finite" : jsonread_kind_name(r->kind));
    u->scores[id] = score;
    return jsonread_next(r) == JSONREAD_ARRAY_END
               ? 0
               : jsonread_fail(r, "piece %zu is not a pair of a string and a number", id);
}

int unigram_read(struct unigram *u, struct vocab *vocab, struct jsonread *r)
{
    size_t capacity = 0;
    int code = 0;
    for (size_t id = 0; code == 0 && jsonread_next(r) != JSONREAD_ARRAY_END; id++) {
        if (id == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            double *scores = mem_resize(u->scores, capacity, sizeof *scores);
            if (!scores)
                return -ENOMEM;
            u->scores = scores;
        }
        code = read_entry(u, vocab, r, id);
    }
    return code;
}

int unigram_seal(struct unigram *u, const struct vocab *vocab)
{
    int code = 0;
    u->vocab = vocab;
    u->fuse_unk = true;
    u->min_score = DBL_MAX;
    for (size_t id = 0; id < vocab->n_id && code == 0; id++) {
        size_t n;
        const uint8_t *piece = vocab_piece(vocab, (int32_t)id, &n);
        if (u->scores[id] < u->min_score)
            u->min_score = u->scores[id];
        if (n)
            code = trie_add(&u->trie, piece, n, (int32_t)id);
    }
    for (unsigned i = 0; i < 256; i++)
        u->bytes[i] = bpe_byte_piece(vocab, (uint8_t)i);
    return code;
}
