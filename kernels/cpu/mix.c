/* Mixtures of experts on the CPU back end.
 *
 * Each row is paired with the experts it chose. Pairs are sorted by expert, so that the weights of an expert
 * are read once for all its rows, and cut into units of one expert and at most LK_CUT_ROW rows. Who chose
 * what is known only while the step runs: the lists of chunks are made for the greatest number of units there
 * can be, and what is too many does nothing. A pair's product depends on its row and expert alone and a row
 * adds up its pairs in the order of its own logits, so no other row can change a bit. */
#include "config.h"

#include "kernels/cpu/mix.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/backend_cpu.h"
#include "kernels/cpu/nodes.h"

/* Sorted pairs [from, end), all of one expert. */
struct mix_unit {
    int32_t expert, from, end;
};

/* What lies in the scratch. */
struct mix_tmp {
    int32_t *chosen;        /* [n_pair]: pair row * n_chosen + i is with this expert */
    float *weight;          /* [n_pair] */
    int32_t *place;         /* [n_pair]: where the pair is when sorted */
    int32_t *source;        /* [n_pair]: the row of a sorted pair */
    int32_t *start;         /* [n_expert + 1] */
    int32_t *n_unit;        /* [1] */
    struct mix_unit *units; /* [max_unit] */
    float *x, *y;           /* [n_pair][dim], sorted */
    float *gate, *up;       /* [n_pair][ff_dim], sorted */
};

static size_t take(size_t *at, size_t n, size_t size)
{
    size_t here = *at;
    *at += (n * size + 63) / 64 * 64;
    return here;
}

static size_t max_unit(const struct lk_mixture *m, size_t n_pair)
{
    size_t n_used = (size_t)m->n_expert < n_pair ? (size_t)m->n_expert : n_pair;
    return n_used + n_pair / LK_CUT_ROW;
}

/* Lays the scratch out; returns its bytes. base may be NULL. */
static size_t lay_out(const struct lk_mixture *m, int32_t n_row, char *base, struct mix_tmp *ret)
{
    size_t n_pair = (size_t)n_row * (size_t)m->n_chosen, at = 0;
    size_t dim = (size_t)m->dim, ff_dim = (size_t)m->ff_dim;
    size_t chosen = take(&at, n_pair, sizeof *ret->chosen), weight = take(&at, n_pair, sizeof *ret->weight);
    size_t place = take(&at, n_pair, sizeof *ret->place), source = take(&at, n_pair, sizeof *ret->source);
    size_t start = take(&at, (size_t)m->n_expert + 1, sizeof *ret->start);
    size_t n_unit = take(&at, 1, sizeof *ret->n_unit);
    size_t units = take(&at, max_unit(m, n_pair), sizeof *ret->units);
    size_t x = take(&at, n_pair * dim, sizeof *ret->x), y = take(&at, n_pair * dim, sizeof *ret->y);
    size_t gate = take(&at, n_pair * ff_dim, sizeof *ret->gate),
           up = take(&at, n_pair * ff_dim, sizeof *ret->up);
    if (base)
        *ret = (struct mix_tmp){
            .chosen = (int32_t *)(void *)(base + chosen),
            .weight = (float *)(void *)(base + weight),
            .place = (int32_t *)(void *)(base + place),
            .source = (int32_t *)(void *)(base + source),
            .start = (int32_t *)(void *)(base + start),
            .n_unit = (int32_t *)(void *)(base + n_unit),
            .units = (struct mix_unit *)(void *)(base + units),
            .x = (float *)(void *)(base + x),
            .y = (float *)(void *)(base + y),
            .gate = (float *)(void *)(base + gate),
            .up = (float *)(void *)(base + up),
        };
    return at;
}

size_t lk_mixture_bytes(const struct lk_mixture *mixture, int32_t n_row)
{
    return lay_out(mixture, n_row, NULL, NULL);
}

static struct mix_tmp tmp_of(const union cpu_arg *a)
{
    struct mix_tmp tmp;
    lay_out(a->mix.mixture, a->mix.n_row, a->mix.tmp, &tmp);
    return tmp;
}

static bool is_among(const int32_t *chosen, int32_t n, int32_t expert)
{
    for (int32_t i = 0; i < n; i++)
        if (chosen[i] == expert)
            return true;
    return false;
}

/* The greatest of the logits that are not chosen yet; one that is not a number is below all numbers. */
static int32_t choose(const float *logits, int32_t n_expert, const int32_t *chosen, int32_t n_chosen)
{
    int32_t best = -1;
    for (int32_t e = 0; e < n_expert; e++)
        if ((best < 0 || logits[e] > logits[best] || (isnan(logits[best]) && !isnan(logits[e]))) &&
            !is_among(chosen, n_chosen, e))
            best = e;
    return best;
}

