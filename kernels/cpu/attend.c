/* KV pages and attention over them.
 *
 * A page is [layers of its kind][n_kv_head], each with keys [head_dim][LK_KV_PAGE] and values
 * [LK_KV_PAGE][head_dim], in float32.
 *
 * A query row's result is defined by absolute positions alone: each page gives a part (max, sum, out); the
 * parts of GROUP_PAGES pages are merged in order, starting with nothing; the results of the groups are merged
 * in order; at the end the output is divided by the sum. So decoding one by one, prefill in chunks and one
 * prefill agree in every bit, and so do all ways of sharing the work: many rows are shared out by rows and KV
 * heads; a few rows with many keys by groups as well, whose parts wait in memory for a second node that
 * merges them. */
#include "config.h"

#include "kernels/cpu/attend.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GROUP_PAGES = 4,    /* with head_dim 64: 128 KiB of keys and values, a few microseconds */
    MAX_QUERY = 64,     /* query rows in one call of the kernel */
    TASKS_A_THREAD = 4, /* split by groups where there are fewer */
    PART_HEADS = 16,    /* parts are kept for this many query heads a KV head over the whole pool */
};

/* The running state of up to MAX_QUERY query rows. */
struct state {
    float *max, *sum, *out; /* out[MAX_QUERY][head_dim] */
};

/* What a thread works in. */
struct scratch {
    struct state all, group, page;
    float *q;    /* [MAX_QUERY][head_dim] */
    float *bias; /* [MAX_QUERY][LK_KV_PAGE] */
};

static int32_t min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static size_t state_floats(size_t head_dim)
{
    return MAX_QUERY * (head_dim + 2);
}

static size_t scratch_floats(size_t head_dim)
{
    return 3 * state_floats(head_dim) + MAX_QUERY * (head_dim + LK_KV_PAGE);
}

static struct state state_at(float *mem, size_t head_dim)
{
    return (struct state){
        .out = mem, .max = mem + MAX_QUERY * head_dim, .sum = mem + MAX_QUERY * (head_dim + 1)};
}

static struct scratch scratch_of(const struct cpu_backend *cb, int32_t i_thread)
{
    size_t head_dim = (size_t)cb->kv.shape.head_dim, n = state_floats(head_dim);
    float *mem = cb->kv.scratch + (size_t)i_thread * cb->kv.scratch_stride;
    return (struct scratch){.all = state_at(mem, head_dim),
                            .group = state_at(mem + n, head_dim),
                            .page = state_at(mem + 2 * n, head_dim),
                            .q = mem + 3 * n,
                            .bias = mem + 3 * n + MAX_QUERY * head_dim};
}

static size_t n_part_of(const struct lk_kv_shape *shape)
{
    return ((size_t)shape->n_page + GROUP_PAGES - 1) / GROUP_PAGES * (size_t)shape->n_kv_head * PART_HEADS;
}

static bool mul(size_t *total, size_t factor)
{
    return !__builtin_mul_overflow(*total, factor, total);
}

static bool is_window_layer(const struct lk_kv_shape *shape, int32_t layer)
{
    return shape->window && shape->window[layer] > 0;
}

static size_t n_window_layer_of(const struct lk_kv_shape *shape)
{
    size_t n = 0;
    for (int32_t i = 0; shape->window && i < shape->n_layer; i++)
        n += is_window_layer(shape, i);
    return n;
}

/* Floats of the pages of both kinds, and of the parts; false if they cannot be counted. */
static bool count_floats(const struct lk_kv_shape *shape, size_t *ret_pages, size_t *ret_parts)
{
    if (shape->n_layer < 1 || shape->n_kv_head < 1 || shape->head_dim < 1 || shape->n_page < 1 ||
        shape->n_window_page < 0)
        return false;
    size_t n_window_layer = n_window_layer_of(shape), layer = (size_t)2 * LK_KV_PAGE,
           all = (size_t)shape->n_layer - n_window_layer, window = n_window_layer,
           parts = (size_t)shape->head_dim + 2;
    if (!mul(&layer, (size_t)shape->head_dim) || !mul(&layer, (size_t)shape->n_kv_head) ||
        !mul(&all, (size_t)shape->n_page) || !mul(&window, (size_t)shape->n_window_page) ||
        !mul(&all, layer) || !mul(&window, layer) || !mul(&parts, n_part_of(shape)))
        return false;
    *ret_parts = parts;
    return !__builtin_add_overflow(all, window, ret_pages);
}

