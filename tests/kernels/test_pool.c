/* The thread pool: every chunk once, nodes in order, abort, many short runs. */
#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu/pool.h"
#include "tests/kernels/check.h"

enum { MAX_NODE = 40, MAX_CHUNK = 3000 };

/* What the nodes of a list share. Each chunk writes its own cell, without atomics: ThreadSanitizer sees it if
 * two threads run one chunk, or if a node begins before the last one's cells are written. */
struct sheet {
    int32_t n_chunk[MAX_NODE];
    uint64_t cell[MAX_NODE][MAX_CHUNK];
    _Atomic int n_wrong;
    int32_t n_thread;
    atomic_bool abort;
    int abort_after; /* chunks, -1: never */
    _Atomic int n_run, n_at_abort;
};

static uint64_t sum_of(const struct sheet *s, int node)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < s->n_chunk[node]; i++)
        sum += s->cell[node][i];
    return sum;
}

/* A cell is one more than it was, plus the sum of the node before as its first chunk sees it. */
static void chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    struct sheet *s = ctx;
    int node = *(const int *)arg;
    if (i_thread < 0 || i_thread >= s->n_thread || i_chunk < 0 || i_chunk >= s->n_chunk[node])
        atomic_fetch_add(&s->n_wrong, 1);
    else
        s->cell[node][i_chunk] += 1 + (node && i_chunk == 0 ? sum_of(s, node - 1) : 0);
    if (atomic_fetch_add(&s->n_run, 1) + 1 == s->abort_after) {
        atomic_store(&s->abort, true);
        atomic_store(&s->n_at_abort, atomic_load(&s->n_run));
    }
}

static struct sheet sheet;
static int numbers[MAX_NODE];
static struct pool_node nodes[MAX_NODE];

static void prepare(int32_t n_thread, pool_fn fn)
{
    memset(&sheet, 0, sizeof sheet);
    sheet.n_thread = n_thread;
    sheet.abort_after = -1;
    for (int i = 0; i < MAX_NODE; i++)
        nodes[i] = (struct pool_node){.fn = fn, .arg = &numbers[i]};
}

static void set_chunks(int node, int32_t n)
{
    sheet.n_chunk[node] = nodes[node].n_chunk = n;
}

/* What the cells should hold after one run of a fresh sheet. */
static bool is_right(int n_node)
{
    uint64_t before = 0;
    for (int node = 0; node < n_node; node++) {
        uint64_t sum = 0;
        for (int32_t i = 0; i < sheet.n_chunk[node]; i++) {
            uint64_t want = 1 + (i == 0 ? before : 0);
            if (sheet.cell[node][i] != want)
                return check_wrong("node %d chunk %d is %llu, not %llu", node, i,
                                   (unsigned long long)sheet.cell[node][i], (unsigned long long)want);
            sum += want;
        }
        before = sum;
    }
    return atomic_load(&sheet.n_wrong) == 0;
}

/* Lists of random lengths, again and again on one pool. */
static void test_lists(int32_t n_thread)
{
    struct check_rng rng = {check_seed() + (uint64_t)n_thread};
    struct pool *pool;
    bool ok = pool_new(&pool, n_thread, MAX_NODE) == 0;
    for (int round = 0; ok && round < 400; round++) {
        check_case("%d threads, round %d", n_thread, round);
        prepare(n_thread, chunk);
        int n_node = check_range(&rng, 0, MAX_NODE), total = 0;
        for (int i = 0; i < n_node; i++)
            set_chunks(i, round % 8 ? check_range(&rng, 0, 9) : check_range(&rng, 0, 60));
        for (int i = 0; i < n_node; i++)
            total += sheet.n_chunk[i];
        ok = pool_run(pool, &sheet, nodes, n_node, round % 2 ? &sheet.abort : NULL) == 0 &&
             is_right(n_node) && atomic_load(&sheet.n_run) == total;
    }
    pool_free(ok ? pool : NULL);
    check_point(ok, "%d threads: every chunk once, nodes in order", n_thread);
}

