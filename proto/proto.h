/* The protocol as tables: messages, fields, errors, limits. lorch-protocol(7) is their description.
 *
 * Built from verbs.def, fields.def and errors.def; the rows are read through the functions below. Nothing
 * here knows msgpack or sockets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "proto/wire.h"

enum {
    PROTO_VERSION = 1,
    PROTO_MIN_FRAME = 16384, /* the least that a client may limit us to: any error fits */
    PROTO_MAX_FRAME_IN = FRAME_MAX_IN,
    PROTO_MAX_FRAME_OUT = FRAME_MAX_OUT,
    PROTO_MAX_ELEMENT = WIRE_MAX_ELEMENT,
    PROTO_MAX_KEY = WIRE_MAX_KEY,
    PROTO_MAX_OPTIONAL = 64,
    PROTO_MAX_TRACE_ID = 128,
    PROTO_MAX_STOP = 16,
    PROTO_MAX_STOP_BYTES = 256,
    PROTO_MAX_STOP_TOKEN = 64,
    PROTO_MAX_TOP_LOGPROB = 20,
    PROTO_MAX_BIAS = 1024,
    PROTO_MAX_MESSAGE = 65536,   /* of a conversation */
    PROTO_MAX_TEXT_PART = 65536, /* of a message, as are the calls */
    PROTO_MAX_CALL = 1024,
    PROTO_MAX_TOOL = 1024,
    PROTO_DEFAULT_MAX_TOKENS = 2048,
};

/* PROTO_HELLO ... PROTO_APPLY_TEMPLATE are what clients send and come first; PROTO_HELLO_REPLY ... PROTO_PONG
 * are what servers send; PROTO_MESSAGE ... PROTO_FUNCTION are parts of the former, PROTO_MODEL ...
 * PROTO_FAULT of the latter. */
enum proto_message {
#define VERB(tag, ...) PROTO_##tag,
#define REPLY(tag, ...) PROTO_##tag,
#define INPUT(tag, ...) PROTO_##tag,
#define PART(tag, ...) PROTO_##tag,
#include "proto/verbs.def"
    PROTO_N_MESSAGE,
    PROTO_N_VERB = PROTO_HELLO_REPLY, /* also: none of the verbs */
};

/* PROTO_GENERATE_MAX_TOKENS, PROTO_DONE_SEED, ... */
enum proto_field {
    PROTO_ELEMENT = -1, /* in place of a field: an element of an array has no key */
#define FIELD(message, tag, ...) PROTO_##message##_##tag,
#define CHOICE(message, tag, ...) PROTO_##message##_##tag,
#define NESTED(message, tag, ...) PROTO_##message##_##tag,
#define SENT(message, tag, ...) PROTO_##message##_##tag,
#include "proto/fields.def"
    PROTO_N_FIELD,
};

enum proto_error {
#define ERROR(tag, ...) PROTO_E_##tag,
#include "proto/errors.def"
    PROTO_N_ERROR,
};

enum proto_type {
    PROTO_TYPE_BOOL,
    PROTO_TYPE_INT,
    PROTO_TYPE_UINT,
    PROTO_TYPE_FLOAT,
    PROTO_TYPE_ABOVE, /* a float above min */
    PROTO_TYPE_STR,
    PROTO_TYPE_TEXT, /* str or bin */
    PROTO_TYPE_CHOICE,
    PROTO_TYPE_INTS,
    PROTO_TYPE_STRS,
    PROTO_TYPE_STOP,      /* str or array of str */
    PROTO_TYPE_BIAS,      /* array of [int, float] */
    PROTO_TYPE_TREE,      /* a map of what JSON can hold */
    PROTO_TYPE_ARGUMENTS, /* such a map, or a str */
    PROTO_TYPE_ONE,       /* a map of `part` */
    PROTO_TYPE_LIST,      /* array of them */
    PROTO_TYPE_CONTENT,   /* str, nil, or array of them */
    PROTO_TYPE_BIN,
    PROTO_TYPE_BINS,
    PROTO_TYPE_FLOATS,
    PROTO_TYPE_MAP,
    PROTO_TYPE_MAPS,
};

enum proto_direction { PROTO_REQUEST, PROTO_REPLY, PROTO_INPUT, PROTO_PART };

enum proto_id { PROTO_ID_NONE, PROTO_ID_NEEDED, PROTO_ID_ECHOED, PROTO_ID_TARGET };

struct proto_message_row {
    const char *name; /* value of `type`; of a part: its title */
    const char *tag;  /* "TOKENIZE_RESULT" */
    enum proto_direction direction;
    enum proto_id id;
    const char *help;
};

struct proto_field_row {
    enum proto_message message;
    const char *key;
    enum proto_type type;
    enum proto_message part; /* ONE, LIST, CONTENT: of such maps */
    int64_t min, max;        /* of a number, of a string's bytes, of each element */
    size_t n_max;            /* elements of an array */
    const char *choices;     /* "one|two"; NULL */
    const char *fallback; /* what holds without the field; NULL: it is required (or only sent by servers) */
    const char *help;
};

struct proto_error_row {
    const char *code;
    const char *error_type;
    int status;
    bool retryable;
    int exit; /* of lorchctl */
    const char *meaning;
};

/* Rows; the argument must be in range. */
const struct proto_message_row *proto_message(enum proto_message message);
const struct proto_field_row *proto_field(enum proto_field field);
const struct proto_error_row *proto_error(enum proto_error error);
const char *proto_type_name(enum proto_type type); /* "integer", "array of strings", ... */
/* A field of GENERATE that is one of CHAT too (MAX_TOKENS ... DEADLINE_MS), or one about the conversation of
 * CHAT (MESSAGES ... REASONING_EFFORT) that other verbs have too: the field of this verb. */
enum proto_field proto_same(enum proto_message verb, enum proto_field field);

/* Lookups by name: PROTO_N_VERB, PROTO_N_FIELD, PROTO_N_ERROR where there is none. */
enum proto_message proto_find_verb(const char *name, size_t n);
enum proto_field proto_find_field(enum proto_message message, const char *key, size_t n);
enum proto_error proto_find_error(const char *code);
