/* The state of one rendering: see jinja_run.h. */
#include "config.h"
#include "src/text/jinja_run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/mem.h"

int jinja_run_new(struct jinja_run **ret_run, const struct jinja_limits *limits)
{
    static const struct jinja_limits defaults = {JINJA_DEFAULT_MEMORY, JINJA_DEFAULT_OUTPUT,
                                                 JINJA_DEFAULT_STEPS};
    struct jinja_run *run = calloc(1, sizeof *run);
    if (!run)
        return -ENOMEM;
    if (!limits)
        limits = &defaults;
    run->limits = *limits;
    run->memory_left = limits->memory;
    run->steps_left = limits->steps;
    run->variables = jinja_value_dict(run).dict;
    *ret_run = run;
    return 0;
}

struct jinja_run *jinja_run_free(struct jinja_run *run)
{
    if (run) {
        arena_deinit(&run->arena);
        free(run);
    }
    return NULL;
}

void jinja_run_set_now(struct jinja_run *run, const struct tm *now)
{
    run->now = *now;
    run->has_now = true;
}

void jinja_run_set(struct jinja_run *run, const char *name, struct jinja_value value)
{
    jinja_value_set_text(run, (struct jinja_value){.kind = JINJA_DICT, .dict = run->variables}, name, value);
}

void jinja_run_set_members(struct jinja_run *run, struct jinja_value dict)
{
    struct jinja_value variables = {.kind = JINJA_DICT, .dict = run->variables};
    for (size_t i = 0; dict.kind == JINJA_DICT && i < dict.dict->n; i++)
        jinja_value_set(run, variables, dict.dict->entries[i].key, dict.dict->entries[i].value);
}

static void stop(struct jinja_run *run, int code, const char *format, va_list args)
{
    if (run->code)
        return;
    run->code = code;
    vsnprintf(run->message, sizeof run->message, format, args);
}

struct jinja_value jinja_run_fail(struct jinja_run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    stop(run, JINJA_E_FAILED, format, args);
    va_end(args);
    return jinja_value_none();
}

void jinja_run_stop(struct jinja_run *run, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    stop(run, code, format, args);
    va_end(args);
}

void *jinja_run_alloc(struct jinja_run *run, size_t n, size_t size)
{
    size_t bytes;
    if (run->code)
        return NULL;
    if (!mem_product(n, size, &bytes) || bytes > run->memory_left) {
        jinja_run_stop(run, JINJA_E_LIMIT, "values of more than the allowed %zu bytes", run->limits.memory);
        return NULL;
    }
    void *p = arena_array(&run->arena, n, size);
    if (!p) {
        jinja_run_stop(run, -ENOMEM, "out of memory");
        return NULL;
    }
    enum { LEAST = 16 }; /* what an arena takes for the smallest object */
    run->memory_left -= bytes < LEAST && run->memory_left >= LEAST ? LEAST : bytes;
    return p;
}

bool jinja_run_step(struct jinja_run *run, uint64_t n)
{
    if (run->code)
        return false;
    if (n > run->steps_left) {
        run->steps_left = 0;
        jinja_run_stop(run, JINJA_E_LIMIT, "more than the allowed %llu steps",
                       (unsigned long long)run->limits.steps);
        return false;
    }
    run->steps_left -= n;
    return true;
}

bool jinja_run_move(struct jinja_run *run, size_t n_byte)
{
    enum { BYTES_PER_STEP = 64 };
    return jinja_run_step(run, n_byte / BYTES_PER_STEP);
}

bool jinja_run_read(struct jinja_run *run, size_t n_byte)
{
    enum { BYTES_PER_STEP = 4 };
    return jinja_run_step(run, n_byte / BYTES_PER_STEP);
}

bool jinja_run_enter(struct jinja_run *run)
{
    if (run->code)
        return false;
    if (run->depth >= JINJA_MAX_EVALUATION) {
        jinja_run_stop(run, JINJA_E_LIMIT, "nested deeper than %d evaluations", JINJA_MAX_EVALUATION);
        return false;
    }
    run->depth++;
    return true;
}
