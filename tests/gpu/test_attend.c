/* Attention of decoding over KV pages. */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kv.h"
#include "tests/gpu/rig_cuda.h"

enum { MAX_DIM = 256, SPLIT_PAGES = 4, TILE = 32, GROUP = 8 }; /* as in kernels/cuda/attend.cu */

struct attend_shape {
    int n_row, length, n_head, n_kv_head, head_dim, window;
    float cap;
};

/* Rows of a batch have different lengths. */
static int row_length(const struct attend_shape *s, int row)
{
    return s->length - row * 13 > 1 ? s->length - row * 13 : 1;
}

struct attend_data {
    int n_page, max_pages; /* of the pool, of a row */
    float *q;
    int *pages, *length;
    uint16_t *k, *v; /* as the device has them */
    float *wk, *wv;  /* the same, widened: [page][n_kv_head][LK_KV_PAGE][head_dim] */
};

static void data_init(struct attend_data *d, const struct attend_shape *s, enum lk_dtype type)
{
    struct check_rng rng = check_rng_for((uint64_t)(s->length * 3 + s->head_dim + s->n_head));
    const int per_row = (s->length + LK_KV_PAGE - 1) / LK_KV_PAGE;
    *d = (struct attend_data){.n_page = per_row * s->n_row + 1, .max_pages = per_row};
    const size_t pool = (size_t)(d->n_page * s->n_kv_head * LK_KV_PAGE * s->head_dim);
    d->q = rig_floats(&rng, (size_t)(s->n_row * s->n_head * s->head_dim), CHECK_PLAIN);
    d->wk = rig_floats(&rng, pool, CHECK_PLAIN);
    d->wv = rig_floats(&rng, pool, CHECK_PLAIN);
    d->k = check_allocate(pool, sizeof *d->k);
    d->v = check_allocate(pool, sizeof *d->v);
    d->pages = check_allocate((size_t)(s->n_row * per_row), sizeof *d->pages);
    d->length = check_allocate((size_t)s->n_row, sizeof *d->length);
    for (size_t i = 0; i < (size_t)(s->n_row * s->n_head * s->head_dim); i++)
        d->q[i] *= 3;
    check_store(d->k, type, d->wk, pool, NULL);
    check_store(d->v, type, d->wv, pool, NULL);
    rig_c.widen[type](d->wk, d->k, pool);
    rig_c.widen[type](d->wv, d->v, pool);
    /* Pages in no order. Page 0 is nobody's. */
    for (int i = 0; i < s->n_row * per_row; i++)
        d->pages[i] = s->n_row * per_row - i;
    for (int r = 0; r < s->n_row; r++)
        d->length[r] = row_length(s, r);
}

static void data_deinit(struct attend_data *d)
{
    free(d->q), free(d->wk), free(d->wv), free(d->k), free(d->v), free(d->pages), free(d->length);
}

/* What nobody may look at is no number: page 0, keys beyond a row's length and before its window. */
static void poison(const struct attend_data *d, const struct attend_shape *s)
{
    const size_t head = (size_t)(LK_KV_PAGE * s->head_dim), page = head * (size_t)s->n_kv_head;
    memset(d->k, 0xff, page * 2);
    memset(d->v, 0xff, page * 2);
    for (int r = 0; r < s->n_row; r++)
        for (int p = 0; p < d->max_pages * LK_KV_PAGE; p++) {
            const int from = s->window && d->length[r] > s->window ? d->length[r] - s->window : 0;
            if (p >= from && p < d->length[r])
                continue;
            for (int h = 0; h < s->n_kv_head; h++) {
                const size_t at = (size_t)d->pages[r * d->max_pages + p / LK_KV_PAGE] * page +
                                  (size_t)h * head + (size_t)(p % LK_KV_PAGE * s->head_dim);
                memset(d->k + at, 0xff, (size_t)s->head_dim * 2);
                memset(d->v + at, 0xff, (size_t)s->head_dim * 2);
            }
        }
}

/* One query head of a row by the C definitions, page by page; bound: what errors of the scores and of the
 * sums may move. A score is off by a chain of head_dim roundings of its magnitudes; a weight by twice that,
 * and so an output by four times that share of the greatest value. */
