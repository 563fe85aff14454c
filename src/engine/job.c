/* A request in flight: see job.h. */
#include "config.h"
#include "src/engine/job.h"

#include <math.h>
#include <stdlib.h>

#include "src/engine/conversation.h"
#include "src/engine/notice.h"
#include "src/engine/parts.h"
#include "src/text/stop.h"

struct job_ask *job_ask_new(enum job_kind kind)
{
    struct job_ask *ask = calloc(1, sizeof *ask);
    if (!ask)
        return NULL;
    ask->letter.kind = LETTER_ASK;
    ask->kind = kind;
    ask->add_special = true;
    ask->stream = true;
    ask->max_tokens = JOB_DEFAULT_MAX_TOKENS;
    ask->sampling = (struct sampler_params){
        .temperature = NAN,
        .top_k = JOB_UNSET,
        .top_p = NAN,
        .min_p = NAN,
        .typical_p = NAN,
        .repeat_penalty = NAN,
        .presence_penalty = NAN,
        .frequency_penalty = NAN,
        .repeat_last_n = JOB_UNSET,
    };
    return ask;
}

struct job_ask *job_ask_free(struct job_ask *ask)
{
    if (!ask)
        return NULL;
    free(ask->text);
    free(ask->tokens);
    conversation_free(ask->conversation);
    for (size_t i = 0; i < ask->n_stop; i++)
        free(ask->stop[i]);
    free(ask->bias);
    notice_free(ask->refusal);
    free(ask);
    return NULL;
}

struct job *job_new(uint64_t id)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->letter.kind = LETTER_JOB;
    job->letter.job = job->id = id;
    job->state = JOB_TEXT;
    job->position = -1;
    return job;
}

struct job *job_free(struct job *job)
{
    if (!job)
        return NULL;
    job_ask_free(job->ask);
    free(job->tokens);
    free(job->pages);
    free(job->window_pages);
    sampler_free(job->sampler);
    stop_free(job->stop);
    parts_free(job->parts);
    free(job->piece);
    free(job->banned);
    notice_free(job->last);
    free(job);
    return NULL;
}
