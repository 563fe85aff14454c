/* The arrays of one step: see batch.h. */
#include "config.h"
#include "src/engine/batch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/engine/job.h"

int batch_init(struct batch *b, int32_t max_row, int32_t max_part)
{
    *b = (struct batch){.max_row = max_row, .max_part = max_part};
    b->token = mem_array((size_t)max_row, sizeof *b->token);
    b->part = mem_array((size_t)max_part, sizeof *b->part);
    b->span = mem_array((size_t)max_part, sizeof *b->span);
    if (b->token && b->part && b->span)
        return 0;
    batch_deinit(b);
    return -ENOMEM;
}

void batch_deinit(struct batch *b)
{
    free(b->token);
    free(b->part);
    free(b->span);
    *b = (struct batch){0};
}

void batch_clear(struct batch *b)
{
    b->n_row = b->n_part = b->n_logit = 0;
}

/* Logits that n_row rows from the job's position on need: of the row after which a token is drawn, and of
 * every row that tells the log-probability of the prompt's next token. */
static int32_t logits_of(const struct job *job, int32_t n_row)
{
    int32_t end = job->pos + n_row;
    int32_t draws = end == job_n_token(job) && job->max_tokens > 0 ? 1 : 0;
    if (!job->ask->prompt_logprobs || job->pos >= job->n_prompt)
        return draws;
    int32_t last =
        end < job->n_prompt ? end : job->n_prompt - 1; /* the prompt's last token has no next one */
    return last - job->pos + draws;
}

int32_t batch_room(const struct batch *b, const struct job *job, int32_t n_row)
{
    if (b->n_part == b->max_part)
        return 0;
    if (n_row > b->max_row - b->n_row)
        n_row = b->max_row - b->n_row;
    int32_t room = MODEL_MAX_LOGIT_ROW - b->n_logit;
    while (n_row > 0 && logits_of(job, n_row) > room)
        n_row--;
    return n_row;
}

void batch_add(struct batch *b, struct job *job, int32_t n_row)
{
    const int32_t n_logit = logits_of(job, n_row);
    assert(n_row > 0 && n_row <= b->max_row - b->n_row && n_logit <= MODEL_MAX_LOGIT_ROW - b->n_logit);
    const bool from_first = job->ask->prompt_logprobs && job->pos < job->n_prompt;
    const int32_t first = from_first ? b->n_row : b->n_row + n_row - n_logit;
    for (int32_t i = 0; i < n_logit; i++)
        b->logit_row[b->n_logit + i] = first + i;

    memcpy(b->token + b->n_row, job->tokens + job->pos, (size_t)n_row * sizeof *b->token);
    b->span[b->n_part] = (struct lk_span){.pages = job->pages,
                                          .window_pages = job->window_pages,
                                          .row = b->n_row,
                                          .n_row = n_row,
                                          .pos = job->pos,
                                          .length = job->n_prompt + job->max_tokens};
    b->part[b->n_part] = (struct batch_part){
        .job = job, .n_row = n_row, .pos = job->pos, .logit = b->n_logit, .n_logit = n_logit};
    b->n_row += n_row;
    b->n_part++;
    b->n_logit += n_logit;
}

void batch_forget(struct batch *b, const struct job *job)
{
    for (int32_t i = 0; i < b->n_part; i++)
        if (b->part[i].job == job)
            b->part[i].job = NULL;
}

struct model_batch batch_model(const struct batch *b)
{
    return (struct model_batch){
        .rows = {.token = b->token, .n_row = b->n_row, .span = b->span, .n_span = b->n_part},
        .logit_rows = b->logit_row,
        .n_logit = b->n_logit,
    };
}
