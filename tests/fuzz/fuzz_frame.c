/* Frames from a client: any bytes go through the length prefix, the walk and the decoder of requests, then
 * every value is looked at, and what was refused gets its error frame. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "proto/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile uint64_t sink; /* so that no read is optimized away */

static void touch(const struct msg_value *v)
{
    size_t n;
    const char *s = msg_bytes(v, &n);
    for (size_t i = 0; i < n; i++)
        sink += (uint8_t)s[i];
    sink += (uint64_t)msg_int(v, 0) + msg_uint(v, 0) + msg_bool(v, false) + (msg_float(v, 0) > 0);
    for (size_t i = 0; i < msg_count(v); i++) {
        const char *key = msg_key_at(v, i, &n);
        for (size_t j = 0; j < n; j++)
            sink += (uint8_t)key[j];
        touch(msg_at(v, i));
    }
}

/* A map whose members have rows: those that must be there are. */
static void touch_map(enum proto_message part, const struct msg_value *map)
{
    if (msg_kind(map) != MSG_MAP)
        abort();
    for (enum proto_field field = 0; field < PROTO_N_FIELD; field++) {
        const struct proto_field_row *row = proto_field(field);
        const struct msg_value *v = msg_get(map, row->key);
        if (row->message != part || (!v && row->fallback))
            continue;
        if (!v || (row->type == PROTO_TYPE_STR && msg_kind(v) != MSG_STR))
            abort();
        if (row->type == PROTO_TYPE_ONE)
            touch_map(row->part, v);
        for (size_t i = 0; row->type >= PROTO_TYPE_LIST && i < msg_count(v); i++)
            touch_map(row->part, msg_at(v, i));
    }
}

/* Whatever passed must have the types that the table promises. */
static void touch_fields(const struct request *request)
{
    for (enum proto_field field = 0; field < PROTO_N_FIELD; field++) {
        if (!request_has(request, field))
            continue;
        const struct proto_field_row *row = proto_field(field);
        double bias;
        size_t n_byte;
        if (row->message != request->verb)
            abort();
        if (row->type == PROTO_TYPE_INT &&
            (request_int(request, field, 0) < row->min || request_int(request, field, 0) > row->max))
            abort();
        for (size_t i = 0; row->n_max && i < request_count(request, field); i++) {
            if (row->part != PROTO_N_MESSAGE)
                touch_map(row->part, msg_at(request_value(request, field), i));
            else if (row->type == PROTO_TYPE_BIAS)
                sink += (uint64_t)request_bias_at(request, field, i, &bias);
            else if (row->type == PROTO_TYPE_INTS)
                sink += (uint64_t)request_int_at(request, field, i);
            else if (!request_bytes_at(request, field, i, &n_byte))
                abort();
        }
    }
}

/* An error frame must itself be a good frame. */
static void check_error(const struct request *request)
{
    struct buf buf;
    buf_init(&buf, 0);
    int r = request_error(request, &buf, PROTO_MIN_FRAME);
    struct msg msg = MSG_NULL;
    if (r == MSG_E_TOO_LARGE || (!r && msg_open(&msg, buf.data + FRAME_HEADER, buf.n - FRAME_HEADER, NULL)))
        abort();
    msg_close(&msg);
    buf_deinit(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *body;
    size_t n_body;
    /* A frame, or the rest as a body: mutations seldom keep the length right. */
    if (frame_peek(data, n, PROTO_MAX_FRAME_IN, &body, &n_body)) {
        body = data + (n < FRAME_HEADER ? n : FRAME_HEADER);
        n_body = n - (size_t)(body - data);
    }
    struct request request;
    struct why why = {""};
    int r = request_decode(&request, body, n_body, &why);
    if (r == REQUEST_E_PROTOCOL && !*why.text)
        abort();
    if (request.msg.root)
        touch(request.msg.root);
    touch_fields(&request);
    if (r == REQUEST_E_INVALID)
        check_error(&request);
    request_deinit(&request);
    return 0;
}
