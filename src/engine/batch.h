/* The arrays of one step: rows of several jobs, and whose logits are whose. */
#pragma once

#include <stdint.h>

#include "src/model/model.h"

struct job;

/* The rows of one job in a step. */
struct batch_part {
    struct job *job; /* NULL: it has ended meanwhile, its rows are nobody's */
    int32_t n_row;
    int32_t pos;            /* position of the first row */
    int32_t logit, n_logit; /* its logits are [logit, logit + n_logit) of the step's; they belong to its last
                               rows, or, where the prompt's log-probabilities are wanted, to its first */
};

struct batch {
    int32_t max_row, max_part;
    int32_t n_row, n_part, n_logit;
    int32_t *token;          /* [max_row] */
    struct batch_part *part; /* [max_part] */
    struct lk_span *span;    /* [max_part] */
    int32_t logit_row[MODEL_MAX_LOGIT_ROW];
};

/* 0 or -ENOMEM. */
int batch_init(struct batch *b, int32_t max_row, int32_t max_part);
void batch_deinit(struct batch *b);

void batch_clear(struct batch *b);
/* Rows that would be added for a job that has n_row to compute: fewer where the batch is full or has no room
 * for the logits they need; 0: none. */
int32_t batch_room(const struct batch *b, const struct job *job, int32_t n_row);
/* Adds the next n_row tokens of the job, at most batch_room. */
void batch_add(struct batch *b, struct job *job, int32_t n_row);
/* The job has ended: its rows are nobody's. */
void batch_forget(struct batch *b, const struct job *job);
/* As the model takes it; valid until the batch changes. */
struct model_batch batch_model(const struct batch *b);
