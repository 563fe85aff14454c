/* The decoder: see decode.h. */
#include "config.h"
#include "src/text/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/text/bytelevel.h"

enum { MAX_STRIP = 1024 };

/* ---- reading the component ---- */

static int read_replace(struct decode_step *s, const struct part *part, struct why *why)
{
    const char *what = "decoder Replace";
    bool is_regex;
    int r = part_get_pattern(part, what, &s->string, &s->n_string, &is_regex, why);
    if (r == 0)
        r = part_get_string(part, what, "content", &s->content, &s->n_content, why);
    return r || !is_regex ? r : regex_new(&s->regex, s->string, s->n_string, why);
}

static int read_strip(struct decode_step *s, const struct part *part, struct why *why)
{
    const char *what = "decoder Strip";
    int r = part_get_string(part, what, "content", &s->string, &s->n_string, why);
    if (r == 0)
        r = part_get_count(part, what, "start", MAX_STRIP, &s->n_start, why);
    if (r == 0)
        r = part_get_count(part, what, "stop", MAX_STRIP, &s->n_stop, why);
    if (r == 0 && (s->n_string != 1 || (uint8_t)s->string[0] >= 0x80))
        r = why_set(why, EX_DATAERR, "%s: 'content' is not one ASCII character", what);
    return r;
}

static int read_metaspace(struct decode_step *s, const struct part *part, struct why *why)
{
    return part_get_string(part, "decoder Metaspace", "replacement", &s->string, &s->n_string, why);
}

static int read_nothing(struct decode_step *s, const struct part *part, struct why *why)
{
    (void)s, (void)part, (void)why;
    return 0;
}

static const struct {
    const char *type;
    enum decode_kind kind;
    int (*read)(struct decode_step *s, const struct part *part, struct why *why);
} kinds[] = {
    {"ByteLevel", DECODE_BYTE_LEVEL, read_nothing},
    {"ByteFallback", DECODE_BYTE_FALLBACK, read_nothing},
    {"Replace", DECODE_REPLACE, read_replace},
    {"Fuse", DECODE_FUSE, read_nothing},
    {"Strip", DECODE_STRIP, read_strip},
    {"Metaspace", DECODE_METASPACE, read_metaspace},
};

/* Steps that look at the whole text: after Fuse or ByteLevel, which put it together. Only a Strip at its
 * beginning can be done as text streams out. */
static int add_to_text(struct decode *d, const struct decode_step *s, const char *type, struct why *why)
{
    if (s->kind == DECODE_FUSE)
        return 0;
    if (s->kind != DECODE_STRIP || s->n_stop || d->n_strip || d->drop)
        return why_set(why, EX_DATAERR,
                       "decoder %s is not supported where the text is already put together%s", type,
                       s->kind == DECODE_STRIP ? ", other than once and at its beginning" : "");
    d->strip = s->string[0];
    d->n_strip = s->n_start;
    return 0;
}

/* What add has seen so far. */
struct reading {
    struct decode *decode;
    bool together, bytes;
};

static int add_to_pieces(struct reading *seen, const struct decode_step *s, const struct part *part,
                         struct why *why)
{
    struct decode *d = seen->decode;
    if (s->kind == DECODE_FUSE) {
        seen->together = true;
        return 0;
    }
    if (seen->bytes)
        return why_set(why, EX_DATAERR, "decoder %s between ByteFallback and Fuse is not supported",
                       part_type(part));
    if (s->kind == DECODE_BYTE_LEVEL && d->n_step)
        return why_set(why, EX_DATAERR, "decoder ByteLevel after another one is not supported");
    if (s->kind == DECODE_METASPACE) {
        bool prefix = true;
        int r = 0;
        if (part_get(part, "add_prefix_space"))
            r = part_get_bool(part, "decoder Metaspace", "add_prefix_space", &prefix, why);
        const struct part *scheme = part_get(part, "prepend_scheme");
        if (r == 0 && d->n_step)
            r = why_set(why, EX_DATAERR, "decoder Metaspace after another one is not supported");
        if (r)
            return r;
        if (scheme ? !part_is(scheme, "never") : prefix) {
            d->drop = s->string;
            d->n_drop = s->n_string;
        }
    }
    seen->together = s->kind == DECODE_BYTE_LEVEL;
    seen->bytes = d->lossy_bytes = s->kind == DECODE_BYTE_FALLBACK;
    d->steps[d->n_step++] = *s;
    return 0;
}

