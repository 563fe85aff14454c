/* Going through values: plain ones, generators that give each item once, and what `loop` knows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/text/jinja_value.h"

struct jinja_args;
struct jinja_frame;
struct jinja_node;

struct jinja_iter {
    struct jinja_value source;
    size_t at;
    bool backward;
};

/* A lazy sequence. next gives one item more: false at the end, and where the run has failed. Which of the
 * other members are used, and how, is next's own affair. */
struct jinja_generator {
    bool (*next)(struct jinja_run *run, struct jinja_generator *g, struct jinja_value *ret_item);
    struct jinja_iter source;
    bool has_begun, has_ended;
    const struct jinja_args *args;
    struct jinja_value a, b;
    int64_t i;
    unsigned flags;
    const struct jinja_node *node;
    struct jinja_frame *frame;
};

/* The variable `loop` of a for. */
struct jinja_loop {
    struct jinja_value iterable;
    struct jinja_iter iter;
    struct jinja_value before, current, after; /* after: looked at already */
    struct jinja_value last_changed;
    int64_t index0, length, depth0; /* length -1: not known yet */
    const struct jinja_node *node;  /* where it is recursive: the for, for a call of the loop */
    struct jinja_frame *frame;
};

bool jinja_iter_can(struct jinja_value v);
/* Fails for what cannot be gone through; the iterator is empty then. */
struct jinja_iter jinja_iter_over(struct jinja_run *run, struct jinja_value v);
/* From the end; false (not failed) for what has none, such as a generator. */
bool jinja_iter_back(struct jinja_iter *it, struct jinja_value v);
bool jinja_iter_next(struct jinja_run *run, struct jinja_iter *it, struct jinja_value *ret_item);
/* All items that are left, as a list or a tuple. */
struct jinja_value jinja_iter_collect(struct jinja_run *run, struct jinja_iter *it, enum jinja_kind kind);
struct jinja_value jinja_iter_list(struct jinja_run *run, struct jinja_value v);

struct jinja_value jinja_iter_generator(struct jinja_run *run, struct jinja_generator from);
/* One that goes through `it`. */
struct jinja_value jinja_iter_rest(struct jinja_run *run, struct jinja_iter it);

bool jinja_iter_loop_next(struct jinja_run *run, struct jinja_loop *loop, struct jinja_value *ret_item);
int64_t jinja_iter_loop_length(struct jinja_run *run, struct jinja_loop *loop);
/* Whether another item follows, which is then in loop->after. */
bool jinja_iter_loop_peek(struct jinja_run *run, struct jinja_loop *loop);
