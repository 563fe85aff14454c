/* Values and frames through msgpack-c: see msg.h. */
#include "config.h"
#include "proto/msg.h"

#include <assert.h>
#include <errno.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

/* A msg_value is a msgpack_object by another name. */
static const msgpack_object *object(const struct msg_value *v)
{
    return (const msgpack_object *)v;
}

static const struct msg_value *value(const msgpack_object *o)
{
    return (const struct msg_value *)o;
}

int msg_open(struct msg *ret_msg, const uint8_t *body, size_t n, struct why *why)
{
    if (wire_check(body, n, why))
        return MSG_E_MALFORMED;
    msgpack_unpacked *unpacked = malloc(sizeof *unpacked);
    if (!unpacked)
        return -ENOMEM;
    msgpack_unpacked_init(unpacked);
    size_t off = 0;
    msgpack_unpack_return r = msgpack_unpack_next(unpacked, (const char *)body, n, &off);
    if (r != MSGPACK_UNPACK_SUCCESS || off != n) {
        msgpack_unpacked_destroy(unpacked);
        free(unpacked);
        if (r == MSGPACK_UNPACK_NOMEM_ERROR)
            return -ENOMEM;
        return why_set(why, MSG_E_MALFORMED, "byte %zu: cannot be decoded", off);
    }
    ret_msg->owner = unpacked;
    ret_msg->root = value(&unpacked->data);
    return 0;
}

void msg_close(struct msg *msg)
{
    if (msg->owner) {
        msgpack_unpacked_destroy(msg->owner);
        free(msg->owner);
    }
    *msg = (struct msg)MSG_NULL;
}

enum msg_kind msg_kind(const struct msg_value *v)
{
    if (!v)
        return MSG_NONE;
    switch (object(v)->type) {
    case MSGPACK_OBJECT_NIL:
        return MSG_NIL;
    case MSGPACK_OBJECT_BOOLEAN:
        return MSG_BOOL;
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return object(v)->via.u64 > INT64_MAX ? MSG_UINT : MSG_INT;
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return MSG_INT;
    case MSGPACK_OBJECT_FLOAT32:
        return MSG_FLOAT32;
    case MSGPACK_OBJECT_FLOAT64:
        return MSG_FLOAT64;
    case MSGPACK_OBJECT_STR:
        return MSG_STR;
    case MSGPACK_OBJECT_BIN:
        return MSG_BIN;
    case MSGPACK_OBJECT_ARRAY:
        return MSG_ARRAY;
    case MSGPACK_OBJECT_MAP:
        return MSG_MAP;
    case MSGPACK_OBJECT_EXT: /* refused by wire_check */
        break;
    }
    return MSG_NONE;
}

const struct msg_value *msg_get(const struct msg_value *map, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; msg_kind(map) == MSG_MAP && i < object(map)->via.map.size; i++) {
        const msgpack_object_kv *pair = &object(map)->via.map.ptr[i];
        if (pair->key.via.str.size == n && !memcmp(pair->key.via.str.ptr, key, n))
            return value(&pair->val);
    }
    return NULL;
}

size_t msg_count(const struct msg_value *container)
{
    switch (msg_kind(container)) {
    case MSG_ARRAY:
        return object(container)->via.array.size;
    case MSG_MAP:
        return object(container)->via.map.size;
    default:
        return 0;
    }
}

const struct msg_value *msg_at(const struct msg_value *container, size_t i)
{
    if (i >= msg_count(container))
        return NULL;
    if (msg_kind(container) == MSG_MAP)
        return value(&object(container)->via.map.ptr[i].val);
    return value(&object(container)->via.array.ptr[i]);
}

const char *msg_key_at(const struct msg_value *map, size_t i, size_t *ret_n)
{
    *ret_n = 0;
    if (msg_kind(map) != MSG_MAP || i >= msg_count(map))
        return NULL;
    const msgpack_object *key = &object(map)->via.map.ptr[i].key;
    *ret_n = key->via.str.size;
    return key->via.str.ptr;
}

bool msg_bool(const struct msg_value *v, bool fallback)
{
    return msg_kind(v) == MSG_BOOL ? object(v)->via.boolean : fallback;
}

int64_t msg_int(const struct msg_value *v, int64_t fallback)
{
    return msg_kind(v) == MSG_INT ? object(v)->via.i64 : fallback;
}

