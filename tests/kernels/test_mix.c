/* Mixtures of experts on the CPU back end: the bits of their plain parts row by row, whatever the batch, and
 * nothing read of experts that nobody chose. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/rig.h"

enum { DIM = 96, FF = 160, MAX_EXPERT = 9, MAX_ROW = 160 };

struct setup {
    struct rig rig;
    struct lk_expert experts[MAX_EXPERT];
    struct lk_mixture mixture;
    float *logits, *x; /* [n_row][n_expert], [n_row][dim] */
    int32_t n_row;
};

static void begin(struct setup *s)
{
    static struct lk_batch batch;
    static struct lk_span span;
    rig_begin(&s->rig, &batch, &span, NULL, s->n_row, 0);
}

static void setup_open(struct setup *s, int32_t n_thread, int32_t n_row, int32_t n_expert, int32_t n_chosen,
                       enum lk_dtype type)
{
    *s = (struct setup){.n_row = n_row};
    rig_open(&s->rig, n_thread, MAX_ROW, NULL);
    for (int32_t e = 0; e < n_expert; e++)
        s->experts[e] = (struct lk_expert){.gate = rig_matrix(&s->rig, type, FF, DIM, NULL),
                                           .up = rig_matrix(&s->rig, type, FF, DIM, NULL),
                                           .down = rig_matrix(&s->rig, type, DIM, FF, NULL)};
    s->mixture = (struct lk_mixture){.experts = s->experts,
                                     .n_expert = n_expert,
                                     .n_chosen = n_chosen,
                                     .dim = DIM,
                                     .ff_dim = FF,
                                     .is_normalized = n_chosen % 2,
                                     .act = n_expert % 2 ? LK_ACT_SWIGLU_CLAMPED : LK_ACT_SILU};
    float *bias = n_row % 2 ? rig_random(&s->rig, MAX_EXPERT * (2 * FF + DIM)) : NULL;
    for (int32_t e = 0; bias && e < n_expert; e++, bias += 2 * FF + DIM) {
        s->experts[e].gate_bias = bias;
        s->experts[e].up_bias = bias + FF;
        s->experts[e].down_bias = bias + 2 * FF;
    }
    s->x = rig_random(&s->rig, (size_t)n_row * DIM);
    s->logits = rig_random(&s->rig, (size_t)n_row * (size_t)n_expert);
    for (int32_t i = 0; i < n_row * n_expert; i++) /* few values: many ties */
        s->logits[i] = roundf(4 * s->logits[i]);
}

/* The definition: experts in the order of their logits, ties by number. */
static void choose(const struct setup *s, const float *logits, int32_t *chosen, float *weight)
{
    const struct lk_mixture *m = &s->mixture;
    double sum = 0, chosen_sum = 0;
    bool taken[MAX_EXPERT] = {false};
    for (int32_t i = 0; i < m->n_chosen; i++) {
        chosen[i] = -1;
        for (int32_t e = m->n_expert; e-- > 0;)
            if (!taken[e] && (chosen[i] < 0 || logits[e] >= logits[chosen[i]]))
                chosen[i] = e;
        taken[chosen[i]] = true;
    }
    for (int32_t e = 0; e < m->n_expert; e++)
        sum += exp((double)logits[e] - (double)logits[chosen[0]]);
    for (int32_t i = 0; i < m->n_chosen; i++)
        chosen_sum += exp((double)logits[chosen[i]] - (double)logits[chosen[0]]);
    for (int32_t i = 0; i < m->n_chosen; i++)
        weight[i] = (float)(exp((double)logits[chosen[i]] - (double)logits[chosen[0]]) /
                            (m->is_normalized ? chosen_sum : sum));
}

/* One row by plain operations. */
static void plain_row(struct setup *s, int32_t row, float *y)
{
    struct lk_backend *be = s->rig.be;
    static float part[DIM], gated[FF], up[FF];
    int32_t chosen[MAX_EXPERT];
    float weight[MAX_EXPERT];
    choose(s, s->logits + (size_t)row * (size_t)s->mixture.n_expert, chosen, weight);
    memset(y, 0, DIM * sizeof *y);
    for (int32_t i = 0; i < s->mixture.n_chosen; i++) {
        const struct lk_expert *e = &s->experts[chosen[i]];
        begin(s);
        be->ops->gate_up_act(be, gated, up, &e->gate, &e->up, e->gate_bias, e->up_bias,
                             s->x + (size_t)row * DIM, 1, s->mixture.act);
        be->ops->matmul(be, part, &e->down, e->down_bias, gated, 1);
        be->ops->run(be, NULL);
        for (int k = 0; k < DIM; k++)
            y[k] += weight[i] * part[k];
    }
}

