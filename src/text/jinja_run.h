/* The state of one rendering, for the engine's own files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "src/base/arena.h"
#include "src/text/jinja.h"

struct jinja_node;
struct jinja_builder;

/* The variables of one running function: the template itself, a macro, a recursive loop. */
struct jinja_frame {
    struct jinja_frame *parent; /* of the function around it in the text */
    struct jinja_value slots[];
};

struct jinja_run {
    struct arena arena;
    struct jinja_limits limits;
    size_t memory_left;
    uint64_t steps_left;
    unsigned depth;
    int code; /* 0, or how it failed first; message says why */
    char message[400];
    uint32_t at;                  /* where in the template what is evaluated now begins */
    const struct jinja *template; /* being rendered */
    struct jinja_dict *variables;
    struct jinja_builder *out;
    enum { JINJA_GO_ON, JINJA_BREAK, JINJA_CONTINUE } signal;
    bool has_now;
    struct tm now;
};

static inline bool jinja_run_has_failed(const struct jinja_run *run)
{
    return run->code != 0;
}

/* Remembers the first failure, with the place being evaluated. Returns none, for `return
 * jinja_run_fail(...)`. */
struct jinja_value jinja_run_fail(struct jinja_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with a code: JINJA_E_..., -ENOMEM. */
void jinja_run_stop(struct jinja_run *run, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Zeroed memory for n objects; NULL once the run has failed. */
void *jinja_run_alloc(struct jinja_run *run, size_t n, size_t size);
/* Takes n steps of the budget; false once the run has failed. */
bool jinja_run_step(struct jinja_run *run, uint64_t n);
/* The same for the bytes of a string, so that steps bound the time of a rendering, whatever it does: those
 * that are moved, compared or searched as a whole, and those that are looked at one after the other. */
bool jinja_run_move(struct jinja_run *run, size_t n_byte);
bool jinja_run_read(struct jinja_run *run, size_t n_byte);
/* For what recurses: false where it may not go deeper (nothing to leave then). */
bool jinja_run_enter(struct jinja_run *run);

static inline void jinja_run_leave(struct jinja_run *run)
{
    run->depth--;
}
