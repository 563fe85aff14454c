/* Attention and KV pages of the CPU back end: the definition, and the same bits however a sequence is
 * computed. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/rig.h"

/* A shape of heads and a length: above 256 positions attention has several groups of pages. window 0: all. */
struct shape {
    int32_t n_head, n_kv_head, head_dim, n_pos, window;
    float soft_cap; /* 0: none */
    bool alibi, sinks;
};

enum { MAX_HEAD = 80 };

static float slopes[MAX_HEAD], sinks[MAX_HEAD]; /* of every shape that has them */

static const struct shape shapes[] = {
    {4, 2, 64, 600, 0, 0, false, false},   {3, 1, 16, 300, 0, 0, false, false},
    {5, 5, 40, 70, 0, 0, false, false},    {70, 1, 8, 280, 0, 0, false, false},
    {9, 3, 33, 530, 0, 0, false, false},   {1, 1, 128, 1, 0, 0, false, false},
    {2, 1, 64, 1100, 0, 0, false, false},  {3, 1, 16, 300, 1, 0, false, false},
    {4, 2, 16, 330, 8, 0, false, false},   {70, 1, 8, 280, 64, 0, false, false},
    {2, 1, 64, 600, 100, 0, false, false}, {4, 2, 24, 900, 300, 0, false, false},
    {2, 2, 8, 70, 70, 0, false, false},    {2, 1, 16, 530, 513, 0, false, false},
    {4, 2, 24, 600, 0, 5, false, false},   {4, 4, 16, 530, 0, 0, true, false},
    {6, 2, 16, 400, 0, 0, false, true},    {4, 2, 16, 530, 8, 2, true, true},
};

enum { N_SHAPE = sizeof shapes / sizeof *shapes, LAYER = 1, N_LAYER = 2 };

/* A sequence of random queries, keys and values in ordinary memory, and the attention of them all. */
struct sequence {
    struct shape shape;
    float *q, *k, *v, *y; /* [n_pos][heads][head_dim] */
    int32_t *pages, *window_pages;
    int32_t n_page;
};

static size_t q_floats(const struct shape *s)
{
    return (size_t)s->n_head * (size_t)s->head_dim;
}

static size_t kv_floats(const struct shape *s)
{
    return (size_t)s->n_kv_head * (size_t)s->head_dim;
}

/* Pages are numbered backwards from first_page, so that none lies where its number in the sequence suggests.
 */
static struct sequence sequence_new(struct check_rng *rng, const struct shape *shape, int32_t first_page)
{
    struct sequence s = {.shape = *shape, .n_page = (shape->n_pos + LK_KV_PAGE - 1) / LK_KV_PAGE};
    size_t n = (size_t)shape->n_pos;
    s.q = check_allocate(n * q_floats(shape), sizeof *s.q);
    s.k = check_allocate(n * kv_floats(shape), sizeof *s.k);
    s.v = check_allocate(n * kv_floats(shape), sizeof *s.v);
    s.y = check_allocate(n * q_floats(shape), sizeof *s.y);
    s.pages = check_allocate((size_t)s.n_page, sizeof *s.pages);
    s.window_pages = check_allocate((size_t)s.n_page, sizeof *s.window_pages);
    check_fill(rng, s.q, n * q_floats(shape), CHECK_PLAIN);
    check_fill(rng, s.k, n * kv_floats(shape), CHECK_PLAIN);
    check_fill(rng, s.v, n * kv_floats(shape), CHECK_PLAIN);
    for (int32_t i = 0; i < s.n_page; i++)
        s.pages[i] = s.window_pages[i] = first_page + s.n_page - 1 - i;
    return s;
}

/* Window pages in turn, no more than steps of n_row rows need. */
static void sequence_turn(struct sequence *s, int32_t n_row)
{
    int32_t n = lk_kv_window_pages(s->shape.window, n_row < s->shape.n_pos ? n_row : s->shape.n_pos);
    for (int32_t i = n; i < s->n_page; i++)
        s->window_pages[i] = s->window_pages[i - n];
}

static void sequence_free(struct sequence *s)
{
    free(s->q);
    free(s->k);
    free(s->v);
    free(s->y);
    free(s->pages);
    free(s->window_pages);
}

