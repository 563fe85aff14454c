/* Ids to text as they come: see detok.h. */
#include "config.h"
#include "src/text/detok.h"

#include <string.h>

#include "src/base/utf8.h"
#include "src/text/tokenizer_parts.h"

static const char replacement[] = "\xef\xbf\xbd";

/* Where text goes; without a place it is only decoded (the prompt's). */
struct sink {
    char *out;
    size_t n;
};

static void put(struct sink *s, const void *text, size_t n)
{
    if (s->out)
        memcpy(s->out + s->n, text, n);
    s->n += n;
}

/* n bytes that belong to no character. */
static void put_invalid(const struct detok *d, struct sink *s, unsigned n)
{
    unsigned times = d->tokenizer->decode.lossy_bytes ? n : 1;
    for (unsigned i = 0; i < times; i++)
        put(s, replacement, sizeof replacement - 1);
}

/* Takes a byte to those held back, and lets go of what is decided then. */
static void push_byte(struct detok *d, struct sink *s, uint8_t byte)
{
    d->held[d->n_held++] = byte;
    int step = utf8_step(d->held, d->n_held);
    if (step > 0) {
        put(s, d->held, d->n_held);
        d->n_held = 0;
    } else if (step < 0 && d->n_held == 1) {
        put_invalid(d, s, 1);
        d->n_held = 0;
    } else if (step < 0) {
        /* The bytes before this one can never be completed; this one may begin something. */
        put_invalid(d, s, d->n_held - 1);
        d->n_held = 0;
        push_byte(d, s, byte);
    }
}

static void push_bytes(struct detok *d, struct sink *s, const uint8_t *bytes, size_t n, bool whole)
{
    const struct decode *decode = &d->tokenizer->decode;
    while (d->n_strip && n) {
        if (bytes[0] != (uint8_t)decode->strip) {
            d->n_strip = 0;
            break;
        }
        d->n_strip--;
        bytes++;
        n--;
    }
    if (whole && d->n_held == 0) {
        put(s, bytes, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        push_byte(d, s, bytes[i]);
}

/* The first piece of a Metaspace text: without any of its space marks. */
static void push_first(struct detok *d, struct sink *s, int32_t id)
{
    const struct decode *decode = &d->tokenizer->decode;
    size_t n;
    const uint8_t *piece = vocab_piece(&d->tokenizer->vocab, id, &n);
    while (n) {
        const uint8_t *found = memmem(piece, n, decode->drop, decode->n_drop);
        size_t length = found ? (size_t)(found - piece) : n;
        size_t pass = found ? length + decode->n_drop : n;
        push_bytes(d, s, piece, length, true);
        piece += pass;
        n -= pass;
    }
}

static void push(struct detok *d, struct sink *s, int32_t id)
{
    const struct decode *decode = &d->tokenizer->decode;
    size_t n;
    const uint8_t *bytes = decode_bytes(decode, id, &n);
    if (!bytes || (!d->special && tokenizer_is_special(d->tokenizer, id)))
        return;
    if (d->at_start && decode->drop)
        push_first(d, s, id);
    else
        push_bytes(d, s, bytes, n, decode->whole[id]);
    d->at_start = false;
}

void detok_start(struct detok *d, const struct tokenizer *t, bool special, const int32_t *prompt,
                 size_t n_prompt)
{
    struct sink nowhere = {0};
    *d = (struct detok){.tokenizer = t, .special = special, .at_start = true, .n_strip = t->decode.n_strip};
    for (size_t i = 0; i < n_prompt; i++)
        push(d, &nowhere, prompt[i]);
}

size_t detok_max_out(const struct tokenizer *t)
{
    size_t longest = t->decode.longest > t->vocab.longest ? t->decode.longest : t->vocab.longest;
    return (longest + DETOK_MAX_HELD) * (sizeof replacement - 1);
}

size_t detok_push(struct detok *d, int32_t id, char *out)
{
    struct sink s = {.out = out};
    push(d, &s, id);
    return s.n;
}

size_t detok_finish(struct detok *d, char *out)
{
    struct sink s = {.out = out};
    if (d->n_held)
        put_invalid(d, &s, d->n_held);
    d->n_held = 0;
    return s.n;
}