uint64_t msg_uint(const struct msg_value *v, uint64_t fallback)
{
    if (msg_kind(v) == MSG_UINT || (msg_kind(v) == MSG_INT && object(v)->via.i64 >= 0))
        return object(v)->via.u64;
    return fallback;
}

double msg_float(const struct msg_value *v, double fallback)
{
    switch (msg_kind(v)) {
    case MSG_INT:
        return (double)object(v)->via.i64;
    case MSG_UINT:
        return (double)object(v)->via.u64;
    case MSG_FLOAT32:
    case MSG_FLOAT64:
        return object(v)->via.f64;
    default:
        return fallback;
    }
}

const char *msg_bytes(const struct msg_value *v, size_t *ret_n)
{
    enum msg_kind kind = msg_kind(v);
    *ret_n = 0;
    if (kind != MSG_STR && kind != MSG_BIN)
        return NULL;
    *ret_n = kind == MSG_STR ? object(v)->via.str.size : object(v)->via.bin.size;
    return kind == MSG_STR ? object(v)->via.str.ptr : object(v)->via.bin.ptr;
}

bool msg_is(const struct msg_value *v, const char *text)
{
    return msg_kind(v) == MSG_STR && object(v)->via.str.size == strlen(text) &&
           !memcmp(object(v)->via.str.ptr, text, strlen(text));
}

/* Writing. Counts are not known before a part is closed: one byte is kept for the smallest head, and what
 * follows moves up in the rare case that it does not do. */

static int fail(struct msg_out *out, int r)
{
    if (!out->r)
        out->r = r;
    return -1;
}

/* What msgpack-c calls with the bytes it made. */
static int write_bytes(void *ctx, const char *data, size_t n)
{
    struct msg_out *out = ctx;
    if (out->r)
        return -1;
    size_t body = out->buf->n - out->begin - FRAME_HEADER;
    if (n > out->max || body > out->max - n)
        return fail(out, MSG_E_TOO_LARGE);
    int r = buf_push(out->buf, data, n);
    return r ? fail(out, r == BUF_E_FULL ? MSG_E_TOO_LARGE : r) : 0;
}

static msgpack_packer packer(struct msg_out *out)
{
    return (msgpack_packer){.data = out, .callback = write_bytes};
}

static void pack_text(struct msg_out *out, const char *s, size_t n)
{
    msgpack_packer pk = packer(out);
    msgpack_pack_str_with_body(&pk, s, n);
}

/* Counts the value that follows in the part that is open, and writes its key. */
static void begin_value(struct msg_out *out, enum proto_field field)
{
    if (out->is_named) {
        assert(field == PROTO_ELEMENT);
        out->is_named = false;
        return;
    }
    assert(out->depth > 0 && out->open[out->depth - 1].is_map == (field != PROTO_ELEMENT));
    out->open[out->depth - 1].n++;
    if (field != PROTO_ELEMENT)
        pack_text(out, proto_field(field)->key, strlen(proto_field(field)->key));
}

static void open_part(struct msg_out *out, bool is_map)
{
    assert(out->depth < MSG_MAX_OPEN);
    out->open[out->depth].at = out->buf->n;
    out->open[out->depth].n = 0;
    out->open[out->depth++].is_map = is_map;
    write_bytes(out, "", 1);
}

void msg_begin(struct msg_out *out, struct buf *buf, enum proto_message message, size_t max)
{
    *out = (struct msg_out){.buf = buf, .begin = buf->n, .max = max};
    int r = frame_begin(buf, &out->begin);
    if (r)
        fail(out, r == BUF_E_FULL ? MSG_E_TOO_LARGE : r);
    open_part(out, true);
    out->open[0].n = 1;
    pack_text(out, "type", 4);
    pack_text(out, proto_message(message)->name, strlen(proto_message(message)->name));
}

int msg_end(struct msg_out *out)
{
    assert(out->depth == 1);
    msg_close_part(out);
    if (out->r)
        out->buf->n = out->begin;
    else
        frame_end(out->buf, out->begin);
    return out->r;
}

void msg_key(struct msg_out *out, const char *key, size_t n)
{
    assert(out->depth > 0 && out->open[out->depth - 1].is_map && !out->is_named);
    out->open[out->depth - 1].n++;
    pack_text(out, key, n);
    out->is_named = true;
}