static struct lk_attn attn_of(const struct shape *s)
{
    return (struct lk_attn){.layer = LAYER,
                            .n_head = s->n_head,
                            .n_kv_head = s->n_kv_head,
                            .head_dim = s->head_dim,
                            .n_rot = s->head_dim / 2 * 2,
                            .layout = LK_ROPE_HALF,
                            .scale = 2 / sqrtf((float)s->head_dim),
                            .window = s->window,
                            .soft_cap = s->soft_cap,
                            .slopes = s->alibi ? slopes : NULL,
                            .sinks = s->sinks ? sinks : NULL};
}

static void open_with_pages(struct rig *rig, const struct shape *s, int32_t n_thread, int32_t n_page,
                            const char *level)
{
    rig_open(rig, n_thread, s->n_pos * 3, level);
    const int32_t window[N_LAYER] = {[LAYER] = s->window};
    struct lk_kv_shape kv = {.n_layer = N_LAYER,
                             .n_kv_head = s->n_kv_head,
                             .head_dim = s->head_dim,
                             .n_page = n_page,
                             .window = window,
                             .n_window_page = n_page};
    if (rig->be->ops->kv_create(rig->be, &kv)) {
        fprintf(stderr, "%s\n", rig->be->why);
        exit(2);
    }
}

/* One step of rows [pos, pos + n_row) of each of n sequences (whose shapes agree). */
static bool step(struct rig *rig, struct sequence *const *all, int32_t n, int32_t pos, int32_t n_row)
{
    const struct lk_ops *ops = rig->be->ops;
    struct lk_attn attn = attn_of(&all[0]->shape);
    struct lk_span span[3];
    size_t q = q_floats(&all[0]->shape), kv = kv_floats(&all[0]->shape), rows = (size_t)n_row,
           total = rows * (size_t)n;
    float *mem = check_allocate(total * (2 * q + 2 * kv), sizeof *mem), *y = mem, *x = y + total * q,
          *k = x + total * q;
    float *v = k + total * kv;
    for (size_t i = 0; i < (size_t)n; i++) {
        span[i] = (struct lk_span){.pages = all[i]->pages,
                                   .window_pages = all[i]->window_pages,
                                   .row = (int32_t)i * n_row,
                                   .n_row = n_row,
                                   .pos = pos};
        memcpy(x + i * rows * q, all[i]->q + (size_t)pos * q, rows * q * sizeof *x);
        memcpy(k + i * rows * kv, all[i]->k + (size_t)pos * kv, rows * kv * sizeof *k);
        memcpy(v + i * rows * kv, all[i]->v + (size_t)pos * kv, rows * kv * sizeof *v);
    }
    struct lk_batch batch = {.n_row = (int32_t)total, .span = span, .n_span = n};
    ops->begin(rig->be, &batch);
    ops->kv_append(rig->be, &attn, k, v);
    ops->attend(rig->be, &attn, y, x);
    bool ok = ops->run(rig->be, NULL) == 0;
    for (size_t i = 0; i < (size_t)n; i++)
        memcpy(all[i]->y + (size_t)pos * q, y + i * rows * q, rows * q * sizeof *y);
    free(mem);
    return ok;
}

/* The whole sequence in steps of n_row rows; the last `decode` positions one by one. */
static bool compute(struct rig *rig, struct sequence *s, int32_t n_row, int32_t decode)
{
    struct sequence *one[] = {s};
    int32_t n_pos = s->shape.n_pos, prefill = n_pos > decode ? n_pos - decode : 0;
    bool ok = true;
    memset(s->y, 0, (size_t)n_pos * q_floats(&s->shape) * sizeof *s->y);
    for (int32_t pos = 0; pos < n_pos && ok;) {
        int32_t left = pos < prefill ? prefill - pos : 1, n = left < n_row ? left : n_row;
        ok = step(rig, one, 1, pos, n);
        pos += n;
    }
    return ok;
}

/* ---- The definition ---- */

/* One head of one row in double. A score is off by at most (head_dim + 3) U sum|q k| scale (its sum, rounded
 * once each term); a weight by that and its exponential, for the key and for the sum alike; merging pages and
 * groups rounds a few times a page. */
