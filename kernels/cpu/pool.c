/* Threads that run a list of nodes per wake-up. */
#include "config.h"

#include "kernels/cpu/pool.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    COUNT_BITS = 24,
    CACHE_LINE = 64,
    SPIN = 1000, /* pauses before a thread sleeps: 10 to 40 us. Picked, not measured. */
};

#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)
#define RUN_MAX ((UINT64_C(1) << (64 - COUNT_BITS)) - 1) /* runs count 1 to this; 0 is none */

/* What threads sleep on. */
struct event {
    _Atomic uint32_t word; /* changes whenever there may be news */
    _Atomic uint32_t n_waiting;
};

/* The two counters of a node. Each carries the number of its run in the upper bits: a thread that comes late,
 * its run long over, finds another number there and leaves, so nobody needs to wait for it. */
struct slot {
    alignas(CACHE_LINE) _Atomic uint64_t untaken;
    _Atomic uint64_t unfinished;
};

struct pool {
    /* Written between runs, read by threads that hold a chunk of the run. */
    void *ctx;
    const struct pool_node *nodes;
    const atomic_bool *abort;
    _Atomic bool aborted;

    alignas(CACHE_LINE) _Atomic uint64_t current; /* tag(run, 1) */
    struct event begun;                           /* current has changed */
    alignas(CACHE_LINE) struct event finished;    /* some node has been finished */
    _Atomic bool stop;

    struct slot *slots; /* [max_node + 1]: the one behind a list belongs to no run that is going on */
    int32_t n_thread, max_node;
    struct worker *workers; /* [n_thread - 1] */
    int32_t n_worker;       /* started */
};

struct worker {
    struct pool *pool;
    pthread_t thread;
    int32_t i_thread;
};

static uint64_t tag(uint64_t run, uint64_t count)
{
    return run << COUNT_BITS | count;
}

/* Is this counter of this run, with something left? */
static bool is_open(uint64_t value, uint64_t run)
{
    return value >> COUNT_BITS == run && (value & COUNT_MASK) != 0;
}