static int add(void *arg, const struct part *part, struct why *why)
{
    struct reading *seen = arg;
    struct decode *d = seen->decode;
    const char *type = part_type(part);
    if (d->n_step == DECODE_MAX_STEPS)
        return why_set(why, EX_DATAERR, "more than %d decoders", DECODE_MAX_STEPS);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(type, kinds[i].type) != 0)
            continue;
        struct decode_step s = {.kind = kinds[i].kind};
        int r = kinds[i].read(&s, part, why);
        if (r)
            return r;
        r = seen->together ? add_to_text(d, &s, type, why) : add_to_pieces(seen, &s, part, why);
        if (r)
            regex_free(s.regex);
        return r;
    }
    return why_set(why, EX_DATAERR, "decoder '%s' is not known", type);
}

int decode_init(struct decode *d, const struct part *part, struct why *why)
{
    *d = (struct decode){0};
    struct reading reading = {.decode = d};
    if (!part) {
        d->spaced = true;
        d->strip = ' ';
        d->n_strip = 1;
    }
    return part_each(part, "decoder", "decoders", add, &reading, why);
}

void decode_deinit(struct decode *d)
{
    for (unsigned i = 0; i < d->n_step; i++)
        regex_free(d->steps[i].regex);
    buf_deinit(&d->pool);
    free(d->starts);
    free(d->whole);
    *d = (struct decode){0};
}

/* ---- the bytes of a piece ---- */

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* "<0xXX>" becomes its byte. */
static int byte_fallback(const uint8_t *piece, size_t n, struct buf *out)
{
    if (n == 6 && memcmp(piece, "<0x", 3) == 0 && piece[5] == '>') {
        int high = hex_digit(piece[3]), low = hex_digit(piece[4]);
        if (high >= 0 && low >= 0)
            return buf_push(out, &(uint8_t){(uint8_t)(high << 4 | low)}, 1);
    }
    return buf_push(out, piece, n);
}

/* The scratch of decode_seal. */
struct sealing {
    struct buf text[2];
    struct regex_state *states[DECODE_MAX_STEPS];
    struct why *why;
};

static int replace(const struct decode_step *s, const char *content, size_t n_content, const uint8_t *piece,
                   size_t n, struct buf *out)
{
    const uint8_t *end = piece + n;
    for (;;) {
        const uint8_t *found =
            s->n_string ? memmem(piece, (size_t)(end - piece), s->string, s->n_string) : NULL;
        int r = buf_push(out, piece, (size_t)((found ? found : end) - piece));
        if (r == 0 && found)
            r = buf_push(out, content, n_content);
        if (r || !found)
            return r;
        piece = found + s->n_string;
    }
}

static int strip(const struct decode_step *s, const uint8_t *piece, size_t n, struct buf *out)
{
    for (unsigned i = 0; i < s->n_start && n && piece[0] == (uint8_t)s->string[0]; i++, n--)
        piece++;
    for (unsigned i = 0; i < s->n_stop && n && piece[n - 1] == (uint8_t)s->string[0]; i++)
        n--;
    return buf_push(out, piece, n);
}

static int byte_level(const uint8_t *piece, size_t n, struct buf *out)
{
    int r = buf_reserve(out, n + 1);
    if (r)
        return r;
    size_t n_byte;
    /* A piece that is not all of the alphabet (an added token with a space, say) stands for itself. */
    if (!bytelevel_unspell(piece, n, out->data + out->n, &n_byte))
        return buf_push(out, piece, n);
    out->n += n_byte;
    return 0;
}