/* One row: its experts and their weights. */
static void route_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    const struct lk_mixture *m = a->mix.mixture;
    const struct mix_tmp tmp = tmp_of(a);
    const float *logits = a->mix.logits + (size_t)i_chunk * (size_t)m->n_expert;
    int32_t *chosen = tmp.chosen + (size_t)i_chunk * (size_t)m->n_chosen;
    float *weight = tmp.weight + (size_t)i_chunk * (size_t)m->n_chosen;
    double sum = 0, chosen_sum = 0;
    for (int32_t i = 0; i < m->n_chosen; i++)
        chosen[i] = choose(logits, m->n_expert, chosen, i);
    double max = (double)logits[chosen[0]];
    for (int32_t e = 0; e < m->n_expert; e++)
        sum += exp((double)logits[e] - max);
    for (int32_t i = 0; i < m->n_chosen; i++)
        chosen_sum += exp((double)logits[chosen[i]] - max);
    double whole = m->is_normalized && !isnan(sum) ? chosen_sum : sum; /* NaN is not lost, chosen or not */
    for (int32_t i = 0; i < m->n_chosen; i++)
        weight[i] = (float)(exp((double)logits[chosen[i]] - max) / whole);
}

/* All pairs: sorted by expert, rows in their order, and cut into units. One chunk. */
static void sort_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_chunk, (void)i_thread;
    const union cpu_arg *a = arg;
    const struct lk_mixture *m = a->mix.mixture;
    const struct mix_tmp tmp = tmp_of(a);
    int32_t n_pair = a->mix.n_row * m->n_chosen, n_unit = 0, at = 0;
    memset(tmp.start, 0, ((size_t)m->n_expert + 1) * sizeof *tmp.start);
    for (int32_t p = 0; p < n_pair; p++)
        tmp.start[tmp.chosen[p] + 1]++;
    for (int32_t e = 0; e < m->n_expert; e++) {
        int32_t end = at + tmp.start[e + 1];
        for (int32_t from = at; from < end; from += LK_CUT_ROW)
            tmp.units[n_unit++] = (struct mix_unit){
                .expert = e, .from = from, .end = from + LK_CUT_ROW < end ? from + LK_CUT_ROW : end};
        tmp.start[e + 1] = at = end;
    }
    /* start[e] moves on while its pairs are placed */
    for (int32_t p = 0; p < n_pair; p++) {
        tmp.place[p] = tmp.start[tmp.chosen[p]]++;
        tmp.source[tmp.place[p]] = p / m->n_chosen;
    }
    *tmp.n_unit = n_unit;
}

static void gather_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    const struct mix_tmp tmp = tmp_of(a);
    size_t dim = (size_t)a->mix.mixture->dim;
    memcpy(tmp.x + (size_t)i_chunk * dim, a->mix.x + (size_t)tmp.source[i_chunk] * dim, dim * sizeof(float));
}

/* Outputs [from, end) of a matrix for the rows of a unit. */
static void product_part(const struct cpu_backend *cb, float *y, const struct lk_mat *w, const float *bias,
                         const float *x, const struct mix_unit *unit, int32_t from, int32_t end)
{
    size_t n_in = (size_t)w->n_in, n_out = (size_t)w->n_out, row = (size_t)unit->from;
    const char *data = (const char *)w->data + (size_t)from * lk_dtype_bytes(w->type, n_in);
    cb->cpu.matmul[w->type](y + row * n_out + (size_t)from, n_out, data, n_in, (size_t)(end - from),
                            bias ? bias + from : NULL, x + row * n_in, n_in,
                            (size_t)(unit->end - unit->from));
}

/* The unit and the outputs of a chunk. False: there are not so many. */
static bool find_part(const union cpu_arg *a, const struct mix_tmp *tmp, int32_t i_chunk, int32_t n_out,
                      const struct mix_unit **ret_unit, int32_t *ret_from, int32_t *ret_end)
{
    int32_t i_unit = i_chunk / a->mix.n_step;
    if (i_unit >= *tmp->n_unit)
        return false;
    *ret_unit = &tmp->units[i_unit];
    *ret_from = i_chunk % a->mix.n_step * a->mix.step;
    *ret_end = *ret_from + a->mix.step < n_out ? *ret_from + a->mix.step : n_out;
    return true;
}