static bool row_is_right(const struct sequence *s, int32_t pos, int32_t head)
{
    const struct shape *sh = &s->shape;
    size_t dim = (size_t)sh->head_dim, kv_head = (size_t)(head / (sh->n_head / sh->n_kv_head));
    const float *q = s->q + (size_t)pos * q_floats(sh) + (size_t)head * dim;
    double *score = check_allocate((size_t)pos + 1, sizeof *score), top = -INFINITY, worst = 0, sum = 0;
    double scale = (double)attn_of(sh).scale;
    size_t first = sh->window > 0 && pos >= sh->window ? (size_t)(pos - sh->window + 1) : 0;
    for (size_t t = first; t <= (size_t)pos; t++) {
        double size = 0;
        for (size_t d = 0; d < dim; d++) {
            double term = (double)q[d] * (double)s->k[t * kv_floats(sh) + kv_head * dim + d] * scale;
            score[t] += term;
            size += fabs(term);
        }
        worst = fmax(worst, size * (double)(dim + 3) * 0x1p-24);
        if (sh->soft_cap > 0) {
            double cap = (double)sh->soft_cap;
            worst = fmax(worst, (size * (double)(dim + 3) + 2 * fabs(score[t]) + 5 * cap) * 0x1p-24);
            score[t] = cap * tanh(score[t] / cap);
        }
        if (sh->alibi) {
            float b = lk_round_bf16(lk_round_bf16(slopes[head]) * lk_round_bf16((float)t));
            score[t] += scale * (double)b;
            worst = fmax(worst, (size * (double)(dim + 3) + 2 * fabs(score[t]) + 1) * 0x1p-24);
        }
        top = fmax(top, score[t]);
    }
    for (size_t t = first; t <= (size_t)pos; t++)
        sum += score[t] = exp(score[t] - top);
    if (sh->sinks)
        sum += exp((double)sinks[head] - top);
    bool ok = true;
    double relative = 2 * worst + (64 + 12.0 * (pos / LK_KV_PAGE + 2)) * 0x1p-24;
    for (size_t d = 0; d < dim && ok; d++) {
        double want = 0, size = 0;
        for (size_t t = first; t <= (size_t)pos; t++) {
            double term = score[t] / sum * (double)s->v[t * kv_floats(sh) + kv_head * dim + d];
            want += term;
            size += fabs(term);
        }
        const float *y = s->y + (size_t)pos * q_floats(sh) + (size_t)head * dim;
        ok = check_close(y[d], want, relative * size, d);
    }
    free(score);
    return ok;
}

static bool sequence_is_right(const struct sequence *s)
{
    for (int32_t pos = 0; pos < s->shape.n_pos; pos += pos < 70 ? 1 : 41)
        for (int32_t head = 0; head < s->shape.n_head; head++)
            if (!row_is_right(s, pos, head))
                return check_wrong("position %d, head %d", pos, head);
    return true;
}

/* ---- The same bits ---- */

/* Every way to cut a sequence into steps, on 1 to 4 threads. */
static void test_shape(const struct shape *shape, const char *level)
{
    static const int32_t cuts[][2] = {{1, 0}, {37, 0}, {100000, 0}, {64, 0}, {100000, 3}, {129, 20}};
    struct check_rng rng = {check_seed() + (uint64_t)shape->n_pos};
    struct sequence s = sequence_new(&rng, shape, 2);
    size_t n = (size_t)shape->n_pos * q_floats(shape);
    float *first = check_allocate(n, sizeof *first);
    bool same = true, right = false;
    for (int32_t n_thread = 1; n_thread <= 4; n_thread++)
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts && same; i++) {
            struct rig rig;
            open_with_pages(&rig, shape, n_thread, s.n_page + 3, level);
            check_case("%d threads, steps of %d, %d decoded", n_thread, cuts[i][0], cuts[i][1]);
            for (int32_t j = 0; j < s.n_page; j++)
                s.window_pages[j] = s.pages[j];
            if (shape->window > 0)
                sequence_turn(&s, cuts[i][0]);
            same = compute(&rig, &s, cuts[i][0], cuts[i][1]);
            if (n_thread == 1 && i == 0) {
                memcpy(first, s.y, n * sizeof *first);
                right = sequence_is_right(&s);
            }
            same = same && check_same(first, s.y, n, "cut differently");
            rig_close(&rig);
        }
    check_point(right, "%s: %d heads, %d KV heads of %d, %d positions, window %d, cap %g%s%s: the definition",
                level ? level : "best", shape->n_head, shape->n_kv_head, shape->head_dim, shape->n_pos,
                shape->window, (double)shape->soft_cap, shape->alibi ? ", ALiBi" : "",
                shape->sinks ? ", sinks" : "");
    check_point(same, "%s: %d heads, %d KV heads of %d, %d positions, window %d, cap %g%s%s: the same bits",
                level ? level : "best", shape->n_head, shape->n_kv_head, shape->head_dim, shape->n_pos,
                shape->window, (double)shape->soft_cap, shape->alibi ? ", ALiBi" : "",
                shape->sinks ? ", sinks" : "");
    free(first);
    sequence_free(&s);
}