void msg_map(struct msg_out *out, enum proto_field field)
{
    begin_value(out, field);
    open_part(out, true);
}

void msg_array(struct msg_out *out, enum proto_field field)
{
    begin_value(out, field);
    open_part(out, false);
}

void msg_close_part(struct msg_out *out)
{
    assert(out->depth > 0);
    out->depth--;
    size_t at = out->open[out->depth].at;
    uint32_t n = out->open[out->depth].n;
    bool is_map = out->open[out->depth].is_map;
    if (out->r)
        return;
    if (n < 16) {
        out->buf->data[at] = (uint8_t)((is_map ? 0x80 : 0x90) | n);
        return;
    }
    int n_byte = n <= UINT16_MAX ? 2 : 4;
    size_t content = out->buf->n - at - 1;
    if (write_bytes(out, "\0\0\0\0", (size_t)n_byte))
        return;
    uint8_t *head = out->buf->data + at;
    memmove(head + 1 + n_byte, head + 1, content);
    *head++ = (uint8_t)((is_map ? 0xde : 0xdc) + (n_byte == 4));
    for (int i = n_byte - 1; i >= 0; i--)
        *head++ = (uint8_t)(n >> (8 * i));
}

void msg_put_nil(struct msg_out *out, enum proto_field field)
{
    begin_value(out, field);
    msgpack_packer pk = packer(out);
    msgpack_pack_nil(&pk);
}

void msg_put_bool(struct msg_out *out, enum proto_field field, bool v)
{
    begin_value(out, field);
    msgpack_packer pk = packer(out);
    if (v)
        msgpack_pack_true(&pk);
    else
        msgpack_pack_false(&pk);
}

void msg_put_int(struct msg_out *out, enum proto_field field, int64_t v)
{
    begin_value(out, field);
    msgpack_packer pk = packer(out);
    msgpack_pack_int64(&pk, v);
}

void msg_put_uint(struct msg_out *out, enum proto_field field, uint64_t v)
{
    begin_value(out, field);
    msgpack_packer pk = packer(out);
    msgpack_pack_uint64(&pk, v);
}

void msg_put_float(struct msg_out *out, enum proto_field field, float v)
{
    begin_value(out, field);
    msgpack_packer pk = packer(out);
    msgpack_pack_float(&pk, v);
}

void msg_put_double(struct msg_out *out, enum proto_field field, double v)
{
    begin_value(out, field);
    msgpack_packer pk = packer(out);
    msgpack_pack_double(&pk, v);
}

void msg_put_str(struct msg_out *out, enum proto_field field, const char *s)
{
    msg_put_text(out, field, s, strlen(s));
}

void msg_put_text(struct msg_out *out, enum proto_field field, const char *s, size_t n)
{
    begin_value(out, field);
    pack_text(out, s, n);
}

void msg_put_bin(struct msg_out *out, enum proto_field field, const void *data, size_t n)
{
    begin_value(out, field);
    msgpack_packer pk = packer(out);
    msgpack_pack_bin_with_body(&pk, data, n);
}

void msg_put_ints(struct msg_out *out, enum proto_field field, const int32_t *v, size_t n)
{
    begin_value(out, field);
    msgpack_packer pk = packer(out);
    msgpack_pack_array(&pk, n);
    for (size_t i = 0; i < n; i++)
        msgpack_pack_int32(&pk, v[i]);
}

void msg_put_floats(struct msg_out *out, enum proto_field field, const float *v, size_t n)
{
    begin_value(out, field);
    msgpack_packer pk = packer(out);
    msgpack_pack_array(&pk, n);
    for (size_t i = 0; i < n; i++)
        msgpack_pack_float(&pk, v[i]);
}

void msg_put_error(struct msg_out *out, enum proto_error error, const char *message)
{
    const struct proto_error_row *row = proto_error(error);
    msg_put_str(out, PROTO_ERROR_CODE, row->code);
    msg_put_str(out, PROTO_ERROR_ERROR_TYPE, row->error_type);
    msg_put_int(out, PROTO_ERROR_STATUS, row->status);
    msg_put_str(out, PROTO_ERROR_MESSAGE, message);
    msg_put_bool(out, PROTO_ERROR_RETRYABLE, row->retryable);
}
