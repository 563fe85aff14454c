/* The tokens that may still be drawn, and the filters that thin them out.
 *
 * Each candidate has a weight: its probability but for a common factor. Filters that need an order take the
 * best from a heap one by one until they have enough, so that nothing is sorted that is thrown away: out of
 * 151,936 entries a nucleus rarely has more than some hundred. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct candidate {
    double weight;
    double key; /* what the heap goes by; ties go to the lower id */
    int32_t id;
};

/* Each works in place on list[n] with n at least 1 and some weight above 0, and returns how many are left, at
 * least 1. */

/* The k best. */
size_t candidates_top_k(struct candidate *list, size_t n, size_t k);
/* The best whose weights together reach p of the total. */
size_t candidates_top_p(struct candidate *list, size_t n, double p);
/* Those at least p times as likely as the best. */
size_t candidates_min_p(struct candidate *list, size_t n, double p);
/* Locally typical sampling (Meister et al., "Locally typical sampling", TACL 2023): those whose information
 * -log(p) is closest to the entropy, until they reach p of the total. */
size_t candidates_typical_p(struct candidate *list, size_t n, double p);

/* The one at u of the cumulated weights, u in [0, 1). */
int32_t candidates_draw(const struct candidate *list, size_t n, double u);
