/* The values of templates: Python's, as far as templates can see them.
 *
 * Values live in a run and die with it. Functions here never fail to the caller's face: out of memory or over
 * a limit, the run remembers that it has failed, they return none or something empty, and whoever rendered is
 * told. So nobody has to check, except loops, which must end: jinja_run_has_failed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jinja_run;
struct jinja_value;

enum jinja_kind {
    JINJA_MISSING, /* no value: an argument that was not given, a variable that was not set */
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_BIG, /* an integer beyond 64 bits: can be shown and compared with its equals, nothing else */
    JINJA_FLOAT,
    JINJA_STRING,
    JINJA_LIST,
    JINJA_TUPLE,
    JINJA_DICT,
    JINJA_VIEW, /* what keys(), values() and items() give */
    JINJA_RANGE,
    JINJA_GENERATOR, /* gives each item once */
    JINJA_NAMESPACE,
    JINJA_MACRO,
    JINJA_FUNCTION,
    JINJA_METHOD,
    JINJA_LOOP,
    JINJA_CYCLER,
    JINJA_JOINER,
};

enum jinja_origin {
    JINJA_TRUSTED, /* the template's own text, or the host's */
    JINJA_INPUT,   /* a client's */
    JINJA_MIXED,
};

/* UTF-8. Never changed once it is made. */
struct jinja_string {
    const char *text;
    const uint8_t *marks; /* JINJA_MIXED: the origin of each byte */
    size_t n, n_char;
    uint8_t origin;
    bool is_safe; /* escaped for HTML, says the template: what is joined to it will be escaped */
};

struct jinja_value {
    enum jinja_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double real;
        const struct jinja_string *string; /* STRING; BIG: the digits */
        struct jinja_list *list;           /* LIST, TUPLE */
        struct jinja_dict *dict;           /* DICT, NAMESPACE */
        struct jinja_view *view;
        struct jinja_span *span; /* RANGE */
        struct jinja_generator *generator;
        struct jinja_undefined *undefined;
        struct jinja_macro *macro;
        const struct jinja_function *function;
        struct jinja_method *method;
        struct jinja_loop *loop;
        struct jinja_cycler *cycler;
    };
};

struct jinja_list {
    struct jinja_value *items;
    size_t n, capacity;
    bool is_group; /* what groupby gives: a tuple whose items are also .grouper and .list */
};

/* In the order of insertion. */
struct jinja_dict {
    struct jinja_entry {
        struct jinja_value key, value;
        uint64_t hash;
    } * entries;
    size_t n, capacity;
    uint32_t *slots; /* open addressing: index of an entry + 1, or 0 */
    size_t n_slot;   /* a power of two */
};

struct jinja_view {
    const struct jinja_dict *dict;
    enum jinja_part { JINJA_KEYS, JINJA_VALUES, JINJA_ITEMS } part;
};

struct jinja_span {
    int64_t start, stop, step, n;
};

/* Number i of the n. It has 64 bits; i times the step need not. */
static inline int64_t jinja_span_at(const struct jinja_span *span, int64_t i)
{
    return (int64_t)((uint64_t)span->start + (uint64_t)i * (uint64_t)span->step);
}

/* Why a value is undefined, for the sentence when it is used: a hint, or the name (of an attribute or element
 * of `owner`, unless that is missing). */
struct jinja_undefined {
    const char *hint;
    struct jinja_value owner, name;
};

struct jinja_cycler {
    struct jinja_list *items;
    size_t at;
};

/* ---- what a host makes ---- */

static inline struct jinja_value jinja_value_none(void)
{
    return (struct jinja_value){.kind = JINJA_NONE};
}

static inline struct jinja_value jinja_value_bool(bool b)
{
    return (struct jinja_value){.kind = JINJA_BOOL, .boolean = b};
}

static inline struct jinja_value jinja_value_int(int64_t i)
{
    return (struct jinja_value){.kind = JINJA_INT, .integer = i};
}

static inline struct jinja_value jinja_value_float(double x)
{
    return (struct jinja_value){.kind = JINJA_FLOAT, .real = x};
}

/* A string of n bytes, copied; they must be valid UTF-8. */
struct jinja_value jinja_value_text(struct jinja_run *run, const char *text, size_t n,
                                    enum jinja_origin origin);
struct jinja_value jinja_value_list(struct jinja_run *run);
void jinja_value_push(struct jinja_run *run, struct jinja_value list, struct jinja_value item);
struct jinja_value jinja_value_dict(struct jinja_run *run);
/* Sets a member; a new value for a key keeps its place. */
void jinja_value_set(struct jinja_run *run, struct jinja_value dict, struct jinja_value key,
                     struct jinja_value value);
void jinja_value_set_text(struct jinja_run *run, struct jinja_value dict, const char *key,
                          struct jinja_value value);

/* ---- what the engine needs besides ---- */

static inline struct jinja_value jinja_value_missing(void)
{
    return (struct jinja_value){.kind = JINJA_MISSING};
}

static inline bool jinja_value_is_missing(struct jinja_value v)
{
    return v.kind == JINJA_MISSING;
}

static inline bool jinja_value_is_string(struct jinja_value v)
{
    return v.kind == JINJA_STRING;
}

/* BOOL or INT: what Python's int is; *ret_integer is set only then. */
bool jinja_value_is_whole(struct jinja_value v, int64_t *ret_integer);
bool jinja_value_is_number(struct jinja_value v);
/* An undefined value with a sentence (a literal); a variable's; an attribute's or element's of owner. */
struct jinja_value jinja_value_undefined(struct jinja_run *run, const char *hint);
struct jinja_value jinja_value_undefined_name(struct jinja_run *run, struct jinja_value name);
struct jinja_value jinja_value_undefined_in(struct jinja_run *run, struct jinja_value owner,
                                            struct jinja_value name);
/* Fails with the sentence of an undefined value that was used. */
struct jinja_value jinja_value_fail_undefined(struct jinja_run *run, struct jinja_value v);

/* A list with room for n items, as kind LIST or TUPLE. */
struct jinja_value jinja_value_sequence(struct jinja_run *run, enum jinja_kind kind, size_t n);
struct jinja_value jinja_value_pair(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
/* The value of a key, or MISSING. Fails where the key cannot be one. */
struct jinja_value jinja_value_get(struct jinja_run *run, const struct jinja_dict *dict,
                                   struct jinja_value key);
struct jinja_value jinja_value_get_text(struct jinja_run *run, const struct jinja_dict *dict,
                                        const char *key);
/* The same of a value that need not be a dict: MISSING, too, where it is none. */
struct jinja_value jinja_value_member(struct jinja_run *run, struct jinja_value dict, const char *key);
/* The items of a list; none of any other value. */
static inline size_t jinja_value_n_item(struct jinja_value list)
{
    return list.kind == JINJA_LIST ? list.list->n : 0;
}
/* False, and failed: what cannot be a key ("unhashable type: 'list'"). */
bool jinja_value_hash(struct jinja_run *run, struct jinja_value v, uint64_t *ret_hash);
bool jinja_value_equals(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
bool jinja_value_is_true(struct jinja_run *run, struct jinja_value v);
/* len(), or -1 where there is none. */
int64_t jinja_value_length(struct jinja_run *run, struct jinja_value v);
/* Python's name of the type: 'int', 'str', 'NoneType'. */
const char *jinja_value_type(struct jinja_value v);
