/* Threads that run a list of nodes per wake-up.
 *
 * A node is a number of chunks; every chunk of a node is finished before the next node begins. Chunks are
 * handed out one by one to whichever thread asks, so a thread that the system has put aside delays nobody but
 * the chunk it holds; a chunk must therefore compute the same whichever thread runs it. The caller of
 * pool_run works along as thread 0. Waiting is a short spin, then sleep; between runs all threads sleep.
 *
 * One thread uses a pool at a time. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct pool;

enum {
    POOL_MAX_THREAD = 1024,
    POOL_MAX_CHUNK = (1 << 24) - 1, /* what a counter holds beside the number of its run */
};

enum { POOL_E_ABORTED = 1 };

/* ctx is pool_run's. i_thread < n_thread names the scratch that this call has for itself. */
typedef void (*pool_fn)(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread);

struct pool_node {
    pool_fn fn;
    const void *arg;
    int32_t n_chunk; /* 0 to POOL_MAX_CHUNK */
};

/* A pool of n_thread threads, the caller among them, for lists of at most max_node nodes. 0, -errno. */
int pool_new(struct pool **ret_pool, int32_t n_thread, int32_t max_node);
struct pool *pool_free(struct pool *pool);

/* Runs the nodes in order. abort (may be NULL) is polled before each chunk; it stays set once set. 0, or
 * POOL_E_ABORTED: some chunk, and all nodes after its own, were left out. */
int pool_run(struct pool *pool, void *ctx, const struct pool_node *nodes, int32_t n_node,
             const atomic_bool *abort);