/* Three sequences in one batch, then each alone. */
static void test_batch(int32_t n_thread)
{
    static const struct shape shape = {6, 2, 24, 300, 0, 0, false, false};
    struct check_rng rng = {check_seed()};
    struct sequence s[3], *all[3];
    size_t n = (size_t)shape.n_pos * q_floats(&shape);
    struct rig rig;
    open_with_pages(&rig, &shape, n_thread, 3 * 5, NULL);
    for (int i = 0; i < 3; i++) {
        s[i] = sequence_new(&rng, &shape, i * 5);
        all[i] = &s[i];
    }
    bool ok = true;
    for (int32_t pos = 0, n_row; pos < shape.n_pos && ok; pos += n_row) {
        n_row = pos < 270 ? 90 : 1;
        ok = step(&rig, all, 3, pos, n_row);
    }
    for (int i = 0; i < 3 && ok; i++) {
        float *together = check_allocate(n, sizeof *together);
        memcpy(together, s[i].y, n * sizeof *together);
        check_case("sequence %d", i);
        ok = sequence_is_right(&s[i]) && compute(&rig, &s[i], 50, 5) &&
             check_same(together, s[i].y, n, "alone");
        free(together);
    }
    for (int i = 0; i < 3; i++)
        sequence_free(&s[i]);
    rig_close(&rig);
    check_point(ok, "%d threads: sequences of one batch do not see each other", n_thread);
}

/* Pages that a window has passed are not read: their numbers may be anything. */
static void test_passed_pages(int32_t n_thread)
{
    static const struct shape shape = {4, 2, 16, 600, 100, 0, false, false};
    struct check_rng rng = {check_seed()};
    struct sequence s = sequence_new(&rng, &shape, 0), *one[] = {&s};
    size_t n = (size_t)shape.n_pos * q_floats(&shape);
    float *want = check_allocate(n, sizeof *want);
    struct rig rig;
    open_with_pages(&rig, &shape, n_thread, s.n_page, NULL);
    bool ok = compute(&rig, &s, 1000, 0);
    memcpy(want, s.y, n * sizeof *want);
    memset(s.y, 0, n * sizeof *s.y);
    for (int32_t pos = 0, n_row; pos < shape.n_pos && ok; pos += n_row) {
        n_row = pos % 3 || shape.n_pos - pos < 30 ? 1 : 30;
        for (int32_t i = 0; (i + 1) * LK_KV_PAGE <= pos - shape.window + 1; i++)
            s.window_pages[i] = INT32_MIN;
        ok = step(&rig, one, 1, pos, n_row);
    }
    check_point(ok && check_same(want, s.y, n, "without passed pages"),
                "%d threads: pages that a window has passed are not read", n_thread);
    free(want);
    sequence_free(&s);
    rig_close(&rig);
}