static void gate_up_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const struct cpu_backend *cb = ctx;
    const union cpu_arg *a = arg;
    const struct lk_mixture *m = a->mix.mixture;
    const struct mix_tmp tmp = tmp_of(a);
    const struct mix_unit *unit;
    int32_t from, end;
    if (!find_part(a, &tmp, i_chunk, m->ff_dim, &unit, &from, &end))
        return;
    const struct lk_expert *e = &m->experts[unit->expert];
    product_part(cb, tmp.gate, &e->gate, e->gate_bias, tmp.x, unit, from, end);
    product_part(cb, tmp.up, &e->up, e->up_bias, tmp.x, unit, from, end);
    lk_act_mul_fn act = nodes_act_fn(&cb->be, m->act);
    for (int32_t r = unit->from; r < unit->end; r++) {
        size_t at = (size_t)r * (size_t)m->ff_dim + (size_t)from;
        act(tmp.gate + at, tmp.gate + at, tmp.up + at, (size_t)(end - from));
    }
}

static void down_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)i_thread;
    const union cpu_arg *a = arg;
    const struct lk_mixture *m = a->mix.mixture;
    const struct mix_tmp tmp = tmp_of(a);
    const struct mix_unit *unit;
    int32_t from, end;
    if (!find_part(a, &tmp, i_chunk, m->dim, &unit, &from, &end))
        return;
    const struct lk_expert *e = &m->experts[unit->expert];
    product_part(ctx, tmp.y, &e->down, e->down_bias, tmp.gate, unit, from, end);
}

static void combine_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    const struct lk_mixture *m = a->mix.mixture;
    const struct mix_tmp tmp = tmp_of(a);
    size_t dim = (size_t)m->dim;
    float *y = a->mix.y + (size_t)i_chunk * dim;
    memset(y, 0, dim * sizeof *y);
    for (int32_t i = 0; i < m->n_chosen; i++) {
        int32_t pair = i_chunk * m->n_chosen + i;
        const float *part = tmp.y + (size_t)tmp.place[pair] * dim;
        for (size_t k = 0; k < dim; k++)
            y[k] += tmp.weight[pair] * part[k];
    }
}

/* Outputs that a chunk takes. */
static int32_t step_of(const struct lk_mat *w, int32_t n_row, int32_t n_unit)
{
    int32_t step = nodes_product_step(w, n_row);
    while ((int64_t)n_unit * ((w->n_out + step - 1) / step) > POOL_MAX_CHUNK)
        step *= 2;
    return step;
}

void mix_mix(struct lk_backend *be, float *y, const struct lk_mixture *mixture, const float *logits,
             const float *x, int32_t n_row, void *tmp)
{
    struct cpu_backend *cb = backend_cpu_of(be);
    const struct lk_expert *first = &mixture->experts[0];
    int32_t n_pair = n_row * mixture->n_chosen, n_unit = (int32_t)max_unit(mixture, (size_t)n_pair);
    int32_t gate_step = step_of(&first->gate, n_row, n_unit);
    int32_t down_step = step_of(&first->down, n_row, n_unit);
    int32_t n_gate_step = (mixture->ff_dim + gate_step - 1) / gate_step;
    int32_t n_down_step = (mixture->dim + down_step - 1) / down_step;
    const struct {
        pool_fn fn;
        int64_t n_chunk;
        int32_t step, n_step;
    } nodes[] = {
        {route_chunk, n_row, 0, 0},
        {sort_chunk, 1, 0, 0},
        {gather_chunk, n_pair, 0, 0},
        {gate_up_chunk, (int64_t)n_unit * n_gate_step, gate_step, n_gate_step},
        {down_chunk, (int64_t)n_unit * n_down_step, down_step, n_down_step},
        {combine_chunk, n_row, 0, 0},
    };
    assert(mixture->n_chosen >= 1 && mixture->n_chosen <= mixture->n_expert);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        union cpu_arg *a = backend_cpu_push(cb, nodes[i].fn, nodes[i].n_chunk);
        a->mix.mixture = mixture;
        a->mix.logits = logits;
        a->mix.x = x;
        a->mix.y = y;
        a->mix.tmp = tmp;
        a->mix.n_row = n_row;
        a->mix.step = nodes[i].step;
        a->mix.n_step = nodes[i].n_step;
    }
}

static void add_gated_chunk(void *ctx, const void *arg, int32_t i_chunk, int32_t i_thread)
{
    (void)ctx, (void)i_thread;
    const union cpu_arg *a = arg;
    size_t n = (size_t)a->add_gated.n;
    float *y = a->add_gated.y + (size_t)i_chunk * n;
    const float *x = a->add_gated.x + (size_t)i_chunk * n;
    float weight = (float)(1 / (1 + exp(-(double)a->add_gated.gate[i_chunk])));
    for (size_t i = 0; i < n; i++)
        y[i] += weight * x[i];
}

void mix_add_gated(struct lk_backend *be, float *y, const float *x, const float *gate, int32_t n_row,
                   int32_t n)
{
    union cpu_arg *a = backend_cpu_push(backend_cpu_of(be), add_gated_chunk, n_row);
    a->add_gated.y = y;
    a->add_gated.x = x;
    a->add_gated.gate = gate;
    a->add_gated.n = n;
}