static void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static void futex(_Atomic uint32_t *word, int op, uint32_t value)
{
    syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void event_signal(struct event *event)
{
    atomic_fetch_add(&event->word, 1);
    if (atomic_load(&event->n_waiting))
        futex(&event->word, FUTEX_WAKE, INT32_MAX);
}

/* Waits until the counter has left this run or is used up; whoever brings that about signals the event. All
 * of this is sequentially consistent: either the signaller sees n_waiting, or the waiter sees the new value.
 */
static void event_wait(struct event *event, _Atomic uint64_t *counter, uint64_t run)
{
    for (int i = 0; i < SPIN; i++) {
        if (!is_open(atomic_load(counter), run))
            return;
        relax();
    }
    atomic_fetch_add(&event->n_waiting, 1);
    for (;;) {
        uint32_t word = atomic_load(&event->word);
        if (!is_open(atomic_load(counter), run))
            break;
        futex(&event->word, FUTEX_WAIT, word);
    }
    atomic_fetch_sub(&event->n_waiting, 1);
}

/* Takes up to `max` chunks. Returns how many, and what was left before. */
static uint32_t slot_take(struct slot *slot, uint64_t run, uint32_t max, uint32_t *ret_left)
{
    uint64_t value = atomic_load(&slot->untaken);
    while (is_open(value, run)) {
        uint32_t left = (uint32_t)(value & COUNT_MASK), n = left < max ? left : max;
        if (atomic_compare_exchange_weak(&slot->untaken, &value, value - n)) {
            *ret_left = left;
            return n;
        }
    }
    return 0;
}

/* Runs chunks of node i as long as there are any. Nothing of the pool but its counters is read before a chunk
 * has been taken: from then on the run cannot end. */
static void work_on(struct pool *pool, uint64_t run, int32_t i, int32_t i_thread)
{
    struct slot *slot = &pool->slots[i];
    uint32_t left, n;
    while ((n = slot_take(slot, run, 1, &left)) != 0) {
        const struct pool_node *node = &pool->nodes[i];
        if (pool->abort && atomic_load(pool->abort)) {
            atomic_store(&pool->aborted, true);
            n += slot_take(slot, run, COUNT_MASK, &left);
        } else {
            node->fn(pool->ctx, node->arg, node->n_chunk - (int32_t)left, i_thread);
        }
        if ((atomic_fetch_sub(&slot->unfinished, n) & COUNT_MASK) == n)
            event_signal(&pool->finished);
    }
}

static void work(struct pool *pool, uint64_t run, int32_t i_thread)
{
    for (int32_t i = 0; atomic_load(&pool->slots[i].untaken) >> COUNT_BITS == run; i++) {
        work_on(pool, run, i, i_thread);
        event_wait(&pool->finished, &pool->slots[i].unfinished, run);
    }
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct pool *pool = worker->pool;
    uint64_t run = 0;
    for (;;) {
        event_wait(&pool->begun, &pool->current, run);
        run = atomic_load(&pool->current) >> COUNT_BITS;
        if (atomic_load(&pool->stop))
            return NULL;
        work(pool, run, worker->i_thread);
    }
}

/* Signals are for the threads of the program; those that a thread causes itself must reach their handlers. */
static void mask_for_workers(sigset_t *ret_set)
{
    sigfillset(ret_set);
    static const int own[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(ret_set, own[i]);
}

static int start_workers(struct pool *pool)
{
    sigset_t mask, old;
    mask_for_workers(&mask);
    pthread_sigmask(SIG_SETMASK, &mask, &old);
    int r = 0;
    for (int32_t i = 0; i < pool->n_thread - 1 && !r; i++) {
        struct worker *worker = &pool->workers[i];
        *worker = (struct worker){.pool = pool, .i_thread = i + 1};
        r = pthread_create(&worker->thread, NULL, worker_main, worker);
        if (r)
            break;
        pool->n_worker++;
        char name[20]; /* of which the system takes 15: enough for POOL_MAX_THREAD */
        snprintf(name, sizeof name, "compute/%d", i + 1);
        pthread_setname_np(worker->thread, name);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -r;
}

int pool_new(struct pool **ret_pool, int32_t n_thread, int32_t max_node)
{
    if (n_thread < 1 || n_thread > POOL_MAX_THREAD || max_node < 1)
        return -EINVAL;
    struct pool *pool = aligned_alloc(CACHE_LINE, sizeof *pool);
    if (!pool)
        return -ENOMEM;
    *pool = (struct pool){.n_thread = n_thread, .max_node = max_node};
    atomic_init(&pool->current, tag(0, 1));
    size_t n_slot = (size_t)max_node + 1;
    pool->slots = aligned_alloc(CACHE_LINE, n_slot * sizeof *pool->slots);
    pool->workers = calloc((size_t)n_thread, sizeof *pool->workers);
    int r = -ENOMEM;
    if (pool->slots && pool->workers) {
        for (size_t i = 0; i < n_slot; i++)
            pool->slots[i] = (struct slot){0};
        r = start_workers(pool);
    }
    if (r)
        pool_free(pool);
    else
        *ret_pool = pool;
    return r;
}

/* Makes another run the current one and tells the threads. */
static uint64_t begin(struct pool *pool, const struct pool_node *nodes, int32_t n_node)
{
    uint64_t run = (atomic_load(&pool->current) >> COUNT_BITS) % RUN_MAX + 1;
    for (int32_t i = 0; i < n_node; i++) {
        atomic_store(&pool->slots[i].unfinished, tag(run, (uint64_t)nodes[i].n_chunk));
        atomic_store(&pool->slots[i].untaken, tag(run, (uint64_t)nodes[i].n_chunk));
    }
    atomic_store(&pool->slots[n_node].untaken, 0);
    atomic_store(&pool->current, tag(run, 1));
    event_signal(&pool->begun);
    return run;
}

struct pool *pool_free(struct pool *pool)
{
    if (!pool)
        return NULL;
    if (pool->slots) {
        atomic_store(&pool->stop, true);
        begin(pool, NULL, 0);
    }
    for (int32_t i = 0; i < pool->n_worker; i++)
        pthread_join(pool->workers[i].thread, NULL);
    free(pool->workers);
    free(pool->slots);
    free(pool);
    return NULL;
}

int pool_run(struct pool *pool, void *ctx, const struct pool_node *nodes, int32_t n_node,
             const atomic_bool *abort)
{
    assert(n_node >= 0 && n_node <= pool->max_node);
    pool->ctx = ctx;
    pool->nodes = nodes;
    pool->abort = abort;
    atomic_store(&pool->aborted, false);
    work(pool, begin(pool, nodes, n_node), 0);
    return atomic_load(&pool->aborted) ? POOL_E_ABORTED : 0;
}
