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
static long allocations(struct engine *engine, int64_t n_token, bool stream, bool is_chat)
{
    struct job_ask *ask = util_ask_ids(1, prompt, sizeof prompt / sizeof *prompt, n_token);
    ask->stream = stream;
    ask->is_chat = ask->has_tools = is_chat;
    ask->ignore_eos = ask->logprobs = true;
    ask->top_logprobs = 5;
    ask->has_seed = true; /* text held back for the stop text takes one piece of memory more at the end */
    ask->sampling.seed = 7;
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

/* Two points of a kind of job; false where it allocates by the token. */
static bool check(struct engine *engine, bool is_chat, int first)
{
    const char *of = is_chat ? " of a chat" : "";
    allocations(engine, 10, true, is_chat); /* what is made once and kept */
    long few = allocations(engine, 10, false, is_chat), many = allocations(engine, 210, false, is_chat);
    bool kept = few > 0 && few == many;
    printf("%sok %d - a kept answer%s: %ld allocations with 10 tokens, %ld with 210\n", kept ? "" : "not ",
           first, of, few, many);
    few = allocations(engine, 10, true, is_chat);
    many = allocations(engine, 210, true, is_chat);
    bool streamed = many - few == 200;
    printf("%sok %d - a streamed one%s: %ld and %ld\n", streamed ? "" : "not ", first + 1, of, few, many);
    return kept && streamed;
}

int main(void)
{
    struct engine *engine = util_start(util_demo_model(), NULL, 1);
    bool job = check(engine, false, 1), chat = check(engine, true, 3);
    engine_free(engine);
    printf("1..4\n");
    return !job || !chat;
}
