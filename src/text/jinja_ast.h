/* The syntax tree of a template: nodes of one shape, so that walking it is one loop.
 *
 * Built by the parser, given its variables' places by jinja_scope, read-only from then on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/text/jinja_value.h"

/* The kids of each type, in this order; [x] may be NULL, x... any number of them. */
enum jinja_type {
    /* statements */
    JINJA_BLOCK,      /* statements... */
    JINJA_DATA,       /* constant: the text */
    JINJA_PRINT,      /* expressions... */
    JINJA_IF,         /* condition, block, condition, block..., [else block] */
    JINJA_FOR,        /* enum jinja_for; flag: recursive */
    JINJA_ASSIGN,     /* target, expression */
    JINJA_SET_BLOCK,  /* target, scope, [filter] */
    JINJA_FILTERED,   /* scope, filter */
    JINJA_WITH,       /* scope, then target, expression... */
    JINJA_DEFINE,     /* enum jinja_define; name: the macro's */
    JINJA_CALL_BLOCK, /* define, call */
    JINJA_LEAVE,      /* flag: break, else continue */
    JINJA_SCOPE,      /* block; loads */
    /* expressions */
    JINJA_CONST,      /* constant */
    JINJA_NAME,       /* name, its place */
    JINJA_NS_NAME,    /* name; constant: the attribute */
    JINJA_LIST_OF,    /* items... */
    JINJA_TUPLE_OF,   /* items... */
    JINJA_DICT_OF,    /* key, value... */
    JINJA_OPERATE,    /* left, right; op: enum jinja_operator */
    JINJA_NEGATE,     /* operand */
    JINJA_PLUS,       /* operand */
    JINJA_NOT,        /* operand */
    JINJA_AND,        /* left, right */
    JINJA_OR,         /* left, right */
    JINJA_CONCAT,     /* operands... */
    JINJA_COMPARE,    /* left, then COMPARISON... */
    JINJA_COMPARISON, /* right; op: enum jinja_comparison */
    JINJA_CHOOSE,     /* then, condition, [else] */
    JINJA_ATTRIBUTE,  /* object; constant: the name */
    JINJA_ELEMENT,    /* object, key */
    JINJA_SLICE,      /* object, [start], [stop], [step] */
    JINJA_CALL,       /* callee, arguments... */
    JINJA_FILTER,     /* [value], arguments...; constant: the name */
    JINJA_TEST,       /* value, arguments...; constant: the name */
    JINJA_ARGUMENT,   /* value; op: enum jinja_argument; constant: its name */
};

enum jinja_for { JINJA_FOR_ITER, JINJA_FOR_BODY, JINJA_FOR_ELSE, JINJA_FOR_TEST, JINJA_FOR_KIDS };
/* The scope of a body has the target and the variable `loop` as kids behind its block, that of a test the
 * target alone. */
enum jinja_scope_kid { JINJA_SCOPE_BLOCK, JINJA_SCOPE_TARGET, JINJA_SCOPE_LOOP };

/* Behind these: the parameters' names, then the defaults of the last of them. */
enum jinja_define {
    JINJA_DEFINE_TARGET, /* [the variable that gets the macro] */
    JINJA_DEFINE_SCOPE,
    JINJA_DEFINE_CALLER, /* [the variables of the same names] */
    JINJA_DEFINE_KWARGS,
    JINJA_DEFINE_VARARGS,
    JINJA_DEFINE_PARAMS
};

enum jinja_comparison { JINJA_EQ, JINJA_NE, JINJA_LT, JINJA_LE, JINJA_GT, JINJA_GE, JINJA_IN, JINJA_NOT_IN };
enum jinja_argument { JINJA_ARG_PLAIN, JINJA_ARG_NAMED, JINJA_ARG_LIST, JINJA_ARG_DICT };
enum jinja_context { JINJA_LOAD, JINJA_STORE, JINJA_PARAM };

struct jinja_symbol;

/* A name, once for all places where it occurs. */
struct jinja_name {
    struct jinja_value text;
    struct jinja_name *next;     /* of those with the same hash */
    struct jinja_symbol *symbol; /* while scopes are resolved: what it means there */
};

/* What happens to a variable when its scope is entered: it gets the value of a variable farther out, or one
 * from outside the template, or none. */
struct jinja_load {
    enum jinja_load_kind { JINJA_LOAD_NOTHING, JINJA_LOAD_GIVEN, JINJA_LOAD_OUTER } kind;
    uint32_t slot, outer_hops, outer_slot;
    const struct jinja_name *name;
};

struct jinja_node {
    uint8_t type; /* enum jinja_type */
    uint8_t op;   /* enum jinja_operator, jinja_comparison, jinja_argument, jinja_context */
    bool flag;
    uint16_t depth; /* of the tree below it, itself included */
    uint32_t at;    /* where in the template */
    uint32_t n_kid;
    uint32_t n_param; /* DEFINE */
    struct jinja_node **kids;
    struct jinja_value constant;
    struct jinja_name *name;
    uint32_t hops, slot; /* NAME: functions to go out, place in that one's frame */
    uint32_t n_slot;     /* DEFINE, recursive FOR: variables of the function */
    uint32_t n_load;     /* SCOPE */
    struct jinja_load *loads;
};

struct jinja {
    struct arena arena;
    const char *text; /* with line breaks as \n */
    size_t n;
    struct jinja_node *root; /* SCOPE */
    uint32_t n_slot;
};

/* The line and column (in characters) of a place, both from 1 on. */
void jinja_parse_place(const struct jinja *t, size_t at, size_t *ret_line, size_t *ret_column);