size_t attend_kv_bytes(const struct lk_kv_shape *shape)
{
    size_t pages, parts, bytes;
    if (!count_floats(shape, &pages, &parts) || __builtin_add_overflow(pages, parts, &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(float), &bytes))
        return SIZE_MAX;
    return bytes;
}

static size_t layer_floats(const struct lk_kv_shape *shape)
{
    return (size_t)2 * LK_KV_PAGE * (size_t)shape->head_dim * (size_t)shape->n_kv_head;
}

/* Places the layers: those of a kind follow each other in its pages. */
static void place_layers(struct cpu_kv *kv, const struct lk_kv_shape *shape)
{
    size_t n = layer_floats(shape), n_window_layer = n_window_layer_of(shape),
           n_all_layer = (size_t)shape->n_layer - n_window_layer;
    float *next_all = kv->pages, *next_window = kv->pages + (size_t)shape->n_page * n_all_layer * n;
    for (int32_t i = 0; i < shape->n_layer; i++) {
        bool in_window_pages = is_window_layer(shape, i);
        float **next = in_window_pages ? &next_window : &next_all;
        kv->layers[i] =
            (struct cpu_kv_layer){.first = *next,
                                  .page_stride = (in_window_pages ? n_window_layer : n_all_layer) * n,
                                  .in_window_pages = in_window_pages};
        *next += n;
    }
}

int attend_kv_create(struct lk_backend *be, const struct lk_kv_shape *shape)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    struct cpu_kv *kv = &cb->kv;
    size_t pages, parts, bytes = attend_kv_bytes(shape);
    if (kv->pages || bytes == SIZE_MAX || !count_floats(shape, &pages, &parts))
        return -EINVAL;
    /* Strides of 16 floats keep threads off each other's cache lines. */
    size_t stride = (scratch_floats((size_t)shape->head_dim) + 15) / 16 * 16,
           scratch = stride * (size_t)cb->n_thread;
    size_t total;
    float *mem = NULL;
    if (!__builtin_add_overflow(bytes, scratch * sizeof *mem, &total))
        mem = backend_cpu_map(total);
    if (!mem)
        return LK_E_NO_MEMORY;
    struct cpu_kv_layer *layers = calloc((size_t)shape->n_layer, sizeof *layers);
    if (!layers) {
        munmap(mem, total);
        return -ENOMEM;
    }
    madvise(mem, total, MADV_DONTDUMP);
    size_t n_part = n_part_of(shape);
    *kv = (struct cpu_kv){
        .shape = *shape,
        .pages = mem,
        .layers = layers,
        .bytes = total,
        .scratch = mem + pages,
        .scratch_stride = stride,
        .part_out = mem + pages + scratch,
        .part_max = mem + pages + scratch + parts - 2 * n_part,
        .part_sum = mem + pages + scratch + parts - n_part,
        .n_part = n_part,
    };
    kv->shape.window = NULL; /* not kept */
    place_layers(kv, shape);
    return 0;
}

void attend_kv_free(struct cpu_kv *kv)
{
    if (kv->pages)
        munmap(kv->pages, kv->bytes);
    free(kv->layers);
    *kv = (struct cpu_kv){0};
}

/* Keys of a layer and KV head in the i-th page of a row's sequence; its values follow. */
static float *keys_of(const struct cpu_kv *kv, const struct cpu_row *row, int32_t i_page, int32_t layer,
                      int32_t kv_head)
{
    const struct cpu_kv_layer *l = &kv->layers[layer];
    int32_t page = (l->in_window_pages ? row->window_pages : row->pages)[i_page];
    return l->first + (size_t)page * l->page_stride +
           (size_t)kv_head * 2 * LK_KV_PAGE * (size_t)kv->shape.head_dim;
}

static void append_row(const struct cpu_backend *cb, const union cpu_arg *a, int32_t row, int32_t kv_head)
{
    const struct lk_attn *attn = &a->append.attn;
    size_t head_dim = (size_t)attn->head_dim;
    size_t at = ((size_t)row * (size_t)attn->n_kv_head + (size_t)kv_head) * head_dim;
    int32_t pos = cb->rows[row].pos;
    size_t t = (size_t)pos % LK_KV_PAGE;
    float *k = keys_of(&cb->kv, &cb->rows[row], pos / LK_KV_PAGE, attn->layer, kv_head);
    float *v = k + LK_KV_PAGE * head_dim;
    for (size_t i = 0; i < head_dim; i++)
        k[i * LK_KV_PAGE + t] = a->append.k[at + i];
    memcpy(v + t * head_dim, a->append.v + at, head_dim * sizeof *v);
}

