/* SentencePiece's tokenizer.model: see sp_model.h. */
#include "config.h"
#include "src/text/sp_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/mem.h"
#include "src/text/vocab.h"

/* Wire types of protocol buffers. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct field {
    uint32_t number, wire;
    uint64_t integer;        /* VARINT, FIXED32, FIXED64 */
    struct sp_string string; /* BYTES */
};

/* A message that is being read; `at` counts from the file's first byte. */
struct reader {
    struct sp_model *model;
    const uint8_t *data;
    size_t at, end;
    struct why *why;
};

static int fail(const struct reader *r, const char *what)
{
    return why_set(r->why, EX_DATAERR, "at byte %zu: %s", r->at, what);
}

static int read_varint(struct reader *r, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end)
            return fail(r, "the message ends inside a number");
        uint8_t byte = r->data[r->at++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return 0;
        }
    }
    return fail(r, "a number of more than ten bytes");
}

static int read_fixed(struct reader *r, unsigned n, uint64_t *ret)
{
    if (r->end - r->at < n)
        return fail(r, "the message ends inside a number");
    *ret = 0;
    for (unsigned i = 0; i < n; i++)
        *ret |= (uint64_t)r->data[r->at++] << 8 * i;
    return 0;
}

static int read_field(struct reader *r, struct field *f)
{
    uint64_t tag = 0;
    int code = read_varint(r, &tag);
    if (code)
        return code;
    *f = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
    if (tag >> 3 == 0 || tag >> 3 >= 1 << 29)
        return fail(r, "a field of an impossible number: this is no SentencePiece model");
    if (f->wire == VARINT)
        return read_varint(r, &f->integer);
    if (f->wire == FIXED32 || f->wire == FIXED64)
        return read_fixed(r, f->wire == FIXED32 ? 4 : 8, &f->integer);
    if (f->wire != BYTES)
        return fail(r, "a field of an unknown kind: this is no SentencePiece model");
    code = read_varint(r, &f->integer);
    if (code == 0 && f->integer > r->end - r->at)
        return why_set(r->why, EX_DATAERR, "at byte %zu: a string of %llu bytes, %zu are left", r->at,
                       (unsigned long long)f->integer, r->end - r->at);
    if (code)
        return code;
    f->string = (struct sp_string){(const char *)r->data + r->at, (size_t)f->integer};
    r->at += f->string.n;
    return 0;
}

typedef int (*field_fn)(struct reader *r, const struct field *f, void *arg);

/* Hands out the fields of the message in a BYTES field. */
static int read_message(struct reader *r, const struct field *in, field_fn on_field, void *arg)
{
    struct reader inner = *r;
    int code = in->wire == BYTES ? 0 : fail(r, "a number where a message must be");
    if (code)
        return code;
    inner.end = r->at;
    inner.at = r->at - in->string.n;
    while (code == 0 && inner.at < inner.end) {
        struct field f;
        code = read_field(&inner, &f);
        if (code == 0)
            code = on_field(&inner, &f, arg);
    }
    return code;
}

static int need(const struct reader *r, const struct field *f, unsigned wire, const char *name)
{
    return f->wire == wire
               ? 0
               : why_set(r->why, EX_DATAERR, "at byte %zu: '%s' is of the wrong kind", r->at, name);
}

static int read_string(const struct reader *r, const struct field *f, const char *name, struct sp_string *ret)
{
    int code = need(r, f, BYTES, name);
    if (code == 0)
        *ret = f->string;
    return code;
}

static int read_flag(const struct reader *r, const struct field *f, const char *name, bool *ret)
{
    int code = need(r, f, VARINT, name);
    if (code == 0)
        *ret = f->integer != 0;
    return code;
}

/* ---- the messages ---- */

