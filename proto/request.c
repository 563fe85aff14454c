/* A client's frame against the table of fields: see request.h. */
#include "config.h"
#include "proto/request.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/values.h"
#include "src/base/utf8.h"

void request_fault(struct request *request, const char *field, const char *constraint, const char *format,
                   ...)
{
    struct request_faults *faults = &request->faults;
    faults->n++;
    if (strcmp(constraint, "unknown"))
        faults->n_known++;
    if (faults->n > REQUEST_MAX_FAULT)
        return;
    struct request_fault *fault = &faults->list[faults->n - 1];
    int n = snprintf(fault->field, sizeof fault->field, "%s", field);
    fault->constraint = constraint;
    assert(n > 0 && n < (int)sizeof fault->field);
    n = snprintf(fault->message, sizeof fault->message, "%s ", field);
    va_list args;
    va_start(args, format);
    vsnprintf(fault->message + n, sizeof fault->message - (size_t)n, format, args);
    va_end(args);
    /* The sentence travels as UTF-8: a character that the end of the buffer cut is left out. */
    fault->message[utf8_check(fault->message, strlen(fault->message))] = '\0';
}

/* Does the request's `optional` name this key? Its own faults are found when its turn comes. */
static bool is_optional(const struct request *request, const char *key, size_t n_key)
{
    const struct msg_value *optional = msg_get(request->msg.root, "optional");
    if (msg_kind(optional) != MSG_ARRAY || msg_count(optional) > PROTO_MAX_OPTIONAL)
        return false;
    for (size_t i = 0; i < msg_count(optional); i++) {
        size_t n;
        const char *name = msg_bytes(msg_at(optional, i), &n);
        if (name && n == n_key && !memcmp(name, key, n))
            return true;
    }
    return false;
}

static void check_fields(struct request *request)
{
    for (size_t i = 0; i < msg_count(request->msg.root); i++) {
        size_t n;
        const char *key = msg_key_at(request->msg.root, i, &n);
        if (n == 4 && !memcmp(key, "type", 4))
            continue;
        enum proto_field field = proto_find_field(request->verb, key, n);
        if (field == PROTO_N_FIELD) {
            char name[PROTO_MAX_KEY + 1];
            snprintf(name, sizeof name, "%.*s", (int)n, key);
            if (!is_optional(request, key, n))
                request_fault(request, *name ? name : "?", "unknown", "is not a field of %s",
                              proto_message(request->verb)->name);
            continue;
        }
        const struct msg_value *v = msg_at(request->msg.root, i);
        if (values_check(request, field, v))
            request->values[field] = v;
    }
    for (enum proto_field field = 0; field < PROTO_N_FIELD; field++) {
        const struct proto_field_row *row = proto_field(field);
        if (row->message == request->verb && !row->fallback && !msg_get(request->msg.root, row->key))
            request_fault(request, row->key, "missing", "must be given");
    }
}

static bool is_given(const struct request *request, enum proto_field field)
{
    return msg_get(request->msg.root, proto_field(field)->key);
}

/* Exactly one of two. */
static void check_one_of(struct request *request, enum proto_field a, enum proto_field b)
{
    const char *key_a = proto_field(a)->key, *key_b = proto_field(b)->key;
    if (!is_given(request, a) && !is_given(request, b))
        request_fault(request, key_a, "missing", "or %s must be given", key_b);
    if (is_given(request, a) && is_given(request, b))
        request_fault(request, key_b, "conflict", "and %s exclude each other", key_a);
}

/* A bin is not UTF-8 by its type. */
static void check_text(struct request *request, enum proto_field text, enum proto_field invalid_utf8)
{
    size_t n;
    const char *s = request_bytes(request, text, &n);
    if (!s || msg_kind(request->values[text]) != MSG_BIN || request_is(request, invalid_utf8, "replace"))
        return;
    size_t good = utf8_check(s, n);
    if (good < n)
        request_fault(request, proto_field(text)->key, "utf8", "is not UTF-8 at byte %zu", good);
}

static void check_job(struct request *request)
{
    enum proto_message verb = request->verb;
    int64_t min_tokens = request_int(request, proto_same(verb, PROTO_GENERATE_MIN_TOKENS), 0);
    int64_t max_tokens = request_int(request, proto_same(verb, PROTO_GENERATE_MAX_TOKENS), INT64_MAX);
    if (min_tokens > max_tokens)
        request_fault(request, "min_tokens", "conflict", "is %" PRId64 ", max_tokens is %" PRId64, min_tokens,
                      max_tokens);
    if (request_int(request, proto_same(verb, PROTO_GENERATE_TOP_LOGPROBS), 0) > 0 &&
        !request_bool(request, proto_same(verb, PROTO_GENERATE_LOGPROBS), false))
        request_fault(request, "top_logprobs", "conflict", "needs logprobs");
}

/* Fields that say something only beside another one. */
static void check_needs(struct request *request, enum proto_field needed, const enum proto_field *fields,
                        size_t n)
{
    for (size_t i = 0; i < n && !is_given(request, needed); i++)
        if (is_given(request, fields[i]))
            request_fault(request, proto_field(fields[i])->key, "conflict", "needs %s",
                          proto_field(needed)->key);
}

