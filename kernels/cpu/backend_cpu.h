/* The back end of ordinary processors: what its files share.
 *
 * Operations become nodes of a list (nodes.c, attend.c), the list runs on a pool of threads (pool.c), the
 * arithmetic is the table of kernels (lk.h). */
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/pool.h"
#include "kernels/lk.h"

enum {
    CPU_MAX_NODE = 4096, /* of a list; a longer step runs as several, so this is no limit of a model */
    CPU_TILE_ROW = 16,   /* rows that attention takes together: a cache line of a page's keys */
};

/* A row of the batch. */
struct cpu_row {
    const int32_t *pages, *window_pages;
    int32_t pos, length; /* length: of its span */
};

/* Consecutive rows of one span, at most CPU_TILE_ROW. */
struct cpu_tile {
    int32_t row, n_row;
};

/* One matrix of a product and the outputs that a chunk takes. */
struct cpu_product {
    lk_matmul_fn fn;
    const char *w;
    const float *bias;
    float *y;
    int32_t n_in, n_out;
    int32_t step, n_step; /* outputs a chunk, chunks */
    size_t row_bytes;     /* of w */
};

/* Arguments of the nodes, named after their operations. */
union cpu_arg {
    struct {
        float *y;
        struct lk_mat table;
    } embed;
    struct {
        float *y;
        const float *x;
        const int32_t *rows;
        int32_t n_row, n, step;
    } gather;
    struct {
        float *y;
        const float *x, *w;
        int32_t n_row, n, step;
        float eps;
    } rmsnorm;
    struct {
        float *y;
        const float *x, *w, *b;
        int32_t n_row, n, stride, step;
        float eps;
    } layernorm;
    struct {
        struct cpu_product product[3];
        const float *x;
        lk_act_mul_fn act; /* gate_up_act */
        int32_t n_row, n_row_step;
    } matmul;
    struct {
        float *q, *k, *v;
        const float *x;
        int32_t n_share, head_dim;
    } split;
    struct {
        float *y;
        const float *g, *u;
        lk_act_mul_fn act;
        size_t n;
    } act_mul;
    struct {
        float *y;
        const float *x;
        size_t n;
    } add;
    struct {
        float *y;
        size_t n;
        float factor;
    } scale; /* soft_cap too */
    struct {
        float *cos_sin;
        struct lk_rope rope;
    } angles;
    struct {
        float *x;
        const float *cos_sin;
        lk_rope_fn turn;
        int32_t n_head, head_dim, n_rot;
    } rope;
    struct {
        struct lk_attn attn;
        float *q, *k; /* q NULL: nothing is turned */
        const float *cos_sin, *v;
        lk_rope_fn turn;
    } append;
    struct {
        struct lk_attn attn;
        float *y;
        const float *q;
        int32_t max_group; /* parts of a query row; 0: not split */
    } attend;
    struct {
        const struct lk_mixture *mixture;
        const float *logits, *x;
        float *y;
        void *tmp;
        int32_t n_row, step, n_step; /* products: outputs a chunk, chunks of an expert's rows */
    } mix;
    struct {
        float *y;
        const float *x, *gate;
        int32_t n;
    } add_gated;
    struct {
        const char *name;
        const float *x;
        int32_t layer, n_row, n;
    } trace;
};

/* Where a layer's keys and values lie. */
struct cpu_kv_layer {
    float *first;       /* in page 0: [n_kv_head][2][head_dim * LK_KV_PAGE] */
    size_t page_stride; /* floats from a page to the next */
    bool in_window_pages;
};

struct cpu_kv {
    struct lk_kv_shape shape;
    /* [n_page][layers that see all][n_kv_head][2][head_dim * LK_KV_PAGE], then the same of window pages */
    float *pages;
    struct cpu_kv_layer *layers; /* [n_layer] */
    size_t bytes;                /* of the mapping, scratch and parts included */
    /* Scratch of a thread: */
    float *scratch;
    size_t scratch_stride; /* floats */
    /* Parts of attention that is split over its keys, a vector for each query row and group of pages: */
    float *part_max, *part_sum, *part_out;
    size_t n_part;
};

struct cpu_backend {
    struct lk_backend be; /* first: the public part */
    struct lk_cpu cpu;
    struct pool *pool;
    int32_t n_thread, max_row;
    struct cpu_kv kv;

    const struct lk_batch *batch;
    struct cpu_row *rows;   /* [max_row] */
    struct cpu_tile *tiles; /* [max_row] */
    int32_t n_tile;
    int32_t max_pos; /* of the rows */

    struct pool_node *nodes; /* [CPU_MAX_NODE]; fn NULL: a trace */
    union cpu_arg *args;     /* [CPU_MAX_NODE] */
    int32_t n_node;
};

static inline struct cpu_backend *backend_cpu_of(struct lk_backend *be)
{
    return (struct cpu_backend *)be;
}

/* Zeroed memory with every page touched, or NULL. */
void *backend_cpu_map(size_t bytes);

/* Adds a node. If the list is full, what is there runs first. The argument is the caller's to fill. */
union cpu_arg *backend_cpu_push(struct cpu_backend *cb, pool_fn fn, int64_t n_chunk);

/* As lk_open, whose checks have been made. */
int backend_cpu_open(const struct lk_options *options, struct lk_backend **ret_be, char why[256]);
