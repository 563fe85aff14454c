/* Messages as msgpack: values out of a frame's body, and a writer for frames. The only user of msgpack-c.
 *
 * Reading: msg_open checks the bytes (wire.h) before msgpack-c sees them. Values and strings are valid until
 * msg_close and as long as the bytes, which are not copied. All readers take a NULL or a value of another
 * kind and give the fallback, so that a reply can be picked apart without checks at every step.
 *
 * Writing:
 *     struct msg_out out;
 *     msg_begin(&out, queue, PROTO_DONE, max);     the frame's header and `type`
 *     msg_put_int(&out, PROTO_DONE_ID, id);
 *     msg_map(&out, PROTO_DONE_USAGE);
 *     msg_put_int(&out, PROTO_USAGE_PROMPT_TOKENS, n);
 *     msg_close_part(&out);
 *     r = msg_end(&out);                           0, or nothing was written at all
 * A field may be given as PROTO_ELEMENT inside an array. Encodings are the shortest, keys in the order of the
 * calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/proto.h"
#include "src/base/buf.h"
#include "src/base/err.h"

/* Reading. */

enum { MSG_E_MALFORMED = 1 };

enum msg_kind {
    MSG_NONE, /* no value */
    MSG_NIL,
    MSG_BOOL,
    MSG_INT,
    MSG_UINT, /* above INT64_MAX: only `seed` */
    MSG_FLOAT32,
    MSG_FLOAT64,
    MSG_STR,
    MSG_BIN,
    MSG_ARRAY,
    MSG_MAP,
};

struct msg_value; /* inside an opened message */

struct msg {
    const struct msg_value *root; /* a map */
    void *owner;
};

#define MSG_NULL \
    {            \
        0        \
    }

/* Opens the n bytes of a frame's body. 0, MSG_E_MALFORMED with a sentence, -ENOMEM. Memory: at most about 50
 * bytes for each element the frame really has. */
int msg_open(struct msg *ret_msg, const uint8_t *body, size_t n, struct why *why);
void msg_close(struct msg *msg);

enum msg_kind msg_kind(const struct msg_value *v);
const struct msg_value *msg_get(const struct msg_value *map, const char *key); /* NULL: no such key */
size_t msg_count(const struct msg_value *container);                           /* elements, or pairs */
/* The i-th element of an array, the i-th value of a map. */
const struct msg_value *msg_at(const struct msg_value *container, size_t i);
const char *msg_key_at(const struct msg_value *map, size_t i, size_t *ret_n); /* not terminated; NULL */

bool msg_bool(const struct msg_value *v, bool fallback);
int64_t msg_int(const struct msg_value *v, int64_t fallback);
uint64_t msg_uint(const struct msg_value *v, uint64_t fallback); /* of an integer that is not negative */
double msg_float(const struct msg_value *v, double fallback);    /* of a float or an integer */
const char *msg_bytes(const struct msg_value *v, size_t *ret_n); /* str or bin, not terminated; NULL, 0 */
bool msg_is(const struct msg_value *v, const char *text);        /* a str that equals text */

/* Writing. */

enum { MSG_E_TOO_LARGE = 1 };

enum { MSG_MAX_OPEN = 8 }; /* maps and arrays open at once */

struct msg_out {
    struct buf *buf;
    size_t begin, max;
    int r;         /* the first failure; later calls do nothing */
    bool is_named; /* msg_key has written the key of the next value */
    int depth;
    struct {
        size_t at; /* of the header byte */
        uint32_t n;
        bool is_map;
    } open[MSG_MAX_OPEN];
};

/* Begins a frame at the end of buf: its length, its map, its `type`. max: bytes the body may have. */
void msg_begin(struct msg_out *out, struct buf *buf, enum proto_message message, size_t max);
/* Fills in the lengths. 0; MSG_E_TOO_LARGE (longer than max, or than buf's cap), -ENOMEM: buf is as it was
 * before msg_begin. */
int msg_end(struct msg_out *out);

void msg_put_nil(struct msg_out *out, enum proto_field field);
void msg_put_bool(struct msg_out *out, enum proto_field field, bool v);
void msg_put_int(struct msg_out *out, enum proto_field field, int64_t v);
void msg_put_uint(struct msg_out *out, enum proto_field field, uint64_t v);
void msg_put_float(struct msg_out *out, enum proto_field field, float v);     /* 32 bits on the wire */
void msg_put_double(struct msg_out *out, enum proto_field field, double v);   /* 64 bits */
void msg_put_str(struct msg_out *out, enum proto_field field, const char *s); /* terminated, UTF-8 */
void msg_put_text(struct msg_out *out, enum proto_field field, const char *s, size_t n); /* UTF-8 */
void msg_put_bin(struct msg_out *out, enum proto_field field, const void *data, size_t n);
void msg_put_ints(struct msg_out *out, enum proto_field field, const int32_t *v, size_t n);
void msg_put_floats(struct msg_out *out, enum proto_field field, const float *v, size_t n);
void msg_map(struct msg_out *out, enum proto_field field);   /* until msg_close_part */
void msg_array(struct msg_out *out, enum proto_field field); /* until msg_close_part */
void msg_close_part(struct msg_out *out);
/* The key of the next value where no table names it; the value is then put as PROTO_ELEMENT. */
void msg_key(struct msg_out *out, const char *key, size_t n);
/* The fields of an error frame that its row knows (code, error_type, status, retryable), and the message. */
void msg_put_error(struct msg_out *out, enum proto_error error, const char *message);
