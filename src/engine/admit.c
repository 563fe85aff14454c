/* Takes all that a job needs: see admit.h. */
#include "config.h"
#include "src/engine/admit.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/clock.h"
#include "src/base/mem.h"
#include "src/engine/check.h"
#include "src/engine/notice.h"
#include "src/engine/parts.h"
#include "src/text/stop.h"

enum { ADMIT_SEED_BITS = 53 }; /* of a drawn seed: readers of JSON keep it exactly */

void admit_measure(const struct served *served, struct job *job)
{
    job->n_prompt = (int32_t)job->ask->n_token;
    job->max_tokens = check_max_tokens(served, job->ask);
    job->n_page = kvpages_needed((int64_t)job->n_prompt + job->max_tokens);
    const int32_t n_window_page = model_n_window_page(served->model);
    job->n_window_page = job->n_page < n_window_page ? job->n_page : n_window_page;
}

static uint64_t draw_seed(void)
{
    uint64_t seed;
    /* Cannot fail with so few bytes, but waits for a machine that has only just started. */
    while (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        ;
    return seed >> (64 - ADMIT_SEED_BITS);
}

static float given_or(float value, float fallback)
{
    return isnan(value) ? fallback : value;
}

/* What the job asks for, the model's defaults where it says nothing. */
static struct sampler_params params_of(const struct served *served, const struct job *job)
{
    const struct sampler_params *asked = &job->ask->sampling, *d = &served->defaults;
    return (struct sampler_params){
        .temperature = given_or(asked->temperature, d->temperature),
        .top_k = asked->top_k == JOB_UNSET ? d->top_k : asked->top_k,
        .top_p = given_or(asked->top_p, d->top_p),
        .min_p = given_or(asked->min_p, d->min_p),
        .typical_p = given_or(asked->typical_p, d->typical_p),
        .repeat_penalty = given_or(asked->repeat_penalty, d->repeat_penalty),
        .presence_penalty = given_or(asked->presence_penalty, d->presence_penalty),
        .frequency_penalty = given_or(asked->frequency_penalty, d->frequency_penalty),
        .repeat_last_n = asked->repeat_last_n == JOB_UNSET ? d->repeat_last_n : asked->repeat_last_n,
        .seed = job->seed,
        .bias = job->ask->bias,
        .n_bias = job->ask->bias ? asked->n_bias : 0,
    };
}

/* All ids that would end the answer are banned below min_tokens. */
static int take_banned(const struct served *served, struct job *job)
{
    const struct job_ask *ask = job->ask;
    const size_t n_end = (size_t)served->n_end;
    if (ask->min_tokens <= 0)
        return 0;
    job->banned = mem_array(n_end + ask->n_stop_token, sizeof *job->banned);
    if (!job->banned)
        return -ENOMEM;
    memcpy(job->banned, served->end, n_end * sizeof *job->banned);
    memcpy(job->banned + n_end, ask->stop_token, ask->n_stop_token * sizeof *job->banned);
    job->n_banned = n_end + ask->n_stop_token;
    return 0;
}

/* The room of the notice it will end with. One place more than is needed keeps an empty array apart from one
 * not asked for. */
static struct notice_room room_of_last(const struct served *served, const struct job *job)
{
    const struct job_ask *ask = job->ask;
    const size_t n_answer = (size_t)job->max_tokens + 1;
    struct notice_room room = {0};
    if (!ask->stream) {
        if (ask->is_chat)
            parts_room(served, ask, n_answer * served->max_out, &room);
        else
            room.n_content = served->tokenizer ? n_answer * served->max_out + 1 : 0;
        room.n_token = n_answer;
        room.n_logprob = ask->logprobs ? n_answer : 0;
        room.n_top = ask->logprobs ? check_n_top(served, ask) : 0;
    }
    room.n_prompt_logprob = ask->prompt_logprobs ? (size_t)job->n_prompt : 0;
    for (size_t i = 0; i < ask->n_stop; i++)
        if (ask->stop_bytes[i] > room.n_stop_word)
            room.n_stop_word = ask->stop_bytes[i];
    return room;
}

static int take_text(const struct served *served, struct job *job, const struct notice_room *room)
{
    const struct job_ask *ask = job->ask;
    if (!served->tokenizer)
        return 0;
    job->piece = mem_array(served->max_out, 1);
    if (!job->piece)
        return -ENOMEM;
    detok_start(&job->detok, served->tokenizer, ask->return_special, ask->tokens, ask->n_token);
    int r = ask->is_chat ? parts_new(&job->parts, served, job, room) : 0;
    if (r == 0 && ask->n_stop > 0)
        r = stop_new(&job->stop, (const char *const *)ask->stop, ask->stop_bytes, ask->n_stop,
                     served->max_out);
    return r;
}

static int take_memory(const struct served *served, struct job *job)
{
    const size_t n_token = (size_t)job->n_prompt + (size_t)job->max_tokens;
    job->tokens = mem_array(n_token, sizeof *job->tokens);
    job->pages = mem_array((size_t)job->n_page, sizeof *job->pages);
    job->window_pages = mem_array((size_t)job->n_page, sizeof *job->window_pages);
    const struct notice_room room = room_of_last(served, job);
    job->last = notice_new_room(NOTICE_DONE, job->id, &room);
    if (!job->tokens || !job->pages || !job->window_pages || !job->last)
        return -ENOMEM;
    memcpy(job->tokens, job->ask->tokens, (size_t)job->n_prompt * sizeof *job->tokens);

    job->seed = job->ask->has_seed ? job->ask->sampling.seed : draw_seed();
    struct sampler_params params = params_of(served, job);
    int r = sampler_new(&job->sampler, &params, served->info->n_vocab, (int32_t)n_token);
    if (r != 0)
        return r;
    for (int32_t i = 0; i < job->n_prompt; i++)
        sampler_accept(job->sampler, job->tokens[i], false);
    r = take_banned(served, job);
    return r == 0 ? take_text(served, job, &room) : r;
}

static bool take_pages(struct kvpages *pool, struct kvpages *window_pool, struct job *job)
{
    if (!kvpages_take(pool, job->n_page, job->pages))
        return false;
    if (!kvpages_take(window_pool, job->n_window_page, job->window_pages)) {
        kvpages_give(pool, job->pages, job->n_page);
        return false;
    }
    kvpages_repeat(job->window_pages, job->n_window_page, job->n_page);
    return true;
}

int admit_job(const struct served *served, struct kvpages *pool, struct kvpages *window_pool, struct job *job)
{
    int r = take_memory(served, job);
    if (r != 0)
        return r;
    if (!take_pages(pool, window_pool, job))
        return -ENOMEM;
    job->admitted_us = clock_us();
    return 0;
}