static void check_count(struct request *request)
{
    static const enum proto_field of_text[] = {PROTO_COUNT_PARSE_SPECIAL, PROTO_COUNT_INVALID_UTF8},
                                  of_messages[] = {
                                      PROTO_COUNT_TOOLS,
                                      PROTO_COUNT_TOOL_CHOICE,
                                      PROTO_COUNT_ADD_GENERATION_PROMPT,
                                      PROTO_COUNT_CONTINUE_FINAL_MESSAGE,
                                      PROTO_COUNT_CHAT_TEMPLATE_KWARGS,
                                      PROTO_COUNT_REASONING_EFFORT,
                                  };
    check_needs(request, PROTO_COUNT_CONTENT, of_text, sizeof of_text / sizeof *of_text);
    check_needs(request, PROTO_COUNT_MESSAGES, of_messages, sizeof of_messages / sizeof *of_messages);
}

/* A variable that the request has a field for would be lost without a word. */
static void check_variables(struct request *request)
{
    static const char *const taken[] = {"messages", "tools", "add_generation_prompt",
                                        "continue_final_message", "reasoning_effort"};
    const struct msg_value *variables =
        request_value(request, proto_same(request->verb, PROTO_CHAT_CHAT_TEMPLATE_KWARGS));
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        /* The effort is a variable like any other, but not twice. */
        bool may_be = !strcmp(taken[i], "reasoning_effort") && !msg_get(request->msg.root, taken[i]);
        char name[64];
        snprintf(name, sizeof name, "chat_template_kwargs.%s", taken[i]);
        if (!may_be && msg_get(variables, taken[i]))
            request_fault(request, name, "conflict", "is what the field %s says", taken[i]);
    }
}

static void check_conversation(struct request *request)
{
    enum proto_message verb = request->verb;
    check_variables(request);
    enum proto_field messages = proto_same(verb, PROTO_CHAT_MESSAGES);
    if (request_has(request, messages) && request_count(request, messages) == 0)
        request_fault(request, "messages", "count", "has no elements, must have one at least");
    if (request_bool(request, proto_same(verb, PROTO_CHAT_CONTINUE_FINAL_MESSAGE), false) &&
        request_bool(request, proto_same(verb, PROTO_CHAT_ADD_GENERATION_PROMPT), false))
        request_fault(request, "continue_final_message", "conflict",
                      "and add_generation_prompt exclude each other");
}

/* What no single field can get wrong. */
static void check_together(struct request *request)
{
    switch (request->verb) {
    case PROTO_GENERATE:
        check_one_of(request, PROTO_GENERATE_PROMPT, PROTO_GENERATE_TOKENS);
        check_text(request, PROTO_GENERATE_PROMPT, PROTO_GENERATE_INVALID_UTF8);
        check_job(request);
        break;
    case PROTO_CHAT:
        check_conversation(request);
        check_job(request);
        break;
    case PROTO_APPLY_TEMPLATE:
        check_conversation(request);
        break;
    case PROTO_TOKENIZE:
        check_text(request, PROTO_TOKENIZE_CONTENT, PROTO_TOKENIZE_INVALID_UTF8);
        break;
    case PROTO_COUNT:
        check_one_of(request, PROTO_COUNT_CONTENT, PROTO_COUNT_MESSAGES);
        check_count(request);
        check_conversation(request);
        check_text(request, PROTO_COUNT_CONTENT, PROTO_COUNT_INVALID_UTF8);
        break;
    case PROTO_CANCEL:
        check_one_of(request, PROTO_CANCEL_ID, PROTO_CANCEL_JOB);
        break;
    default:
        break;
    }
}

int request_decode(struct request *ret_request, const uint8_t *body, size_t n, struct why *why)
{
    struct request *request = ret_request;
    *request = (struct request)REQUEST_NULL;
    request->verb = PROTO_N_VERB;
    int r = msg_open(&request->msg, body, n, why);
    if (r)
        return r < 0 ? r : REQUEST_E_PROTOCOL;
    const struct msg_value *type = msg_get(request->msg.root, "type");
    size_t n_type;
    const char *name = msg_kind(type) == MSG_STR ? msg_bytes(type, &n_type) : NULL;
    if (name)
        request->verb = proto_find_verb(name, n_type);
    const struct msg_value *id = msg_get(request->msg.root, "id");
    if (msg_int(id, 0) > 0)
        request->id = msg_int(id, 0);
    bool needs_id = request->verb == PROTO_N_VERB || proto_message(request->verb)->id == PROTO_ID_NEEDED;
    if (needs_id && !id)
        return why_set(why, REQUEST_E_PROTOCOL, "the frame has no id");
    if (needs_id && msg_kind(id) != MSG_INT)
        return why_set(why, REQUEST_E_PROTOCOL, "id is %s, must be an integer", values_kind(msg_kind(id)));
    if (needs_id && !request->id)
        return why_set(why, REQUEST_E_PROTOCOL, "id is %" PRId64 ", must be 1 to 2^63 - 1", msg_int(id, 0));
    if (request->verb == PROTO_N_VERB) {
        if (!type)
            request_fault(request, "type", "missing", "must be given");
        else if (!name)
            request_fault(request, "type", "type", "is %s, must be a string", values_kind(msg_kind(type)));
        else
            request_fault(request, "type", "choice", "is not a verb of this server");
        return REQUEST_E_INVALID;
    }
    check_fields(request);
    check_together(request);
    return request->faults.n ? REQUEST_E_INVALID : 0;
}

