/* One value against its row of fields.def: see values.h. */
#include "config.h"
#include "proto/values.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUES_MAX_PATH = PROTO_MAX_KEY + 1 /* "messages[65535].tool_calls[1023].function.arguments" */ };

const char *values_kind(enum msg_kind kind)
{
    static const char *const names[] = {
        [MSG_NONE] = "nothing",    [MSG_NIL] = "nil",         [MSG_BOOL] = "a boolean",
        [MSG_INT] = "an integer",  [MSG_UINT] = "an integer", [MSG_FLOAT32] = "a float",
        [MSG_FLOAT64] = "a float", [MSG_STR] = "a string",    [MSG_BIN] = "binary",
        [MSG_ARRAY] = "an array",  [MSG_MAP] = "a map",
    };
    return names[kind];
}

/* One value or element under examination, and what to call it in a fault: "stop", "messages[3].role". */
struct subject {
    struct request *request;
    const struct proto_field_row *row;
    const char *path;
    const struct msg_value *v;
    size_t i;
    bool is_element;
};

/* Which element, as the beginning of a clause: "[3] " or nothing. */
struct place {
    char text[32];
};

static struct place place(const struct subject *s)
{
    struct place p = {""};
    if (s->is_element)
        snprintf(p.text, sizeof p.text, "at index %zu ", s->i);
    return p;
}

static bool wrong_type(const struct subject *s, const char *wanted)
{
    request_fault(s->request, s->path, "type", "%sis %s, must be %s", place(s).text,
                  values_kind(msg_kind(s->v)), wanted);
    return false;
}

static bool check_int(const struct subject *s)
{
    if (msg_kind(s->v) == MSG_UINT) {
        request_fault(s->request, s->path, "range", "%sis beyond 2^63 - 1", place(s).text);
        return false;
    }
    if (msg_kind(s->v) != MSG_INT)
        return wrong_type(s, "an integer");
    int64_t v = msg_int(s->v, 0);
    if (v >= s->row->min && v <= s->row->max)
        return true;
    request_fault(s->request, s->path, "range", "%sis %" PRId64 ", must be %" PRId64 " to %" PRId64,
                  place(s).text, v, s->row->min, s->row->max);
    return false;
}

static bool check_uint(const struct subject *s)
{
    if (msg_kind(s->v) == MSG_UINT)
        return true;
    if (msg_kind(s->v) != MSG_INT)
        return wrong_type(s, "an integer");
    if (msg_int(s->v, 0) >= 0)
        return true;
    request_fault(s->request, s->path, "range", "is %" PRId64 ", must be 0 to 2^64 - 1", msg_int(s->v, 0));
    return false;
}

static bool check_float(const struct subject *s)
{
    enum msg_kind kind = msg_kind(s->v);
    if (kind != MSG_INT && kind != MSG_FLOAT32 && kind != MSG_FLOAT64)
        return wrong_type(s, "a number");
    double v = msg_float(s->v, 0), min = (double)s->row->min, max = (double)s->row->max;
    bool above = s->row->type == PROTO_TYPE_ABOVE;
    if (v <= max && (above ? v > min : v >= min)) /* false for NaN */
        return true;
    request_fault(s->request, s->path, "range",
                  above ? "%sis %g, must be above %g and at most %g" : "%sis %g, must be %g to %g",
                  place(s).text, v, min, max);
    return false;
}

static bool check_str(const struct subject *s)
{
    bool bin_too = s->row->type == PROTO_TYPE_TEXT;
    if (msg_kind(s->v) != MSG_STR && !(bin_too && msg_kind(s->v) == MSG_BIN))
        return wrong_type(s, bin_too ? "a string or binary" : "a string");
    size_t n;
    msg_bytes(s->v, &n);
    if (n >= (size_t)s->row->min && n <= (size_t)s->row->max)
        return true;
    request_fault(s->request, s->path, "length", "%shas %zu bytes, must have %" PRId64 " to %" PRId64,
                  place(s).text, n, s->row->min, s->row->max);
    return false;
}

static bool check_choice(const struct subject *s)
{
    if (msg_kind(s->v) != MSG_STR)
        return wrong_type(s, "a string");
    for (const char *choice = s->row->choices; *choice;) {
        size_t n, n_choice = strcspn(choice, "|");
        const char *text = msg_bytes(s->v, &n);
        if (n == n_choice && !memcmp(text, choice, n))
            return true;
        choice += n_choice + (choice[n_choice] == '|');
    }
    request_fault(s->request, s->path, "choice", "must be one of %s", s->row->choices);
    return false;
}

static bool check_bias(const struct subject *s)
{
    if (msg_kind(s->v) != MSG_ARRAY || msg_count(s->v) != 2) {
        request_fault(s->request, s->path, "type", "%smust be [id, number]", place(s).text);
        return false;
    }
    static const struct proto_field_row id_row = {.min = 0, .max = INT32_MAX};
    struct subject id = *s, bias = *s;
    id.row = &id_row;
    id.v = msg_at(s->v, 0);
    bias.v = msg_at(s->v, 1);
    return check_int(&id) && check_float(&bias);
}

/* One fault an array is enough: the first. */
static bool check_array(const struct subject *s, bool (*check_element)(const struct subject *),
                        const char *wanted)
{
    if (msg_kind(s->v) != MSG_ARRAY)
        return wrong_type(s, wanted);
    size_t n = msg_count(s->v);
    if (n > s->row->n_max) {
        request_fault(s->request, s->path, "count", "has %zu elements, may have %zu", n, s->row->n_max);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct subject element = {s->request, s->row, s->path, msg_at(s->v, i), i, true};
        if (!check_element(&element))
            return false;
    }
    return true;
}