static int replace_regex(const struct decode_step *s, struct regex_state *state, const uint8_t *piece,
                         size_t n, struct buf *out, struct why *why)
{
    /* A piece may be no UTF-8: bytes by their pieces' names. Only text is searched. */
    if (utf8_check((const char *)piece, n) != n)
        return buf_push(out, piece, n);
    int r = regex_replace(s->regex, state, piece, n, s->content, s->n_content, out);
    return r == REGEX_E_LIMIT
               ? why_set(why, EX_DATAERR, "the decoder's pattern took more than %d steps on the piece '%.*s'",
                         REGEX_MAX_STEPS, (int)n, (const char *)piece)
               : r;
}

static int apply(const struct decode_step *s, struct regex_state *state, const uint8_t *piece, size_t n,
                 struct buf *out, struct why *why)
{
    switch (s->kind) {
    case DECODE_BYTE_LEVEL:
        return byte_level(piece, n, out);
    case DECODE_BYTE_FALLBACK:
        return byte_fallback(piece, n, out);
    case DECODE_REPLACE:
        return s->regex ? replace_regex(s, state, piece, n, out, why)
                        : replace(s, s->content, s->n_content, piece, n, out);
    case DECODE_METASPACE:
        return replace(s, " ", 1, piece, n, out);
    case DECODE_STRIP:
        return strip(s, piece, n, out);
    default:
        return buf_push(out, piece, n);
    }
}

/* Appends what a piece becomes to the pool. */
static int push_piece(struct decode *d, const uint8_t *piece, size_t n, struct sealing *z)
{
    int r = 0;
    if (d->spaced)
        r = buf_push(&d->pool, " ", 1);
    for (unsigned i = 0; i < d->n_step && r == 0; i++) {
        struct buf *out = i + 1 == d->n_step ? &d->pool : &z->text[i % 2];
        if (out != &d->pool)
            out->n = 0;
        r = apply(&d->steps[i], z->states[i], piece, n, out, z->why);
        piece = out->data;
        n = out->n;
    }
    return r || d->n_step ? r : buf_push(&d->pool, piece, n);
}

int decode_seal(struct decode *d, const struct vocab *vocab, struct why *why)
{
    struct sealing z = {.text = {BUF_NULL, BUF_NULL}, .why = why};
    int r = 0;
    d->n_id = vocab->n_id;
    d->starts = mem_array(d->n_id + 1, sizeof *d->starts);
    d->whole = mem_array(d->n_id, sizeof *d->whole);
    if (!d->starts || !d->whole)
        return -ENOMEM;
    for (unsigned i = 0; i < d->n_step && r == 0; i++) {
        z.states[i] = d->steps[i].regex ? regex_state_new(d->steps[i].regex) : NULL;
        r = d->steps[i].regex && !z.states[i] ? -ENOMEM : 0;
    }
    for (size_t id = 0; id < d->n_id && r == 0; id++) {
        size_t n, start = d->pool.n;
        const uint8_t *piece = vocab_piece(vocab, (int32_t)id, &n);
        if (piece)
            r = push_piece(d, piece, n, &z);
        if (r == 0 && d->pool.n > UINT32_MAX)
            r = why_set(why, EX_DATAERR, "the pieces decode to %zu bytes, at most %u are allowed", d->pool.n,
                        UINT32_MAX);
        d->starts[id + 1] = (uint32_t)d->pool.n;
        n = d->pool.n - start;
        d->whole[id] = r == 0 && n && utf8_check(d->pool.data + start, n) == n;
        if (n > d->longest)
            d->longest = n;
    }
    for (unsigned i = 0; i < d->n_step; i++)
        regex_state_free(z.states[i]);
    buf_deinit(&z.text[0]);
    buf_deinit(&z.text[1]);
    return r;
}