void request_deinit(struct request *request)
{
    msg_close(&request->msg);
}

int64_t request_error_id(const struct request *request)
{
    if (request->verb != PROTO_N_VERB && proto_message(request->verb)->id != PROTO_ID_NEEDED)
        return 0;
    return request->id;
}

static const char *trace_id(const struct request *request, size_t *ret_n)
{
    for (enum proto_field field = 0; field < PROTO_N_FIELD; field++)
        if (request->values[field] && !strcmp(proto_field(field)->key, "trace_id"))
            return msg_bytes(request->values[field], ret_n);
    return NULL;
}

int request_error(const struct request *request, struct buf *buf, size_t max)
{
    const struct request_faults *faults = &request->faults;
    size_t n = faults->n < REQUEST_MAX_FAULT ? faults->n : REQUEST_MAX_FAULT;
    assert(n > 0);
    char message[REQUEST_MAX_FAULT_TEXT + 32];
    if (faults->n == 1)
        snprintf(message, sizeof message, "%s", faults->list[0].message);
    else
        snprintf(message, sizeof message, "%s (and %zu more)", faults->list[0].message, faults->n - 1);
    struct msg_out out;
    msg_begin(&out, buf, PROTO_ERROR, max);
    if (request_error_id(request))
        msg_put_int(&out, PROTO_ERROR_ID, request_error_id(request));
    size_t n_trace;
    const char *trace = trace_id(request, &n_trace);
    if (trace)
        msg_put_text(&out, PROTO_ERROR_TRACE_ID, trace, n_trace);
    msg_put_error(&out, faults->n_known ? PROTO_E_INVALID_REQUEST : PROTO_E_UNKNOWN_FIELD, message);
    msg_put_str(&out, PROTO_ERROR_PARAM, faults->list[0].field);
    msg_map(&out, PROTO_ERROR_DETAIL);
    msg_array(&out, PROTO_DETAIL_FAULTS);
    for (size_t i = 0; i < n; i++) {
        msg_map(&out, PROTO_ELEMENT);
        msg_put_str(&out, PROTO_FAULT_FIELD, faults->list[i].field);
        msg_put_str(&out, PROTO_FAULT_CONSTRAINT, faults->list[i].constraint);
        msg_put_str(&out, PROTO_FAULT_MESSAGE, faults->list[i].message);
        msg_close_part(&out);
    }
    msg_close_part(&out);
    msg_put_int(&out, PROTO_DETAIL_N_FAULTS, (int64_t)faults->n);
    msg_close_part(&out);
    return msg_end(&out);
}

bool request_has(const struct request *request, enum proto_field field)
{
    return request->values[field];
}

bool request_bool(const struct request *request, enum proto_field field, bool fallback)
{
    return msg_bool(request->values[field], fallback);
}

int64_t request_int(const struct request *request, enum proto_field field, int64_t fallback)
{
    return msg_int(request->values[field], fallback);
}

uint64_t request_uint(const struct request *request, enum proto_field field, uint64_t fallback)
{
    return msg_uint(request->values[field], fallback);
}

double request_float(const struct request *request, enum proto_field field, double fallback)
{
    return msg_float(request->values[field], fallback);
}

const char *request_bytes(const struct request *request, enum proto_field field, size_t *ret_n)
{
    return msg_bytes(request->values[field], ret_n);
}

bool request_is(const struct request *request, enum proto_field field, const char *choice)
{
    return msg_is(request->values[field], choice);
}

size_t request_count(const struct request *request, enum proto_field field)
{
    return msg_kind(request->values[field]) == MSG_STR ? 1 : msg_count(request->values[field]);
}

int64_t request_int_at(const struct request *request, enum proto_field field, size_t i)
{
    return msg_int(msg_at(request->values[field], i), 0);
}

const char *request_bytes_at(const struct request *request, enum proto_field field, size_t i, size_t *ret_n)
{
    const struct msg_value *v = request->values[field];
    return msg_bytes(msg_kind(v) == MSG_STR && i == 0 ? v : msg_at(v, i), ret_n);
}

const struct msg_value *request_value(const struct request *request, enum proto_field field)
{
    return request->values[field];
}

int64_t request_bias_at(const struct request *request, enum proto_field field, size_t i, double *ret_bias)
{
    const struct msg_value *pair = msg_at(request->values[field], i);
    *ret_bias = msg_float(msg_at(pair, 1), 0);
    return msg_int(msg_at(pair, 0), 0);
}
