/* The back end of ordinary processors: memory, recording, running. */
#include "config.h"

#include "kernels/cpu/backend_cpu.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/cpu/attend.h"
#include "kernels/cpu/mix.h"
#include "kernels/cpu/nodes.h"

void *backend_cpu_map(size_t bytes)
{
    char *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mem == MAP_FAILED)
        return NULL;
    /* Huge pages where the system has them: a gigabyte of small ones takes seconds to touch in a virtual
     * machine. */
    madvise(mem, bytes, MADV_HUGEPAGE);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page)
        *(volatile char *)(mem + at) = 0;
    return mem;
}

static int cpu_alloc(struct lk_backend *be, size_t bytes, void **ret_mem)
{
    void *mem = backend_cpu_map(bytes ? bytes : 1);
    if (!mem) {
        if (errno != ENOMEM)
            return -errno;
        snprintf(be->why, sizeof be->why, "%zu bytes of memory were refused", bytes);
        return LK_E_NO_MEMORY;
    }
    *ret_mem = mem;
    return 0;
}

static void cpu_free(struct lk_backend *be, void *mem, size_t bytes)
{
    (void)be;
    if (mem)
        munmap(mem, bytes ? bytes : 1);
}

static int cpu_weights(struct lk_backend *be, const void *host, size_t bytes, const void **ret_mem)
{
    (void)be, (void)bytes;
    *ret_mem = host;
    return 0;
}

static void cpu_copy(struct lk_backend *be, void *dst, const void *src, size_t bytes)
{
    (void)be;
    memcpy(dst, src, bytes);
}

static int cpu_kv_create(struct lk_backend *be, const struct lk_kv_shape *shape)
{
    int r = attend_kv_create(be, shape);
    if (r == LK_E_NO_MEMORY)
        snprintf(be->why, sizeof be->why, "%zu bytes of KV cache were refused", attend_kv_bytes(shape));
    return r;
}

/* Cuts a span into tiles whose rows lie in one run of CPU_TILE_ROW positions: no two tiles share a cache line
 * of a page's keys. */
static void add_span(struct cpu_backend *cb, const struct lk_span *span)
{
    for (int32_t i = 0; i < span->n_row; i++) {
        int32_t pos = span->pos + i;
        cb->rows[span->row + i] = (struct cpu_row){
            .pages = span->pages, .window_pages = span->window_pages, .pos = pos, .length = span->length};
        if (i == 0 || pos % CPU_TILE_ROW == 0)
            cb->tiles[cb->n_tile++] = (struct cpu_tile){.row = span->row + i};
        cb->tiles[cb->n_tile - 1].n_row++;
        cb->max_pos = pos > cb->max_pos ? pos : cb->max_pos;
    }
}

static void cpu_begin(struct lk_backend *be, const struct lk_batch *batch)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    assert(batch->n_row <= cb->max_row);
    cb->batch = batch;
    cb->n_node = cb->n_tile = cb->max_pos = 0;
    for (int32_t i = 0; i < batch->n_span; i++)
        add_span(cb, &batch->span[i]);
}

/* Runs the list; traces are called in between, on this thread. */
static int run_list(struct cpu_backend *cb, const atomic_bool *abort)
{
    int r = 0;
    for (int32_t i = 0, end; i < cb->n_node && !r; i = end + 1) {
        for (end = i; end < cb->n_node && cb->nodes[end].fn; end++)
            continue;
        r = pool_run(cb->pool, cb, cb->nodes + i, end - i, abort);
        const union cpu_arg *a = &cb->args[end];
        if (!r && end < cb->n_node && cb->be.trace)
            cb->be.trace(cb->be.trace_ctx, a->trace.name, a->trace.layer, a->trace.x, a->trace.n_row,
                         a->trace.n);
    }
    cb->n_node = 0;
    return r == POOL_E_ABORTED ? LK_E_ABORTED : r;
}

static int cpu_run(struct lk_backend *be, const atomic_bool *abort)
{
    return run_list(backend_cpu_of(be), abort);
}