static void expect(const struct attend_data *d, const struct attend_shape *s, int row, int head, float scale,
                   double *ref, double *bound)
{
    const int dim = s->head_dim, kv = head / (s->n_head / s->n_kv_head), length = d->length[row];
    const int from = s->window && length > s->window ? length - s->window : 0;
    const float *q = d->q + (size_t)(row * s->n_head + head) * (size_t)dim;
    float m = -INFINITY, l = 0, out[MAX_DIM] = {0}, pout[MAX_DIM],
          *kt = check_allocate((size_t)(LK_KV_PAGE * dim), 4);
    double score_error = 0, greatest = 0;
    for (int p = 0; p * LK_KV_PAGE < length; p++) {
        const size_t at =
            ((size_t)(d->pages[row * d->max_pages + p] * s->n_kv_head + kv) * LK_KV_PAGE) * (size_t)dim;
        int32_t first = from > p * LK_KV_PAGE ? from - p * LK_KV_PAGE : 0;
        int32_t last = length - p * LK_KV_PAGE < LK_KV_PAGE ? length - p * LK_KV_PAGE : LK_KV_PAGE;
        float pm, pl;
        if (first >= last)
            continue;
        for (int t = 0; t < LK_KV_PAGE; t++) {
            double size = 0;
            for (int i = 0; i < dim; i++) {
                kt[i * LK_KV_PAGE + t] = d->wk[at + (size_t)(t * dim + i)];
                size += fabs((double)q[i] * (double)d->wk[at + (size_t)(t * dim + i)]) * (double)scale;
                greatest = fmax(greatest, fabs((double)d->wv[at + (size_t)(t * dim + i)]));
            }
            score_error = fmax(score_error, (dim + 16) * FLT_EPSILON * size);
        }
        rig_c.attn_page(&pm, &pl, pout, q, (size_t)dim, 1, &first, &last, kt, d->wv + at, (size_t)dim, scale,
                        s->cap, NULL);
        rig_c.attn_merge(&m, &l, out, pm, pl, pout, (size_t)dim);
    }
    for (int i = 0; i < dim; i++) {
        ref[i] = (double)out[i] / (double)l;
        bound[i] = greatest * (4 * score_error + (length / 8.0 + 64) * FLT_EPSILON);
    }
    free(kt);
}

static bool attend_case(const char *name, enum lk_dtype type, const struct attend_shape *s)
{
    struct attend_data d;
    data_init(&d, s, type);
    const size_t n = (size_t)(s->n_row * s->n_head * s->head_dim);
    const size_t pool = (size_t)(d.n_page * s->n_kv_head * LK_KV_PAGE * s->head_dim);
    double *ref = check_allocate(n, sizeof *ref), *bound = check_allocate(n, sizeof *bound);
    float scale = 1 / sqrtf((float)s->head_dim), cap = s->cap;
    for (int r = 0; r < s->n_row; r++)
        for (int h = 0; h < s->n_head; h++) {
            const size_t at = (size_t)(r * s->n_head + h) * (size_t)s->head_dim;
            expect(&d, s, r, h, scale, ref + at, bound + at);
        }
    poison(&d, s);
    const int group = s->n_head / s->n_kv_head;
    int n_split = (d.max_pages + SPLIT_PAGES - 1) / SPLIT_PAGES, max_pages = d.max_pages, n_head = s->n_head;
    int n_kv_head = s->n_kv_head, dim = s->head_dim, window = s->window;
    const unsigned n_thread = ((unsigned)dim + 31) / 32 * 32, n_group = (unsigned)(group + GROUP - 1) / GROUP;
    CUdeviceptr dq = rig_put(d.q, n * 4), dk = rig_put(d.k, pool * 2), dv = rig_put(d.v, pool * 2);
    CUdeviceptr dp = rig_put(d.pages, (size_t)(s->n_row * d.max_pages) * 4),
                dl = rig_put(d.length, (size_t)s->n_row * 4);
    CUdeviceptr part = rig_new((size_t)(s->n_row * s->n_head * n_split * (dim + 2)) * 4), dy = rig_new(n * 4);
    check_case("%s: %d rows of %d keys, %d heads on %d of %d, window %d, cap %g", name, s->n_row, s->length,
               n_head, n_kv_head, dim, window, (double)cap);
    rig_run(name,
            &(struct context_launch){
                .grid = {(unsigned)n_kv_head * n_group, (unsigned)n_split, (unsigned)s->n_row},
                .block = {n_thread},
                .shared_bytes = (unsigned)(4 * (GROUP * dim + TILE * (dim + 1) + GROUP * TILE + GROUP * 3))},
            (void *[]){&part, &dk, &dv, &dq, &dp, &dl, &max_pages, &n_head, &n_kv_head, &dim, &window, &scale,
                       &cap});
    rig_run("attend_join",
            &(struct context_launch){.grid = {(unsigned)n_head, (unsigned)s->n_row}, .block = {n_thread}},
            (void *[]){&dy, &part, &n_split, &dim});
    float *y = rig_get(dy, n * 4);
    bool ok = rig_close_to(y, ref, bound, n);
    free(ref), free(bound), free(y);
    data_deinit(&d);
    rig_end();
    return ok;
}

void test_attend(void)
{
    static const struct attend_shape shapes[] = {
        {1, 1, 4, 2, 64, 0, 0},   {2, 77, 2, 2, 64, 0, 0},     {1, 200, 16, 2, 128, 0, 0},
        {1, 700, 6, 2, 64, 0, 0}, {2, 300, 10, 1, 64, 0, 30},  {2, 333, 4, 2, 32, 100, 0},
        {1, 600, 2, 1, 80, 1, 0}, {1, 130, 3, 1, 256, 65, 50},
    };
    for (int t = 0; t < 2; t++) {
        const char *name = t ? "attend_split_bf16" : "attend_split_f16";
        bool ok = true;
        for (size_t i = 0; i < (rig_quick ? 3 : sizeof shapes / sizeof *shapes); i++)
            ok = attend_case(name, t ? LK_BF16 : LK_F16, &shapes[i]) && ok;
        check_point(ok, "%s and attend_join", name);
    }
}