static void test_abort(int32_t n_thread)
{
    struct pool *pool;
    bool ok = pool_new(&pool, n_thread, MAX_NODE) == 0;
    for (int after = 1; ok && after < 200; after += 7) {
        check_case("%d threads, abort after %d", n_thread, after);
        prepare(n_thread, chunk);
        for (int i = 0; i < 10; i++)
            set_chunks(i, 100);
        sheet.abort_after = after;
        int r = pool_run(pool, &sheet, nodes, 10, &sheet.abort), n = atomic_load(&sheet.n_run);
        /* Each of the others may have looked just before. */
        int n_late = n - atomic_load(&sheet.n_at_abort);
        ok = r == POOL_E_ABORTED && n >= after && n_late < n_thread;
        if (!ok)
            check_wrong("returned %d after %d chunks, %d of them late", r, n, n_late);
        /* The pool is as good as new. */
        prepare(n_thread, chunk);
        set_chunks(0, 50);
        set_chunks(1, 3);
        ok = ok && pool_run(pool, &sheet, nodes, 2, &sheet.abort) == 0 && is_right(2);
    }
    prepare(n_thread, chunk);
    set_chunks(0, 100);
    atomic_store(&sheet.abort, true);
    bool none =
        ok && pool_run(pool, &sheet, nodes, 1, &sheet.abort) == POOL_E_ABORTED && !atomic_load(&sheet.n_run);
    /* An abort that finds nothing left to do has not happened. */
    prepare(n_thread, chunk);
    set_chunks(0, 20);
    sheet.abort_after = 20;
    bool late = ok && pool_run(pool, &sheet, nodes, 1, &sheet.abort) == 0 && is_right(1);
    pool_free(ok ? pool : NULL);
    check_point(ok, "%d threads: abort in the middle", n_thread);
    check_point(none, "%d threads: abort before the first chunk", n_thread);
    check_point(late, "%d threads: abort behind the last chunk", n_thread);
}

/* The first chunk waits until all others of its node are done, as if its thread had been put aside. */
static void hold_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    struct sheet *s = ctx;
    int node = *(const int *)arg;
    if (i_chunk == 0)
        while (atomic_load(&s->n_run) < s->n_chunk[node] - 1)
            sched_yield();
    chunk(ctx, arg, i_chunk, i_thread);
}

/* Only where chunks are handed out one by one can the others be done by the other threads. */
static void test_held(void)
{
    struct pool *pool;
    bool ok = pool_new(&pool, 2, 1) == 0;
    prepare(2, hold_chunk);
    set_chunks(0, MAX_CHUNK);
    ok = ok && pool_run(pool, &sheet, nodes, 1, NULL) == 0 && is_right(1);
    pool_free(ok ? pool : NULL);
    check_point(ok, "a thread that is put aside holds one chunk");
}

/* Threads that sleep between runs are found and woken: runs after pauses longer than the spin. */
static void test_sleep(int32_t n_thread)
{
    struct pool *pool;
    bool ok = pool_new(&pool, n_thread, 3) == 0;
    for (int round = 0; ok && round < 30; round++) {
        struct timespec pause = {.tv_nsec = 400 * 1000};
        nanosleep(&pause, NULL);
        prepare(n_thread, hold_chunk);
        set_chunks(0, 50);
        ok = pool_run(pool, &sheet, nodes, 1, NULL) == 0 && is_right(1);
    }
    pool_free(ok ? pool : NULL);
    check_point(ok, "%d threads: woken from sleep", n_thread);
}

static void test_limits(void)
{
    struct pool *pool = NULL;
    check_point(pool_new(&pool, 0, 1) < 0 && pool_new(&pool, POOL_MAX_THREAD + 1, 1) < 0 &&
                    pool_new(&pool, 1, 0) < 0 && !pool && !pool_free(NULL),
                "numbers out of range are refused");
}

int main(void)
{
    for (int i = 0; i < MAX_NODE; i++)
        numbers[i] = i;
    static const int32_t n_threads[] = {1, 2, 3, 4, 9};
    for (size_t i = 0; i < sizeof n_threads / sizeof *n_threads; i++) {
        test_lists(n_threads[i]);
        test_abort(n_threads[i]);
    }
    test_held();
    test_sleep(2);
    test_sleep(4);
    test_limits();
    return check_done();
}
