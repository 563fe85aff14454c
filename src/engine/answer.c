/* From a row of logits to what the client reads: see answer.h. */
#include "config.h"
#include "src/engine/answer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/engine/check.h"
#include "src/engine/parts.h"
#include "src/text/stop.h"

static bool is_in(const int32_t *ids, size_t n, int32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static bool ends(const struct served *served, const struct job_ask *ask, int32_t id)
{
    return is_in(ask->stop_token, ask->n_stop_token, id) ||
           (!ask->ignore_eos && is_in(served->end, (size_t)served->n_end, id));
}

/* Fills in one logprob but for its top. */
static void put_logprob(const struct served *served, struct notice_logprob *p, int32_t id, float logprob)
{
    size_t n = 0;
    p->id = id;
    p->logprob = logprob;
    p->bytes = served->tokenizer ? (const uint8_t *)tokenizer_bytes(served->tokenizer, id, &n) : NULL;
    p->n_byte = (uint32_t)n;
}

static void put_logprobs(const struct served *served, struct notice_logprob *p, const float *logits,
                         int32_t id, size_t n_top)
{
    struct sampler_logprob top[SAMPLER_MAX_TOP];
    put_logprob(served, p, id, sampler_logprob(logits, served->info->n_vocab, id, top, n_top));
    p->n_top = (uint32_t)n_top;
    for (size_t i = 0; i < n_top; i++)
        put_logprob(served, &p->top[i], top[i].id, top[i].logprob);
}

/* A notice with text, or with the parts of a chat, and room for what comes with it. */
static struct notice *make_token(struct job *job, struct notice_room *room, const char *text, size_t n_text)
{
    if (job->parts)
        return parts_send(job->parts, job->id, room);
    room->n_content = job->piece ? n_text + 1 : 0;
    struct notice *notice = notice_new_room(NOTICE_TOKEN, job->id, room);
    if (notice && n_text > 0)
        memcpy(notice->content, text, n_text);
    if (notice)
        notice->n_content = n_text;
    return notice;
}

/* A job that streams: what this token has to say leaves as a notice of its own. id -1: there is text alone.
 */
static int send_token(const struct served *served, struct job *job, int32_t id, const float *logits,
                      const char *text, size_t n_text, struct mailbox *out)
{
    const struct job_ask *ask = job->ask;
    const bool with_id = id >= 0 && (ask->return_tokens || !job->piece),
               with_logprob = id >= 0 && ask->logprobs;
    const bool with_text = job->parts ? parts_has_any(job->parts) : n_text > 0;
    if (!with_text && !with_id && !with_logprob)
        return 0;
    const size_t n_top = with_logprob ? check_n_top(served, ask) : 0;
    struct notice_room room = {.n_token = with_id, .n_logprob = with_logprob, .n_top = n_top};
    struct notice *notice = make_token(job, &room, text, n_text);
    if (!notice)
        return -ENOMEM;
    notice->index = job->n_told;
    if (with_id)
        notice->tokens[notice->n_token++] = id;
    if (with_logprob)
        put_logprobs(served, &notice->logprobs[notice->n_logprob++], logits, id, n_top);
    mailbox_push(out, &notice->mail);
    job->n_told = job->n_generated;
    return 0;
}

/* A chat's parts know where they belong. */
static void keep_text(struct job *job, const char *text, size_t n_text)
{
    struct notice *last = job->last;
    if (job->parts)
        return;
    if (n_text > 0)
        memcpy(last->content + last->n_content, text, n_text);
    last->n_content += n_text;
}

/* A job that does not stream: all is kept in its last notice. */
static void keep_token(const struct served *served, struct job *job, int32_t id, const float *logits,
                       const char *text, size_t n_text)
{
    struct notice *last = job->last;
    last->tokens[last->n_token++] = id;
    if (job->ask->logprobs)
        put_logprobs(served, &last->logprobs[last->n_logprob++], logits, id, check_n_top(served, job->ask));
    keep_text(job, text, n_text);
}

static void note_stop_word(struct job *job, int i_stop)
{
    struct notice *last = job->last;
    last->n_stop_word = job->ask->stop_bytes[i_stop];
    memcpy(last->stop_word, job->ask->stop[i_stop], last->n_stop_word);
}

/* What the tokens so far add to the text that may be delivered. Returns the index of the stop string found,
 * or -1. */
static int spell(const struct served *served, struct job *job, int32_t id, const char **ret_text,
                 size_t *ret_n)
{
    if (job->parts)
        job->detok.special = job->ask->return_special || chat_format_is_mark(&served->chat_format, id);
    *ret_text = job->piece;
    *ret_n = job->piece ? detok_push(&job->detok, id, job->piece) : 0;
    int i_stop = job->stop ? stop_push(job->stop, job->piece, *ret_n, ret_text, ret_n) : -1;
    if (job->parts)
        parts_push(job->parts, *ret_text, *ret_n);
    return i_stop;
}

static int say_token(const struct served *served, struct job *job, int32_t id, const float *logits,
                     struct mailbox *out, int *ret_stop)
{
    const char *text;
    size_t n_text;
    *ret_stop = spell(served, job, id, &text, &n_text);
    if (job->ask->stream)
        return send_token(served, job, id, logits, text, n_text, out);
    keep_token(served, job, id, logits, text, n_text);
    return 0;
}

static int fail_non_finite(struct job *job, int32_t pos)
{
    notice_fail(job->last, "non_finite", NULL, -1, -1,
                "the model computed something that is not a number after %d tokens", pos);
    return ANSWER_E_ENDED;
}

int answer_draw(const struct served *served, struct job *job, const float *logits, struct mailbox *out)
{
    const struct job_ask *ask = job->ask;
    const bool may_end = job->n_generated >= ask->min_tokens;
    int32_t id = sampler_pick(job->sampler, logits, (uint64_t)job->n_generated, job->banned,
                              may_end ? 0 : job->n_banned);
    if (id == SAMPLER_NON_FINITE)
        return fail_non_finite(job, job_n_token(job));
    if (id == SAMPLER_NOTHING) {
        notice_fail(job->last, "invalid_request", "logit_bias", -1, -1,
                    "logit_bias and min_tokens leave no token to choose from after %d tokens",
                    job_n_token(job));
        return ANSWER_E_ENDED;
    }
    job->n_generated++;
    if (ends(served, ask, id))
        return answer_finish(job, NOTICE_STOP_END, out);
    job->tokens[job_n_token(job) - 1] = id;
    sampler_accept(job->sampler, id, true);

    int i_stop;
    int r = say_token(served, job, id, logits, out, &i_stop);
    if (r != 0)
        return r;
    if (i_stop >= 0) {
        note_stop_word(job, i_stop);
        return answer_finish(job, NOTICE_STOP_WORD, out);
    }
    bool is_full = job->n_generated == job->max_tokens || (job->parts && job->parts->is_full);
    return is_full ? answer_finish(job, NOTICE_STOP_LIMIT, out) : 0;
}

int answer_prompt(const struct served *served, struct job *job, int32_t pos, const float *logits)
{
    float logprob = sampler_logprob(logits, served->info->n_vocab, job->tokens[pos], NULL, 0);
    if (isnan(logprob))
        return fail_non_finite(job, pos);
    job->last->prompt_logprobs[job->last->n_prompt_logprob++] = logprob;
    return 0;
}

/* Delivers a piece of the text's end. */
static int say_tail(struct job *job, const char *text, size_t n_text, struct mailbox *out)
{
    if (job->parts)
        parts_push(job->parts, text, n_text);
    if (job->ask->stream)
        return send_token(NULL, job, -1, NULL, text, n_text, out);
    keep_text(job, text, n_text);
    return 0;
}

/* Text that was held back: the rest of a character, the beginning of a stop string that did not come. The
 * rest of a character may still complete a stop string: returns its index, or -1. */
static int flush_text(struct job *job, struct mailbox *out, int *ret_stop)
{
    const char *text = job->piece;
    *ret_stop = -1;
    if (!job->piece)
        return 0;
    size_t n_text = detok_finish(&job->detok, job->piece);
    if (job->stop)
        *ret_stop = stop_push(job->stop, job->piece, n_text, &text, &n_text);
    int r = say_tail(job, text, n_text, out);
    if (r != 0 || !job->stop || *ret_stop >= 0)
        return r;
    stop_finish(job->stop, &text, &n_text);
    return say_tail(job, text, n_text, out);
}

/* The parts of a chat are complete: what could have become a mark is text. */
static int finish_parts(struct job *job, struct mailbox *out)
{
    parts_finish(job->parts);
    return job->ask->stream ? send_token(NULL, job, -1, NULL, NULL, 0, out) : 0;
}

int answer_finish(struct job *job, enum notice_finish finish, struct mailbox *out)
{
    struct notice *last = job->last;
    if (finish != NOTICE_STOP_WORD) {
        int i_stop;
        int r = flush_text(job, out, &i_stop);
        if (r != 0)
            return r;
        if (i_stop >= 0 && finish != NOTICE_CANCELLED) {
            note_stop_word(job, i_stop);
            finish = NOTICE_STOP_WORD;
        }
    }
    if (job->parts) {
        int r = finish_parts(job, out);
        if (r != 0)
            return r;
        if (finish == NOTICE_STOP_END && chat_out_n_call(&job->parts->out) > 0)
            finish = NOTICE_STOP_CALLS;
    }
    const int64_t now = clock_us(), computed = job->first_us ? job->first_us : now;
    last->finish = finish;
    last->n_prompt = job->n_prompt;
    last->processed = job->pos < job->n_prompt ? job->pos : job->n_prompt;
    last->n_generated = job->n_generated;
    last->seed = job->seed;
    last->timings = (struct notice_timings){
        .queue_us = job->admitted_us - job->ask->submitted_us,
        .prompt_us = computed - job->admitted_us,
        .predicted_us = now - computed,
    };
    if (finish != NOTICE_STOP_WORD)
        last->stop_word = NULL;
    return ANSWER_E_ENDED;
}