/* Turns the query heads of a KV head, and its key. */
static void turn_row(const union cpu_arg *a, int32_t row, int32_t kv_head)
{
    const struct lk_attn *attn = &a->append.attn;
    size_t n_freq = (size_t)attn->n_rot / 2, head_dim = (size_t)attn->head_dim;
    const float *cosines = a->append.cos_sin + (size_t)row * 2 * n_freq, *sines = cosines + n_freq;
    int32_t n_share = attn->n_head / attn->n_kv_head;
    for (int32_t h = kv_head * n_share; h < (kv_head + 1) * n_share; h++)
        a->append.turn(a->append.q + ((size_t)row * (size_t)attn->n_head + (size_t)h) * head_dim, cosines,
                       sines, n_freq);
    a->append.turn(a->append.k + ((size_t)row * (size_t)attn->n_kv_head + (size_t)kv_head) * head_dim,
                   cosines, sines, n_freq);
}

/* A chunk is one KV head of a tile's rows: neighbours in a page share cache lines. */
static void append_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    const struct cpu_tile *tile = &cb->tiles[i_chunk / a->append.attn.n_kv_head];
    int32_t kv_head = i_chunk % a->append.attn.n_kv_head;
    for (int32_t row = tile->row; row < tile->row + tile->n_row; row++) {
        if (a->append.q)
            turn_row(a, row, kv_head);
        append_row(cb, a, row, kv_head);
    }
}

void attend_rope_kv_append(struct lk_backend *be, const struct lk_attn *attn, float *q, float *k,
                           const float *v, const float *cos_sin)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    union cpu_arg *a = backend_cpu_push(cb, append_chunk, (int64_t)cb->n_tile * attn->n_kv_head);
    a->append.attn = *attn;
    a->append.q = q;
    a->append.k = k;
    a->append.v = v;
    a->append.cos_sin = cos_sin;
    a->append.turn = attn->layout == LK_ROPE_HALF ? cb->cpu.rope_half : cb->cpu.rope_pair;
}

void attend_kv_append(struct lk_backend *be, const struct lk_attn *attn, const float *k, const float *v)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    union cpu_arg *a = backend_cpu_push(cb, append_chunk, (int64_t)cb->n_tile * attn->n_kv_head);
    a->append.attn = *attn;
    a->append.q = NULL;
    a->append.k = (float *)k; /* only read where q is NULL */
    a->append.v = v;
}

/* Query rows of a tile that read one KV head, [from, from + n) of n_row * n_share; the heads of a row are
 * next to each other. */
struct queries {
    const struct cpu_tile *tile;
    int32_t kv_head, from, n;
};

static int32_t query_row(const struct lk_attn *attn, const struct queries *qs, int32_t i)
{
    return qs->tile->row + (qs->from + i) / (attn->n_head / attn->n_kv_head);
}

/* Its index among the heads of all rows: [n_row][n_head]. */
static size_t query_index(const struct lk_attn *attn, const struct queries *qs, int32_t i)
{
    int32_t n_share = attn->n_head / attn->n_kv_head;
    return (size_t)query_row(attn, qs, i) * (size_t)attn->n_head +
           (size_t)(qs->kv_head * n_share + (qs->from + i) % n_share);
}

static void state_clear(struct state *s, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        s->max[i] = -INFINITY;
        s->sum[i] = 0;
    }
}

/* The i-th row of an empty state has an output that nobody reads. */
static void merge_row(const struct cpu_backend *cb, struct state *into, int32_t i, float max, float sum,
                      const float *out)
{
    size_t head_dim = (size_t)cb->kv.shape.head_dim;
    cb->cpu.attn_merge(&into->max[i], &into->sum[i], into->out + (size_t)i * head_dim, max, sum, out,
                       head_dim);
}

static void merge_rows(const struct cpu_backend *cb, struct state *into, const struct state *part, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        merge_row(cb, into, i, part->max[i], part->sum[i],
                  part->out + (size_t)i * (size_t)cb->kv.shape.head_dim);
}

static int32_t query_head(const struct lk_attn *attn, const struct queries *qs, int32_t i)
{
    int32_t n_share = attn->n_head / attn->n_kv_head;
    return qs->kv_head * n_share + (qs->from + i) % n_share;
}

