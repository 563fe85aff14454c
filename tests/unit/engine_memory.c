/* What the engine allocates while it generates: nothing for a job that keeps its answer, one piece of memory
 * a token for one that streams. The program is linked with malloc wrapped (see src/engine/Makefile.inc); it
 * speaks TAP. */
#include "config.h"
#include "src/engine/engine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine_util.h"

static atomic_long n_alloc;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    atomic_fetch_add(&n_alloc, 1);
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    atomic_fetch_add(&n_alloc, 1);
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    atomic_fetch_add(&n_alloc, 1);
    return __real_realloc(p, n);
}

static const int32_t prompt[] = {0, 3, 355, 309, 262, 305, 324, 682, 270, 262, 848, 18, 1, 4};

/* Allocations of a job of so many tokens, with everything on that might want memory for each of them. */
static long allocations(struct engine *engine, int64_t n_token, bool stream)
{
    struct job_ask *ask = util_ask_ids(1, prompt, sizeof prompt / sizeof *prompt, n_token);
    ask->stream = stream;
    ask->ignore_eos = ask->logprobs = true;
    ask->top_logprobs = 5;
    ask->sampling.temperature = 1;
    ask->sampling.top_p = 0.9f;
    ask->sampling.typical_p = 0.9f;
    ask->sampling.repeat_penalty = 1.1f;
    ask->sampling.frequency_penalty = 0.1f;
    ask->min_tokens = 1000;
    ask->stop[0] = strdup("never in this text");
    ask->stop_bytes[0] = 18;
    ask->n_stop = 1;
    long before = atomic_load(&n_alloc);
    struct outcome *o = util_run(engine, ask);
    long n = atomic_load(&n_alloc) - before;
    if (o->n_generated != n_token)
        n = -1;
    free(o);
    return n;
}

int main(void)
{
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    allocations(engine, 10, true); /* what is made once and kept */
    long few = allocations(engine, 10, false), many = allocations(engine, 210, false);
    printf("%sok 1 - a kept answer: %ld allocations with 10 tokens, %ld with 210\n",
           few > 0 && few == many ? "" : "not ", few, many);
    long few_streamed = allocations(engine, 10, true), many_streamed = allocations(engine, 210, true);
    printf("%sok 2 - a streamed one: %ld and %ld\n", many_streamed - few_streamed == 200 ? "" : "not ",
           few_streamed, many_streamed);
    engine_free(engine);
    printf("1..2\n");
    return few != many || many_streamed - few_streamed != 200;
}
