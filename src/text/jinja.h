/* Chat templates: an engine for Jinja that renders as the templates' authors' tools do.
 *
 * The environment is the one chat templates are written for: a sandbox where lists and dictionaries cannot be
 * changed, trim_blocks and lstrip_blocks on, loop controls, a tojson that escapes no HTML, raise_exception,
 * strftime_now and {% generation %}. What the engine does not know is refused by name, with line and column.
 *
 * Every byte of a string remembers whether it came from the template or from outside, through slices, filters
 * and formatting; the rendered text tells which of its bytes are input, so that no special token is made of
 * those.
 *
 * A parsed template is read-only: any thread may render it, each with a run of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "src/base/err.h"
#include "src/text/jinja_value.h"

struct jinja;
struct jinja_run;

enum {
    JINJA_MAX_TEMPLATE = 1 << 20,   /* bytes; the longest published ones have 30,000 */
    JINJA_MAX_DEPTH = 250,          /* of the syntax tree */
    JINJA_MAX_EVALUATION = 1600,    /* nested evaluations, macros' and values' depth included */
    JINJA_MAX_RANGE = 100000,       /* numbers of a range(), as in the sandbox */
    JINJA_DEFAULT_MEMORY = 1 << 28, /* bytes of values */
    JINJA_DEFAULT_OUTPUT = 1 << 26,
    JINJA_DEFAULT_STEPS = 20000000,
};

/* Outcomes of rendering. */
enum {
    JINJA_E_FAILED = 1, /* the template did something that it cannot */
    JINJA_E_RAISED,     /* it called raise_exception; the sentence is its own */
    JINJA_E_LIMIT,      /* memory, output, steps or depth */
};

struct jinja_limits {
    size_t memory, output;
    uint64_t steps;
};

struct jinja_range {
    size_t first, n; /* bytes */
};

/* What was rendered; lives as long as the run. */
struct jinja_text {
    const char *text;
    size_t n;
    const struct jinja_range *inputs; /* the bytes that came from outside, in order, not touching */
    size_t n_input;
};

/* Parses n bytes of UTF-8, which need not stay. EX_DATAERR with "line L column C: ...", -ENOMEM. */
int jinja_parse(struct jinja **ret_template, const char *text, size_t n, struct why *why);
struct jinja *jinja_free(struct jinja *t);

/* One rendering: the memory of its values, which are made with jinja_value.h's functions, and its limits
 * (NULL: the defaults). -ENOMEM. */
int jinja_run_new(struct jinja_run **ret_run, const struct jinja_limits *limits);
struct jinja_run *jinja_run_free(struct jinja_run *run);
/* The local time that strftime_now shows; without one it fails. */
void jinja_run_set_now(struct jinja_run *run, const struct tm *now);
/* Gives a variable. A failure (of making the value, too) is kept and told by jinja_render. */
void jinja_run_set(struct jinja_run *run, const char *name, struct jinja_value value);
/* Gives every member of a dict (none: nothing) as a variable. */
void jinja_run_set_members(struct jinja_run *run, struct jinja_value dict);

/* Renders with the variables that were set. 0, JINJA_E_..., -ENOMEM. A failure ends the run; a success may be
 * followed by another rendering, whose memory adds up. */
int jinja_render(struct jinja_run *run, const struct jinja *t, struct jinja_text *ret_text, struct why *why);