/* What ALiBi adds to the scores of a page's keys. */
static void fill_bias(const struct lk_attn *attn, const struct queries *qs, int32_t i_page, float *bias)
{
    for (int32_t t = 0; t < LK_KV_PAGE; t++) {
        float pos = lk_round_bf16((float)(i_page * LK_KV_PAGE + t));
        for (int32_t i = 0; i < qs->n; i++) {
            float slope = lk_round_bf16(attn->slopes[query_head(attn, qs, i)]);
            bias[i * LK_KV_PAGE + t] = attn->scale * lk_round_bf16(slope * pos);
        }
    }
}

/* The first position that a row at pos sees. */
static int32_t first_seen(const struct lk_attn *attn, int32_t pos)
{
    return attn->window > 0 && pos >= attn->window ? pos - attn->window + 1 : 0;
}

static int32_t within_page(int32_t pos, int32_t i_page)
{
    int32_t n = pos - i_page * LK_KV_PAGE;
    return n < 0 ? 0 : min_i32(n, LK_KV_PAGE);
}

/* s->group = attention of s->q over one group of pages, but for those that no row sees. */
static void attend_group(const struct cpu_backend *cb, const struct lk_attn *attn, const struct queries *qs,
                         int32_t i_group, struct scratch *s)
{
    size_t head_dim = (size_t)attn->head_dim;
    const struct cpu_row *last_row = &cb->rows[query_row(attn, qs, qs->n - 1)];
    int32_t begin = first_seen(attn, cb->rows[query_row(attn, qs, 0)].pos) / LK_KV_PAGE;
    int32_t end = min_i32((i_group + 1) * GROUP_PAGES, last_row->pos / LK_KV_PAGE + 1);
    int32_t first[MAX_QUERY], last[MAX_QUERY];
    state_clear(&s->group, qs->n);
    for (int32_t i_page = max_i32(i_group * GROUP_PAGES, begin); i_page < end; i_page++) {
        for (int32_t i = 0; i < qs->n; i++) {
            int32_t pos = cb->rows[query_row(attn, qs, i)].pos;
            first[i] = within_page(first_seen(attn, pos), i_page);
            last[i] = within_page(pos + 1, i_page);
        }
        const float *k = keys_of(&cb->kv, last_row, i_page, attn->layer, qs->kv_head);
        if (attn->slopes)
            fill_bias(attn, qs, i_page, s->bias);
        cb->cpu.attn_page(s->page.max, s->page.sum, s->page.out, s->q, head_dim, (size_t)qs->n, first, last,
                          k, k + LK_KV_PAGE * head_dim, head_dim, attn->scale, attn->soft_cap,
                          attn->slopes ? s->bias : NULL);
        merge_rows(cb, &s->group, &s->page, qs->n);
    }
}

static int32_t n_group_of(int32_t pos)
{
    return pos / (LK_KV_PAGE * GROUP_PAGES) + 1;
}

static void load_queries(const struct lk_attn *attn, const float *q, const struct queries *qs,
                         struct scratch *s)
{
    size_t head_dim = (size_t)attn->head_dim;
    for (int32_t i = 0; i < qs->n; i++)
        memcpy(s->q + (size_t)i * head_dim, q + query_index(attn, qs, i) * head_dim, head_dim * sizeof *q);
}

/* The i-th row of s->all, whose keys are all merged, as the result of a head. */
static void store_result(const struct cpu_backend *cb, const struct lk_attn *attn, float *y,
                         struct scratch *s, int32_t i, int32_t head)
{
    size_t head_dim = (size_t)attn->head_dim;
    if (attn->sinks) {
        memset(s->page.out, 0, head_dim * sizeof *s->page.out);
        merge_row(cb, &s->all, i, attn->sinks[head], 1, s->page.out);
    }
    const float *out = s->all.out + (size_t)i * head_dim;
    for (size_t d = 0; d < head_dim; d++)
        y[d] = out[d] / s->all.sum[i];
}

/* All keys of these queries. */
static void attend_whole(const struct cpu_backend *cb, const union cpu_arg *a, const struct queries *qs,
                         struct scratch *s)
{
    const struct lk_attn *attn = &a->attend.attn;
    size_t head_dim = (size_t)attn->head_dim;
    int32_t n_group = n_group_of(cb->rows[query_row(attn, qs, qs->n - 1)].pos);
    state_clear(&s->all, qs->n);
    for (int32_t i_group = 0; i_group < n_group; i_group++) {
        attend_group(cb, attn, qs, i_group, s);
        merge_rows(cb, &s->all, &s->group, qs->n);
    }
    for (int32_t i = 0; i < qs->n; i++)
        store_result(cb, attn, a->attend.y + query_index(attn, qs, i) * head_dim, s, i,
                     query_head(attn, qs, i));
}