/* Pages that another sequence has left full of NaN. */
static void test_stale(int32_t n_thread)
{
    static const struct shape shape = {4, 2, 40, 333, 0, 0, false, false};
    struct check_rng rng = {check_seed()};
    struct sequence s = sequence_new(&rng, &shape, 0), bad = sequence_new(&rng, &shape, 0);
    size_t n = (size_t)shape.n_pos * q_floats(&shape);
    float *clean = check_allocate(n, sizeof *clean);
    struct rig rig;
    open_with_pages(&rig, &shape, n_thread, s.n_page, NULL);
    bool ok = compute(&rig, &s, 1000, 0);
    memcpy(clean, s.y, n * sizeof *clean);
    for (size_t i = 0; i < (size_t)shape.n_pos * kv_floats(&shape); i++)
        bad.k[i] = bad.v[i] = NAN;
    ok = ok && compute(&rig, &bad, 1000, 0) && isnan(bad.y[0]);
    ok = ok && compute(&rig, &s, 1, 0) && check_same(clean, s.y, n, "after NaN");
    rig_close(&rig);
    sequence_free(&s);
    sequence_free(&bad);
    free(clean);
    check_point(ok, "%d threads: what a page held before does not matter", n_thread);
}

/* rope_kv_append is rope, rope and kv_append. */
static void test_rope_append(int32_t n_thread, enum lk_rope_layout layout)
{
    static const struct shape shape = {6, 3, 22, 40, 0, 0, false, false};
    struct rig rig;
    open_with_pages(&rig, &shape, n_thread, 2, NULL);
    const struct lk_ops *ops = rig.be->ops;
    struct lk_attn attn = attn_of(&shape);
    attn.n_rot = 10;
    attn.layout = layout;
    size_t n = (size_t)shape.n_pos, n_q = n * q_floats(&shape), n_k = n * kv_floats(&shape);
    float *q = rig_random(&rig, n_q), *k = rig_random(&rig, n_k), *v = rig_random(&rig, n_k);
    float *cos_sin = rig_floats(&rig, n * 10), inv_freq[] = {1, 0.5f, 0.25f, 0.1f, 0.01f}, *result[2],
          *turned[2];
    struct lk_rope rope = {.inv_freq = inv_freq, .n_freq = 5, .scale = 1};
    int32_t page = 1;
    struct lk_span span = {.pages = &page, .n_row = shape.n_pos};
    struct lk_batch batch = {.n_row = shape.n_pos, .span = &span, .n_span = 1};
    bool ok = true;
    for (int fused = 0; fused < 2 && ok; fused++) {
        float *q2 = turned[fused] = rig_floats(&rig, n_q), *k2 = rig_floats(&rig, n_k);
        memcpy(q2, q, n_q * sizeof *q);
        memcpy(k2, k, n_k * sizeof *k);
        result[fused] = rig_floats(&rig, n_q);
        ops->begin(rig.be, &batch);
        ops->rope_angles(rig.be, cos_sin, &rope);
        if (fused) {
            ops->rope_kv_append(rig.be, &attn, q2, k2, v, cos_sin);
        } else {
            ops->rope(rig.be, q2, cos_sin, shape.n_head, shape.head_dim, attn.n_rot, layout);
            ops->rope(rig.be, k2, cos_sin, shape.n_kv_head, shape.head_dim, attn.n_rot, layout);
            ops->kv_append(rig.be, &attn, k2, v);
        }
        ops->attend(rig.be, &attn, result[fused], q2);
        ok = ops->run(rig.be, NULL) == 0;
        page = 0; /* the fused one starts on a page of its own */
    }
    ok = ok && check_same(turned[0], turned[1], n_q, "queries") &&
         check_same(result[0], result[1], n_q, "attention") && memcmp(turned[0], q, n_q * sizeof *q) != 0 &&
         result[0][0] != 0;
    check_point(ok, "%d threads: rope_kv_append is rope, rope, kv_append (layout %d)", n_thread, (int)layout);
    rig_close(&rig);
}

int main(void)
{
    struct check_rng rng = {check_seed()};
    for (int i = 0; i < MAX_HEAD; i++) {
        slopes[i] = exp2f(-0.3f * (float)(i + 1));
        sinks[i] = check_uniform(&rng, 3);
    }
    for (int i = 0; i < N_SHAPE; i++)
        test_shape(&shapes[i], NULL);
    test_shape(&shapes[1], "c");
    test_shape(&shapes[4], "c");
    for (int32_t n_thread = 1; n_thread <= 4; n_thread += 3) {
        test_batch(n_thread);
        test_stale(n_thread);
        test_passed_pages(n_thread);
        test_rope_append(n_thread, LK_ROPE_HALF);
        test_rope_append(n_thread, LK_ROPE_INTERLEAVED);
    }
    return check_done();
}