union cpu_arg *backend_cpu_push(struct cpu_backend *cb, pool_fn fn, int64_t n_chunk)
{
    assert(n_chunk >= 0 && n_chunk <= POOL_MAX_CHUNK);
    if (cb->n_node == CPU_MAX_NODE)
        run_list(cb, NULL);
    union cpu_arg *arg = &cb->args[cb->n_node];
    cb->nodes[cb->n_node++] = (struct pool_node){.fn = fn, .arg = arg, .n_chunk = (int32_t)n_chunk};
    return arg;
}

static void cpu_trace(struct lk_backend *be, const char *name, int32_t layer, const float *x, int32_t n_row,
                      int32_t n)
{
    if (!be->trace)
        return;
    union cpu_arg *a = backend_cpu_push(backend_cpu_of(be), NULL, 0);
    a->trace.name = name;
    a->trace.layer = layer;
    a->trace.x = x;
    a->trace.n_row = n_row;
    a->trace.n = n;
}

static void cpu_close(struct lk_backend *be)
{
    if (!be)
        return;
    struct cpu_backend *cb = backend_cpu_of(be);
    pool_free(cb->pool);
    attend_kv_free(&cb->kv);
    free(cb->args);
    free(cb->nodes);
    free(cb->tiles);
    free(cb->rows);
    free(cb);
}

static const struct lk_ops ops = {
    .name = "cpu",
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .weights = cpu_weights,
    .upload = cpu_copy,
    .download = cpu_copy,
    .kv_bytes = attend_kv_bytes,
    .kv_create = cpu_kv_create,
    .begin = cpu_begin,
    .run = cpu_run,
    .embed = nodes_embed,
    .gather = nodes_gather,
    .rmsnorm = nodes_rmsnorm,
    .layernorm = nodes_layernorm,
    .matmul = nodes_matmul,
    .qkv = nodes_qkv,
    .qkv_split = nodes_qkv_split,
    .gate_up_act = nodes_gate_up_act,
    .mix = mix_mix,
    .add_gated = mix_add_gated,
    .act_mul = nodes_act_mul,
    .add = nodes_add,
    .scale = nodes_scale,
    .soft_cap = nodes_soft_cap,
    .rope_angles = nodes_rope_angles,
    .rope = nodes_rope,
    .kv_append = attend_kv_append,
    .rope_kv_append = attend_rope_kv_append,
    .attend = attend_attend,
    .trace = cpu_trace,
};

_Static_assert((int)POOL_MAX_THREAD >= (int)LK_MAX_THREAD, "the pool takes every number of threads");

int backend_cpu_open(const struct lk_options *options, struct lk_backend **ret_be, char why[256])
{
    unsigned flags = lk_cpu_flags_for(options->level, lk_cpu_flags());
    if (flags == ~0u) {
        snprintf(why, 256, "'%.64s' is no instruction set of this program: c, avx2, avx512", options->level);
        return LK_E_NO_DEVICE;
    }
    struct cpu_backend *cb = calloc(1, sizeof *cb);
    if (!cb)
        return -ENOMEM;
    lk_cpu_init(&cb->cpu, flags);
    cb->be.ops = &ops;
    cb->be.level = cb->cpu.level;
    cb->n_thread = options->n_thread;
    cb->max_row = options->max_row;
    cb->rows = calloc((size_t)cb->max_row, sizeof *cb->rows);
    cb->tiles = calloc((size_t)cb->max_row, sizeof *cb->tiles);
    cb->nodes = calloc(CPU_MAX_NODE, sizeof *cb->nodes);
    cb->args = calloc(CPU_MAX_NODE, sizeof *cb->args);
    int r = -ENOMEM;
    if (cb->rows && cb->tiles && cb->nodes && cb->args)
        r = pool_new(&cb->pool, cb->n_thread, CPU_MAX_NODE);
    if (r)
        cpu_close(&cb->be);
    else
        *ret_be = &cb->be;
    return r;
}