/* Whether JSON could hold it, and with it a template. */
static bool is_tree(const struct msg_value *v)
{
    enum msg_kind kind = msg_kind(v);
    bool is_plain = kind != MSG_BIN && kind != MSG_NONE &&
                    ((kind != MSG_FLOAT32 && kind != MSG_FLOAT64) || isfinite(msg_float(v, 0)));
    for (size_t i = 0; is_plain && i < msg_count(v); i++)
        is_plain = is_tree(msg_at(v, i));
    return is_plain;
}

static bool check_tree(const struct subject *s)
{
    if (is_tree(s->v))
        return true;
    request_fault(s->request, s->path, "type", "holds binary or a number that is not finite");
    return false;
}

static bool check_map(const struct subject *s)
{
    return msg_kind(s->v) == MSG_MAP ? check_tree(s) : wrong_type(s, "a map");
}

static bool check_arguments(const struct subject *s)
{
    return msg_kind(s->v) == MSG_STR ||
           (msg_kind(s->v) == MSG_MAP ? check_tree(s) : wrong_type(s, "a string or a map"));
}

static bool check_value(const struct subject *s);

/* The assistant's message may have no text (it calls a tool instead), the others' must. */
static bool check_message(const struct subject *s)
{
    const struct msg_value *content = msg_get(s->v, "content");
    if (msg_is(msg_get(s->v, "role"), "assistant") || (content && msg_kind(content) != MSG_NIL))
        return true;
    char path[VALUES_MAX_PATH];
    snprintf(path, sizeof path, "%s.content", s->path);
    request_fault(s->request, path, "missing",
                  "must be given and not nil, but in a message of the assistant");
    return false;
}

/* A map of the row's part: its members are checked by their rows; others may be anything. */
static bool check_one(const struct subject *s)
{
    if (msg_kind(s->v) != MSG_MAP)
        return wrong_type(s, "a map");
    bool good = check_tree(s);
    for (enum proto_field field = 0; field < PROTO_N_FIELD; field++) {
        const struct proto_field_row *row = proto_field(field);
        if (row->message != s->row->part)
            continue;
        char path[VALUES_MAX_PATH];
        snprintf(path, sizeof path, "%s.%s", s->path, row->key);
        struct subject member = {s->request, row, path, msg_get(s->v, row->key), 0, false};
        if (member.v) {
            good = check_value(&member) && good;
        } else if (!row->fallback) {
            request_fault(s->request, path, "missing", "must be given");
            good = false;
        }
    }
    return good && (s->row->part != PROTO_MESSAGE || check_message(s));
}

/* An array of such maps; the first of them that is wrong is enough. */
static bool check_list(const struct subject *s, const char *wanted)
{
    if (msg_kind(s->v) != MSG_ARRAY)
        return wrong_type(s, wanted);
    size_t n = msg_count(s->v);
    if (n > s->row->n_max) {
        request_fault(s->request, s->path, "count", "has %zu elements, may have %zu", n, s->row->n_max);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        char path[VALUES_MAX_PATH];
        snprintf(path, sizeof path, "%s[%zu]", s->path, i);
        struct subject element = {s->request, s->row, path, msg_at(s->v, i), 0, false};
        if (!check_one(&element))
            return false;
    }
    return true;
}

static bool check_content(const struct subject *s)
{
    enum msg_kind kind = msg_kind(s->v);
    return kind == MSG_STR || kind == MSG_NIL || check_list(s, "a string, nil or an array of maps");
}

static bool check_value(const struct subject *s)
{
    switch (s->row->type) {
    case PROTO_TYPE_BOOL:
        return msg_kind(s->v) == MSG_BOOL || wrong_type(s, "a boolean");
    case PROTO_TYPE_INT:
        return check_int(s);
    case PROTO_TYPE_UINT:
        return check_uint(s);
    case PROTO_TYPE_FLOAT:
    case PROTO_TYPE_ABOVE:
        return check_float(s);
    case PROTO_TYPE_STR:
    case PROTO_TYPE_TEXT:
        return check_str(s);
    case PROTO_TYPE_CHOICE:
        return check_choice(s);
    case PROTO_TYPE_INTS:
        return check_array(s, check_int, "an array of integers");
    case PROTO_TYPE_STRS:
        return check_array(s, check_str, "an array of strings");
    case PROTO_TYPE_STOP:
        return msg_kind(s->v) == MSG_STR ? check_str(s)
                                         : check_array(s, check_str, "a string or an array of strings");
    case PROTO_TYPE_BIAS:
        return check_array(s, check_bias, "an array of [id, number]");
    case PROTO_TYPE_TREE:
        return check_map(s);
    case PROTO_TYPE_ARGUMENTS:
        return check_arguments(s);
    case PROTO_TYPE_ONE:
        return check_one(s);
    case PROTO_TYPE_LIST:
        return check_list(s, "an array of maps");
    case PROTO_TYPE_CONTENT:
        return check_content(s);
    default: /* only servers send these */
        assert(false);
        return false;
    }
}

bool values_check(struct request *request, enum proto_field field, const struct msg_value *v)
{
    const struct proto_field_row *row = proto_field(field);
    struct subject s = {request, row, row->key, v, 0, false};
    return check_value(&s);
}