/* One group of keys, kept as a part. */
static void attend_part(const struct cpu_backend *cb, const union cpu_arg *a, const struct queries *qs,
                        int32_t i_group, struct scratch *s)
{
    const struct lk_attn *attn = &a->attend.attn;
    size_t head_dim = (size_t)attn->head_dim;
    attend_group(cb, attn, qs, i_group, s);
    for (int32_t i = 0; i < qs->n; i++) {
        size_t part = query_index(attn, qs, i) * (size_t)a->attend.max_group + (size_t)i_group;
        cb->kv.part_max[part] = s->group.max[i];
        cb->kv.part_sum[part] = s->group.sum[i];
        if (s->group.sum[i] != 0)
            memcpy(cb->kv.part_out + part * head_dim, s->group.out + (size_t)i * head_dim,
                   head_dim * sizeof(float));
    }
}

/* A chunk is a tile, a KV head and, if split, a group. The last tiles, which see the most keys, come first.
 */
static void attend_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    const struct lk_attn *attn = &a->attend.attn;
    struct scratch s = scratch_of(cb, i_thread);
    int32_t n_split = a->attend.max_group ? a->attend.max_group : 1;
    int32_t i_group = i_chunk % n_split, i_task = i_chunk / n_split;
    const struct cpu_tile *tile = &cb->tiles[cb->n_tile - 1 - i_task / attn->n_kv_head];
    int32_t n = tile->n_row * (attn->n_head / attn->n_kv_head);
    for (int32_t from = 0; from < n; from += MAX_QUERY) {
        struct queries qs = {tile, i_task % attn->n_kv_head, from, min_i32(n - from, MAX_QUERY)};
        load_queries(attn, a->attend.q, &qs, &s);
        if (a->attend.max_group)
            attend_part(cb, a, &qs, i_group, &s);
        else
            attend_whole(cb, a, &qs, &s);
    }
}

/* Merges the parts of one query row. */
static void merge_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    const struct lk_attn *attn = &a->attend.attn;
    size_t head_dim = (size_t)attn->head_dim;
    struct scratch s = scratch_of(cb, i_thread);
    state_clear(&s.all, 1);
    int32_t n_group = n_group_of(cb->rows[i_chunk / attn->n_head].pos);
    for (int32_t i_group = 0; i_group < n_group; i_group++) {
        size_t part = (size_t)i_chunk * (size_t)a->attend.max_group + (size_t)i_group;
        merge_row(cb, &s.all, 0, cb->kv.part_max[part], cb->kv.part_sum[part],
                  cb->kv.part_out + part * head_dim);
    }
    store_result(cb, attn, a->attend.y + (size_t)i_chunk * head_dim, &s, 0, i_chunk % attn->n_head);
}

/* Splitting by groups pays where rows and KV heads alone leave threads without work. It changes no bit. */
static bool is_split(const struct cpu_backend *cb, const struct lk_attn *attn, int32_t max_group)
{
    int64_t n_task = (int64_t)cb->n_tile * attn->n_kv_head;
    return cb->n_thread > 1 && max_group > 1 && n_task < (int64_t)TASKS_A_THREAD * cb->n_thread &&
           (size_t)cb->batch->n_row * (size_t)attn->n_head * (size_t)max_group <= cb->kv.n_part;
}

void attend_attend(struct lk_backend *be, const struct lk_attn *attn, float *y, const float *q)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    assert(attn->window > 0 || !cb->kv.layers[attn->layer].in_window_pages);
    int32_t max_group = n_group_of(cb->max_pos);
    bool split = is_split(cb, attn, max_group);
    int64_t n_chunk = (int64_t)cb->n_tile * attn->n_kv_head * (split ? max_group : 1);
    union cpu_arg *a = backend_cpu_push(cb, attend_chunk, n_chunk);
    a->attend.attn = *attn;
    a->attend.y = y;
    a->attend.q = q;
    a->attend.max_group = split ? max_group : 0;
    if (!split)
        return;
    union cpu_arg copy = *a; /* the next push may run the list and begin it anew */
    *backend_cpu_push(cb, merge_chunk, (int64_t)cb->batch->n_row * attn->n_head) = copy;
}