static int on_piece(struct reader *r, const struct field *f, void *arg)
{
    struct sp_piece *piece = arg;
    int code = 0;
    switch (f->number) {
    case 1:
        return read_string(r, f, "piece", &piece->text);
    case 2:
        code = need(r, f, FIXED32, "score");
        if (code == 0)
            memcpy(&piece->score, &(uint32_t){(uint32_t)f->integer}, sizeof piece->score);
        return code;
    case 3:
        code = need(r, f, VARINT, "type");
        if (code == 0 && (f->integer < SP_NORMAL || f->integer > SP_BYTE))
            code = why_set(r->why, EX_DATAERR, "piece %zu has type %llu, which is not known",
                           r->model->n_piece, (unsigned long long)f->integer);
        piece->type = (enum sp_type)f->integer;
        return code;
    default:
        return 0;
    }
}

static int on_trainer(struct reader *r, const struct field *f, void *arg)
{
    struct sp_model *m = arg;
    int code;
    switch (f->number) {
    case 3:
        code = need(r, f, VARINT, "model_type");
        m->algorithm = f->integer <= SP_CHAR ? (enum sp_algorithm)f->integer : 0;
        return code;
    case 24:
        return read_flag(r, f, "treat_whitespace_as_suffix", &m->whitespace_as_suffix);
    case 35:
        return read_flag(r, f, "byte_fallback", &m->byte_fallback);
    case 46:
        return read_string(r, f, "bos_piece", &m->bos);
    case 47:
        return read_string(r, f, "eos_piece", &m->eos);
    default:
        return 0;
    }
}

static int on_normalizer(struct reader *r, const struct field *f, void *arg)
{
    struct sp_model *m = arg;
    switch (f->number) {
    case 2:
        return read_string(r, f, "precompiled_charsmap", &m->charsmap);
    case 3:
        return read_flag(r, f, "add_dummy_prefix", &m->add_dummy_prefix);
    case 4:
        return read_flag(r, f, "remove_extra_whitespaces", &m->remove_extra_whitespaces);
    case 5:
        return read_flag(r, f, "escape_whitespaces", &m->escape_whitespaces);
    default:
        return 0;
    }
}

static int on_denormalizer(struct reader *r, const struct field *f, void *arg)
{
    (void)arg;
    return f->number == 2 && f->wire == BYTES && f->string.n ? fail(r, "a denormalizer is not supported") : 0;
}

static int on_model(struct reader *r, const struct field *f)
{
    struct sp_piece piece = {.type = SP_NORMAL};
    int code;
    switch (f->number) {
    case 1:
        code = read_message(r, f, on_piece, &piece);
        return code ? code : sp_model_push(r->model, &piece, r->why);
    case 2:
        return read_message(r, f, on_trainer, r->model);
    case 3:
        return read_message(r, f, on_normalizer, r->model);
    case 5:
        return read_message(r, f, on_denormalizer, NULL);
    default:
        return 0;
    }
}

int sp_model_push(struct sp_model *m, const struct sp_piece *piece, struct why *why)
{
    if (m->n_piece == VOCAB_MAX_IDS)
        return why_set(why, EX_DATAERR, "more than %d pieces", VOCAB_MAX_IDS);
    if (m->n_piece == m->capacity) {
        size_t capacity = m->capacity ? 2 * m->capacity : 1024;
        struct sp_piece *pieces = mem_resize(m->pieces, capacity, sizeof *pieces);
        if (!pieces)
            return -ENOMEM;
        m->pieces = pieces;
        m->capacity = capacity;
    }
    m->pieces[m->n_piece++] = *piece;
    return 0;
}

int sp_model_read(struct sp_model *m, const void *data, size_t n, struct why *why)
{
    struct reader r = {.model = m, .data = data, .end = n, .why = why};
    int code = n > SP_MODEL_MAX_BYTES
                   ? why_set(why, EX_DATAERR, "%zu bytes, at most %d are allowed", n, SP_MODEL_MAX_BYTES)
                   : 0;
    while (code == 0 && r.at < r.end) {
        struct field f;
        code = read_field(&r, &f);
        if (code == 0)
            code = on_model(&r, &f);
    }
    if (code == 0 && m->n_piece == 0)
        code = why_set(why, EX_DATAERR, "a SentencePiece model without pieces");
    return code;
}

void sp_model_deinit(struct sp_model *m)
{
    free(m->pieces);
    *m = (struct sp_model)SP_MODEL_NULL;
}
