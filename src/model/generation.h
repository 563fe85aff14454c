/* What config.json and generation_config.json say about generating: end ids and sampling defaults. */
#pragma once

#include <stdint.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/model/model.h"

/* The set of ends: eos_token_id of both files (generation may be NULL), each a number or a list, ascending.
 * Ids must lie in the vocabulary. EX_DATAERR. */
int generation_ends(const struct json *config, const struct json *generation, int32_t n_vocab,
                    int32_t ret_end[MODEL_MAX_END], int32_t *ret_n_end, struct why *why);

/* do_sample false is temperature 0; what is missing is NaN or -1. EX_DATAERR: out of the range that a job's
 * own fields have. top_k is cut to the vocabulary. */
int generation_defaults(const struct json *generation, int32_t n_vocab, struct model_defaults *ret_defaults,
                        struct why *why);
