/* One row of logits in, one token out. */
#include "config.h"
#include "src/sample/sampler.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/sample/candidates.h"
#include "src/sample/rng.h"

struct sampler {
    struct sampler_params params;
    int32_t n_vocab;
    float *logits;          /* [n_vocab]: the row with bias and penalties */
    struct candidate *list; /* [n_vocab]; NULL: greedy */
    int32_t *n_generated;   /* [n_vocab]: how often in the answer; NULL: no penalty asks */
    int32_t *n_repeat;      /* [n_vocab]: how often in the window; NULL: repeat_penalty is off */
    int32_t *window;        /* [window_max]: a ring of the last tokens of prompt and answer */
    int32_t window_max, n_window, window_at;
};

static int has_room(const struct sampler *s)
{
    return s->logits && (s->list || s->params.temperature <= 0) &&
           (s->n_generated || (s->params.presence_penalty == 0 && s->params.frequency_penalty == 0)) &&
           (s->window_max == 0 || (s->n_repeat && s->window));
}

int sampler_new(struct sampler **ret_sampler, const struct sampler_params *params, int32_t n_vocab,
                int32_t n_text)
{
    struct sampler *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->params = *params;
    s->n_vocab = n_vocab;
    size_t n = (size_t)n_vocab;
    s->logits = calloc(n, sizeof *s->logits);
    if (params->temperature > 0)
        s->list = calloc(n, sizeof *s->list);
    if (params->presence_penalty != 0 || params->frequency_penalty != 0)
        s->n_generated = calloc(n, sizeof *s->n_generated);
    if (params->repeat_penalty != 1)
        s->window_max =
            params->repeat_last_n < 0 || params->repeat_last_n > n_text ? n_text : params->repeat_last_n;
    if (s->window_max > 0) {
        s->n_repeat = calloc(n, sizeof *s->n_repeat);
        s->window = calloc((size_t)s->window_max, sizeof *s->window);
    }
    if (!has_room(s)) {
        sampler_free(s);
        return -ENOMEM;
    }
    *ret_sampler = s;
    return 0;
}

struct sampler *sampler_free(struct sampler *s)
{
    if (!s)
        return NULL;
    free(s->logits);
    free(s->list);
    free(s->n_generated);
    free(s->n_repeat);
    free(s->window);
    free(s);
    return NULL;
}

void sampler_accept(struct sampler *s, int32_t id, bool generated)
{
    if (generated && s->n_generated)
        s->n_generated[id]++;
    if (!s->window)
        return;
    if (s->n_window == s->window_max)
        s->n_repeat[s->window[s->window_at]]--;
    else
        s->n_window++;
    s->window[s->window_at] = id;
    s->window_at = (s->window_at + 1) % s->window_max;
    s->n_repeat[id]++;
}

/* Copies the row. False where it cannot be the work of a sound model. */
static bool take_row(struct sampler *s, const float *logits)
{
    bool any = false;
    for (int32_t i = 0; i < s->n_vocab; i++) {
        if (isnan(logits[i]) || logits[i] == INFINITY)
            return false;
        any |= logits[i] > -INFINITY;
        s->logits[i] = logits[i];
    }
    return any;
}

/* repeat: a logit above 0 is divided, one below is multiplied, so that a penalty above 1 always lowers it
 * (Keskar et al., "CTRL", 2019). presence and frequency: as OpenAI's interface defines them. */
static void apply_penalties(struct sampler *s)
{
    const struct sampler_params *p = &s->params;
    if (s->n_repeat) {
        for (int32_t i = 0; i < s->n_vocab; i++) {
            if (s->n_repeat[i] > 0)
                s->logits[i] = s->logits[i] > 0 ? fminf(s->logits[i] / p->repeat_penalty, FLT_MAX)
                                                : s->logits[i] * p->repeat_penalty;
        }
    }
    if (s->n_generated) {
        for (int32_t i = 0; i < s->n_vocab; i++) {
            if (s->n_generated[i] > 0)
                s->logits[i] -= (float)s->n_generated[i] * p->frequency_penalty + p->presence_penalty;
        }
    }
}

static int32_t best_of(const float *logits, int32_t n_vocab)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n_vocab; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* Weights are exp((logit - best) / temperature): the best has 1, and no temperature above 0 can overflow. */
static size_t list_candidates(struct sampler *s, float best)
{
    size_t n = 0;
    for (int32_t i = 0; i < s->n_vocab; i++) {
        if (s->logits[i] == -INFINITY)
            continue;
        double distance = (double)s->logits[i] - (double)best;
        s->list[n++] = (struct candidate){.weight = exp(distance / (double)s->params.temperature), .id = i};
    }
    return n;
}

int32_t sampler_pick(struct sampler *s, const float *logits, uint64_t index, const int32_t *banned,
                     size_t n_banned)
{
    const struct sampler_params *p = &s->params;
    if (!take_row(s, logits))
        return SAMPLER_NON_FINITE;
    for (size_t i = 0; i < p->n_bias; i++)
        s->logits[p->bias[i].id] += p->bias[i].bias;
    apply_penalties(s);
    for (size_t i = 0; i < n_banned; i++)
        s->logits[banned[i]] = -INFINITY;

    int32_t best = best_of(s->logits, s->n_vocab);
    if (s->logits[best] == -INFINITY)
        return SAMPLER_NOTHING;
    if (!s->list)
        return best;

    size_t n = list_candidates(s, s->logits[best]);
    if (p->top_k > 0)
        n = candidates_top_k(s->list, n, (size_t)p->top_k);
    if (p->typical_p < 1)
        n = candidates_typical_p(s->list, n, (double)p->typical_p);
    if (p->top_p < 1)
        n = candidates_top_p(s->list, n, (double)p->top_p);
    if (p->min_p > 0)
        n = candidates_min_p(s->list, n, (double)p->min_p);
    return candidates_draw(s->list, n, rng_uniform(p->seed, index));
}

/* Puts (id, logit) into the sorted list best[n_top], of which n are there. Returns how many are there now. */
static size_t insert_top(struct sampler_logprob *top, size_t n, size_t n_top, int32_t id, float logit)
{
    if (n == n_top && logit <= top[n - 1].logprob)
        return n;
    size_t at = n < n_top ? n++ : n - 1;
    for (; at > 0 && top[at - 1].logprob < logit; at--)
        top[at] = top[at - 1];
    top[at] = (struct sampler_logprob){.id = id, .logprob = logit};
    return n;
}

float sampler_logprob(const float *logits, int32_t n_vocab, int32_t id, struct sampler_logprob *ret_top,
                      size_t n_top)
{
    double best = (double)logits[best_of(logits, n_vocab)], sum = 0;
    for (int32_t i = 0; i < n_vocab; i++)
        sum += exp((double)logits[i] - best);
    const double normal = best + log(sum);

    size_t n = 0;
    for (int32_t i = 0; n_top > 0 && i < n_vocab; i++)
        n = insert_top(ret_top, n, n_top, i, logits[i]);
    for (size_t i = 0; i < n; i++)
        ret_top[i].logprob = (float)((double)ret_top[i].logprob - normal);
    return (float)((double)logits[id] - normal);
}
