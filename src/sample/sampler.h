/* One row of logits in, one token out.
 *
 * Order, documented in lorch-protocol(7): logit_bias, penalties (repeat, frequency, presence), temperature,
 * top_k, typical_p, top_p, min_p, draw. Temperature 0 takes the best token after bias and penalties. Ties go
 * to the lowest id. Random numbers are a function of (seed, index of the token) alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLER_MAX_BIAS = 1024, SAMPLER_MAX_TOP = 20 };

struct sampler_bias {
    int32_t id; /* below n_vocab */
    float bias; /* -infinity: never; not +infinity */
};

struct sampler_params {
    float temperature;                                         /* 0: greedy */
    int32_t top_k;                                             /* 0: off */
    float top_p, min_p, typical_p;                             /* 1, 0, 1: off */
    float repeat_penalty, presence_penalty, frequency_penalty; /* 1, 0, 0: off */
    int32_t repeat_last_n; /* tokens of prompt and answer that repeat_penalty sees; -1: all */
    uint64_t seed;
    const struct sampler_bias *bias; /* kept by the caller as long as the sampler */
    size_t n_bias;
};

struct sampler;

/* Takes all the room it will need for n_vocab candidates and a text of n_text tokens (prompt and answer);
 * accepting and picking do not allocate. 0 or -ENOMEM. */
int sampler_new(struct sampler **ret_sampler, const struct sampler_params *params, int32_t n_vocab,
                int32_t n_text);
struct sampler *sampler_free(struct sampler *s);

/* Tells the sampler of a token that is now part of the text. */
void sampler_accept(struct sampler *s, int32_t id, bool generated);

/* Chooses. banned[n_banned] cannot be chosen (end ids below min_tokens). index: how many tokens were
 * generated before. logits[n_vocab] stay as they are. Returns the id, or one of these. */
enum {
    SAMPLER_NON_FINITE = -1, /* the row holds a NaN or +infinity, or nothing but -infinity */
    SAMPLER_NOTHING = -2,    /* bias and bans leave no token */
};
int32_t sampler_pick(struct sampler *s, const float *logits, uint64_t index, const int32_t *banned,
                     size_t n_banned);

/* Log-probabilities of the raw row: log-softmax in double. */
struct sampler_logprob {
    int32_t id;
    float logprob;
};
/* logprob of id (NaN where the row holds one, or +infinity); and the n_top best, best first, ties to the
 * lower id, n_top at most SAMPLER_MAX_TOP and n_vocab (ret_top may be NULL with n_top 0). */
float sampler_logprob(const float *logits, int32_t n_vocab, int32_t id, struct sampler_logprob *ret_top,
                      size_t n_top);