static float *mix(struct setup *s)
{
    struct lk_backend *be = s->rig.be;
    size_t bytes = lk_mixture_bytes(&s->mixture, s->n_row);
    float *tmp = rig_random(&s->rig, bytes / sizeof(float)); /* what is left there must not matter */
    float *y = rig_random(&s->rig, (size_t)s->n_row * DIM);
    begin(s);
    be->ops->mix(be, y, &s->mixture, s->logits, s->x, s->n_row, tmp);
    return be->ops->run(be, NULL) == 0 ? y : NULL;
}

static void test_bits(void)
{
    static const int32_t shapes[][4] = {/* threads, rows, experts, chosen */
                                        {1, 1, 4, 2},   {2, 1, 9, 4},   {1, 3, 1, 1},   {3, 17, 8, 3},
                                        {4, 160, 2, 1}, {2, 160, 9, 4}, {3, 100, 4, 4}, {2, 49, 1, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int32_t *a = shapes[i];
        struct setup s;
        bool ok = true;
        setup_open(&s, a[0], a[1], a[2], a[3], (enum lk_dtype)(i % LK_N_DTYPE));
        const float *got = mix(&s);
        for (int32_t row = 0; row < s.n_row && ok; row++) {
            float want[DIM];
            plain_row(&s, row, want);
            ok = got && want[0] != 0 && check_same(want, got + (size_t)row * DIM, DIM, "mix");
        }
        check_point(ok, "%d threads, %d rows, %d of %d experts%s: the bits of plain operations", a[0], a[1],
                    a[3], a[2], s.experts[0].gate_bias ? " with biases" : "");
        rig_close(&s.rig);
    }
}

/* n_chosen 2: not normalized, 3: normalized. Memory that is not there: reading it ends the test. */
static void test_unused(int32_t n_chosen)
{
    static const int32_t unused[] = {3, 6};
    struct setup s;
    setup_open(&s, 2, 100, 8, n_chosen, LK_BF16);
    float *want = rig_floats(&s.rig, (size_t)s.n_row * DIM);
    for (int32_t row = 0; row < s.n_row; row++)
        s.logits[row * 8 + 3] = s.logits[row * 8 + 6] = -100;
    memcpy(want, mix(&s), (size_t)s.n_row * DIM * sizeof *want);
    for (int i = 0; i < 2; i++) {
        struct lk_expert *e = &s.experts[unused[i]];
        e->gate.data = e->up.data = e->down.data = NULL;
    }
    const float *y = mix(&s);
    check_point(y && check_same(want, y, (size_t)s.n_row * DIM, "mix"),
                "%d of 8: the weights of experts that are not chosen are not read", n_chosen);
    for (int32_t row = 0; row < s.n_row; row += 2)
        s.logits[row * 8 + 6] = NAN;
    y = mix(&s);
    bool ok = y;
    for (int32_t row = 0; row < s.n_row && ok; row++)
        ok = row % 2 ? check_same(want + row * DIM, y + row * DIM, DIM, "mix") : isnan(y[row * DIM]);
    check_point(ok, "%d of 8: a logit that is not a number is never chosen, and spoils its row", n_chosen);
    rig_close(&s.rig);
}

static void test_lost_rows(void)
{
    struct setup s;
    float want[DIM];
    setup_open(&s, 2, 60, 5, 2, LK_F32);
    for (int32_t i = 0; i < 5; i++)
        s.logits[7 * 5 + i] = NAN;
    plain_row(&s, 8, want);
    const float *y = mix(&s);
    check_point(y && isnan(y[7 * DIM]) && check_same(want, y + (size_t)8 * DIM, DIM, "mix"),
                "a row whose logits are no numbers spoils no other");
    rig_close(&s.rig);
}

static void test_add_gated(void)
{
    enum { ROWS = 7 };
    struct rig rig;
    rig_open(&rig, 2, ROWS, NULL);
    float *y = rig_random(&rig, ROWS * DIM), *x = rig_random(&rig, ROWS * DIM),
          *gate = rig_random(&rig, ROWS);
    float want[ROWS * DIM];
    gate[1] = -200;
    gate[2] = 200;
    for (int i = 0; i < ROWS * DIM; i++)
        want[i] = y[i] + (float)(1 / (1 + exp(-(double)gate[i / DIM]))) * x[i];
    struct lk_batch batch;
    struct lk_span span;
    rig_begin(&rig, &batch, &span, NULL, ROWS, 0);
    rig.be->ops->add_gated(rig.be, y, x, gate, ROWS, DIM);
    check_point(rig.be->ops->run(rig.be, NULL) == 0 && check_same(want, y, ROWS * DIM, "add_gated"),
                "add_gated is its definition");
    rig_close(&rig);
}

int main(void)
{
    test_bits();
    test_unused(2);
    test_unused(3);
    test_lost_rows();
    test_add_gated();
    return check_done();
}
