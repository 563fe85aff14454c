/* The rows of verbs.def, fields.def and errors.def: see proto.h. */
#include "config.h"
#include "proto/proto.h"

#include <assert.h>
#include <string.h>
#include <sysexits.h>

static const struct proto_message_row messages[PROTO_N_MESSAGE] = {
#define VERB(tag, name, id, help) [PROTO_##tag] = {#name, #tag, PROTO_REQUEST, PROTO_ID_##id, help},
#define REPLY(tag, name, help) [PROTO_##tag] = {#name, #tag, PROTO_REPLY, PROTO_ID_NONE, help},
#define INPUT(tag, name, help) [PROTO_##tag] = {#name, #tag, PROTO_INPUT, PROTO_ID_NONE, help},
#define PART(tag, name, help) [PROTO_##tag] = {#name, #tag, PROTO_PART, PROTO_ID_NONE, help},
#include "proto/verbs.def"
};

#define REQUIRED NULL
static const struct proto_field_row fields[PROTO_N_FIELD] = {
#define FIELD(message, tag, key, type, min, max, n_max, fallback, help) \
    {PROTO_##message, #key, PROTO_TYPE_##type, PROTO_N_MESSAGE, min, max, n_max, NULL, fallback, help},
#define CHOICE(message, tag, key, choices, fallback, help) \
    {PROTO_##message, #key, PROTO_TYPE_CHOICE, PROTO_N_MESSAGE, 0, 0, 0, choices, fallback, help},
#define NESTED(message, tag, key, type, part, n_max, fallback, help) \
    {PROTO_##message, #key, PROTO_TYPE_##type, PROTO_##part, 0, 0, n_max, NULL, fallback, help},
#define SENT(message, tag, key, type, help) \
    {PROTO_##message, #key, PROTO_TYPE_##type, PROTO_N_MESSAGE, 0, 0, 0, NULL, NULL, help},
#include "proto/fields.def"
};

static const struct proto_error_row errors[PROTO_N_ERROR] = {
#define ERROR(tag, name, error_type, status, retryable, exit, meaning) \
    [PROTO_E_##tag] = {#name, #error_type, status, retryable, exit, meaning},
#include "proto/errors.def"
};

const struct proto_message_row *proto_message(enum proto_message message)
{
    assert(message < PROTO_N_MESSAGE);
    return &messages[message];
}

const struct proto_field_row *proto_field(enum proto_field field)
{
    assert(field >= 0 && field < PROTO_N_FIELD);
    return &fields[field];
}

const struct proto_error_row *proto_error(enum proto_error error)
{
    assert(error < PROTO_N_ERROR);
    return &errors[error];
}

const char *proto_type_name(enum proto_type type)
{
    static const char *const names[] = {
        [PROTO_TYPE_BOOL] = "boolean",
        [PROTO_TYPE_INT] = "integer",
        [PROTO_TYPE_UINT] = "unsigned integer",
        [PROTO_TYPE_FLOAT] = "number",
        [PROTO_TYPE_ABOVE] = "number",
        [PROTO_TYPE_STR] = "string",
        [PROTO_TYPE_TEXT] = "string or binary",
        [PROTO_TYPE_CHOICE] = "string",
        [PROTO_TYPE_INTS] = "array of integers",
        [PROTO_TYPE_STRS] = "array of strings",
        [PROTO_TYPE_STOP] = "string or array of strings",
        [PROTO_TYPE_BIAS] = "array of [id, number]",
        [PROTO_TYPE_TREE] = "map",
        [PROTO_TYPE_ARGUMENTS] = "string or map",
        [PROTO_TYPE_ONE] = "map",
        [PROTO_TYPE_LIST] = "array of maps",
        [PROTO_TYPE_CONTENT] = "string, nil or array of maps",
        [PROTO_TYPE_BIN] = "binary",
        [PROTO_TYPE_BINS] = "array of binary",
        [PROTO_TYPE_FLOATS] = "array of numbers",
        [PROTO_TYPE_MAP] = "map",
        [PROTO_TYPE_MAPS] = "array of maps",
    };
    return names[type];
}

/* Rows between two fields of a message, where those of another begin at the same distance. */
#define SAME(a, b, first, last)                                                                          \
    _Static_assert(PROTO_##a##_##last - PROTO_##a##_##first == PROTO_##b##_##last - PROTO_##b##_##first, \
                   "rows of " #a " and " #b)
SAME(GENERATE, CHAT, MAX_TOKENS, DEADLINE_MS);
SAME(CHAT, COUNT, MESSAGES, REASONING_EFFORT);
SAME(CHAT, APPLY_TEMPLATE, MESSAGES, REASONING_EFFORT);

enum proto_field proto_same(enum proto_message verb, enum proto_field field)
{
    if (field >= PROTO_GENERATE_MAX_TOKENS && field <= PROTO_GENERATE_DEADLINE_MS)
        return verb == PROTO_CHAT ? field - PROTO_GENERATE_MAX_TOKENS + PROTO_CHAT_MAX_TOKENS : field;
    assert(field >= PROTO_CHAT_MESSAGES && field <= PROTO_CHAT_REASONING_EFFORT);
    return field - PROTO_CHAT_MESSAGES +
           (verb == PROTO_COUNT            ? PROTO_COUNT_MESSAGES
            : verb == PROTO_APPLY_TEMPLATE ? PROTO_APPLY_TEMPLATE_MESSAGES
                                           : PROTO_CHAT_MESSAGES);
}

static bool equals(const char *name, const char *s, size_t n)
{
    return strlen(name) == n && !memcmp(name, s, n);
}

enum proto_message proto_find_verb(const char *name, size_t n)
{
    for (enum proto_message i = 0; i < PROTO_N_VERB; i++)
        if (equals(messages[i].name, name, n))
            return i;
    return PROTO_N_VERB;
}

enum proto_field proto_find_field(enum proto_message message, const char *key, size_t n)
{
    for (enum proto_field i = 0; i < PROTO_N_FIELD; i++)
        if (fields[i].message == message && equals(fields[i].key, key, n))
            return i;
    return PROTO_N_FIELD;
}

enum proto_error proto_find_error(const char *code)
{
    for (enum proto_error i = 0; i < PROTO_N_ERROR; i++)
        if (!strcmp(errors[i].code, code))
            return i;
    return PROTO_N_ERROR;
}
