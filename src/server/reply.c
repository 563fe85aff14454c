/* Frames about requests: see reply.h. */
#include "config.h"
#include "src/server/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/log.h"
#include "src/base/utf8.h"
#include "src/engine/engine.h"
#include "src/server/server_parts.h"

enum { MAX_MESSAGE = 512 };

struct reply_to reply_to_request(const struct request *request, enum proto_field trace_id)
{
    struct reply_to to = {.id = request->id};
    to.trace_id = request_bytes(request, trace_id, &to.n_trace_id);
    return to;
}

struct reply_to reply_to_ticket(const struct ticket *ticket)
{
    return (struct reply_to){
        .id = ticket->id,
        .trace_id = ticket->n_trace_id ? ticket->trace_id : NULL,
        .n_trace_id = ticket->n_trace_id,
    };
}

void reply_put_to(struct msg_out *out, const struct reply_to *to, enum proto_field id,
                  enum proto_field trace_id)
{
    if (to->id)
        msg_put_int(out, id, to->id);
    if (to->trace_id)
        msg_put_text(out, trace_id, to->trace_id, to->n_trace_id);
}

static void begin_error(struct peer *peer, struct msg_out *out, const struct reply_to *to,
                        enum proto_error error, const char *param, const char *message)
{
    peer_begin(peer, out, PROTO_ERROR);
    reply_put_to(out, to, PROTO_ERROR_ID, PROTO_ERROR_TRACE_ID);
    msg_put_error(out, error, message);
    if (param)
        msg_put_str(out, PROTO_ERROR_PARAM, param);
}

void reply_error(struct peer *peer, const struct reply_to *to, enum proto_error error, const char *param,
                 const char *format, ...)
{
    char message[MAX_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    message[utf8_check(message, strlen(message))] = '\0'; /* the end of the buffer may have cut a character */
    struct msg_out out;
    begin_error(peer, &out, to, error, param, message);
    peer_push(peer, &out);
}

void reply_abandon(struct ticket *ticket, enum proto_error error, const char *message)
{
    struct peer *peer = ticket->peer;
    struct reply_to to = reply_to_ticket(ticket);
    int r = engine_drop(peer->server->engine, ticket->job);
    if (r != 0)
        server_fail(peer->server, r);
    log_debug("job %llu ends: %s", (unsigned long long)ticket->job, proto_error(error)->code);
    reply_error(peer, &to, error, NULL, "%s", message);
    /* The error may have failed for want of memory, which closes the connection and takes its tickets. */
    if (!peer_is_closed(peer))
        peer_give_ticket(ticket);
}

void reply_loading(struct ticket *ticket, double fraction)
{
    struct msg_out out;
    if (!ticket->shows_progress)
        return;
    peer_begin(ticket->peer, &out, PROTO_PROGRESS);
    msg_put_int(&out, PROTO_PROGRESS_ID, ticket->id);
    msg_put_str(&out, PROTO_PROGRESS_PHASE, "loading");
    msg_put_int(&out, PROTO_PROGRESS_PROCESSED, (int64_t)(100 * fraction));
    msg_put_int(&out, PROTO_PROGRESS_TOTAL, 100);
    peer_end(ticket->peer, &out); /* a client that does not read misses it */
}

/* Notices. */

static void put_logprob(struct msg_out *out, const struct notice_logprob *l)
{
    msg_map(out, PROTO_ELEMENT);
    msg_put_int(out, PROTO_LOGPROB_ID, l->id);
    msg_put_float(out, PROTO_LOGPROB_LOGPROB, l->logprob);
    if (l->bytes)
        msg_put_bin(out, PROTO_LOGPROB_BYTES, l->bytes, l->n_byte);
    if (l->top) {
        msg_array(out, PROTO_LOGPROB_TOP);
        for (uint32_t i = 0; i < l->n_top; i++)
            put_logprob(out, &l->top[i]);
        msg_close_part(out);
    }
    msg_close_part(out);
}

static void put_calls(struct msg_out *out, enum proto_field field, const struct notice *n)
{
    msg_array(out, field);
    for (size_t i = 0; i < n->n_call; i++) {
        const struct notice_call *call = &n->calls[i];
        msg_map(out, PROTO_ELEMENT);
        msg_put_int(out, PROTO_TOOL_CALL_INDEX, call->index);
        if (call->n_name > 0) {
            msg_put_str(out, PROTO_TOOL_CALL_ID, call->id);
            msg_put_text(out, PROTO_TOOL_CALL_NAME, call->name, call->n_name);
        }
        msg_put_text(out, PROTO_TOOL_CALL_ARGUMENTS, call->arguments, call->n_arguments);
        msg_close_part(out);
    }
    msg_close_part(out);
}

/* The fields of an answer, in a token frame or in done. */
struct answer_fields {
    enum proto_field content, reasoning, calls, tokens, logprobs;
};

static void put_answer(struct msg_out *out, const struct notice *n, const struct answer_fields *f)
{
    if (n->content)
        msg_put_text(out, f->content, n->content, n->n_content);
    if (n->n_reasoning > 0)
        msg_put_text(out, f->reasoning, n->reasoning, n->n_reasoning);
    if (n->n_call > 0)
        put_calls(out, f->calls, n);
    if (n->tokens)
        msg_put_ints(out, f->tokens, n->tokens, n->n_token);
    if (n->logprobs) {
        msg_array(out, f->logprobs);
        for (size_t i = 0; i < n->n_logprob; i++)
            put_logprob(out, &n->logprobs[i]);
        msg_close_part(out);
    }
}

static void put_progress(struct msg_out *out, const struct ticket *ticket, const struct notice *n)
{
    msg_put_int(out, PROTO_PROGRESS_ID, ticket->id);
    msg_put_str(out, PROTO_PROGRESS_PHASE, n->phase == NOTICE_QUEUED ? "queued" : "prefill");
    if (n->phase == NOTICE_QUEUED) {
        msg_put_int(out, PROTO_PROGRESS_POSITION, n->position);
        return;
    }
    msg_put_int(out, PROTO_PROGRESS_PROCESSED, n->processed);
    msg_put_int(out, PROTO_PROGRESS_TOTAL, n->total);
    msg_put_double(out, PROTO_PROGRESS_TIME_MS, (double)n->time_us / 1000);
}

static void put_token(struct msg_out *out, const struct ticket *ticket, const struct notice *n)
{
    msg_put_int(out, PROTO_TOKEN_ID, ticket->id);
    msg_put_int(out, PROTO_TOKEN_INDEX, n->index);
    static const struct answer_fields fields = {PROTO_TOKEN_CONTENT, PROTO_TOKEN_REASONING_CONTENT,
                                                PROTO_TOKEN_TOOL_CALLS, PROTO_TOKEN_TOKENS,
                                                PROTO_TOKEN_LOGPROBS};
    put_answer(out, n, &fields);
}

static void put_usage(struct msg_out *out, const struct notice *n)
{
    msg_map(out, PROTO_DONE_USAGE);
    msg_put_int(out, PROTO_USAGE_PROMPT_TOKENS, n->n_prompt);
    msg_put_int(out, PROTO_USAGE_COMPLETION_TOKENS, n->n_generated);
    msg_put_int(out, PROTO_USAGE_TOTAL_TOKENS, n->n_prompt + n->n_generated);
    msg_close_part(out);
    msg_map(out, PROTO_DONE_TIMINGS);
    msg_put_double(out, PROTO_TIMINGS_QUEUE_MS, (double)n->timings.queue_us / 1000);
    msg_put_int(out, PROTO_TIMINGS_PROMPT_N, n->processed);
    msg_put_double(out, PROTO_TIMINGS_PROMPT_MS, (double)n->timings.prompt_us / 1000);
    msg_put_int(out, PROTO_TIMINGS_PREDICTED_N, n->n_generated);
    msg_put_double(out, PROTO_TIMINGS_PREDICTED_MS, (double)n->timings.predicted_us / 1000);
    msg_close_part(out);
}

static void put_done(struct msg_out *out, const struct ticket *ticket, const struct notice *n)
{
    static const struct {
        const char *reason, *type;
    } names[] = {
        [NOTICE_STOP_END] = {"stop", "eos"},      [NOTICE_STOP_CALLS] = {"tool_calls", "eos"},
        [NOTICE_STOP_WORD] = {"stop", "word"},    [NOTICE_STOP_LIMIT] = {"length", "limit"},
        [NOTICE_CANCELLED] = {"cancelled", NULL},
    };
    struct reply_to to = reply_to_ticket(ticket);
    reply_put_to(out, &to, PROTO_DONE_ID, PROTO_DONE_TRACE_ID);
    msg_put_str(out, PROTO_DONE_FINISH_REASON, names[n->finish].reason);
    if (names[n->finish].type)
        msg_put_str(out, PROTO_DONE_STOP_TYPE, names[n->finish].type);
    if (n->stop_word)
        msg_put_text(out, PROTO_DONE_STOPPING_WORD, n->stop_word, n->n_stop_word);
    static const struct answer_fields fields = {PROTO_DONE_CONTENT, PROTO_DONE_REASONING_CONTENT,
                                                PROTO_DONE_TOOL_CALLS, PROTO_DONE_TOKENS,
                                                PROTO_DONE_LOGPROBS};
    put_answer(out, n, &fields);
    if (n->prompt_logprobs)
        msg_put_floats(out, PROTO_DONE_PROMPT_LOGPROBS, n->prompt_logprobs, n->n_prompt_logprob);
    put_usage(out, n);
    msg_put_uint(out, PROTO_DONE_SEED, n->seed);
}

static void put_result(struct msg_out *out, const struct ticket *ticket, const struct notice *n)
{
    struct reply_to to = reply_to_ticket(ticket);
    if (ticket->kind == JOB_DETOKENIZE) {
        reply_put_to(out, &to, PROTO_DETOKENIZE_RESULT_ID, PROTO_DETOKENIZE_RESULT_TRACE_ID);
        msg_put_text(out, PROTO_DETOKENIZE_RESULT_CONTENT, n->content, n->n_content);
        return;
    }
    if (ticket->kind == JOB_TEMPLATE) {
        reply_put_to(out, &to, PROTO_APPLY_TEMPLATE_RESULT_ID, PROTO_APPLY_TEMPLATE_RESULT_TRACE_ID);
        msg_put_text(out, PROTO_APPLY_TEMPLATE_RESULT_PROMPT, n->content, n->n_content);
        if (n->tokens) {
            msg_put_int(out, PROTO_APPLY_TEMPLATE_RESULT_N_TOKENS, (int64_t)n->n_token);
            msg_put_ints(out, PROTO_APPLY_TEMPLATE_RESULT_TOKENS, n->tokens, n->n_token);
        }
        return;
    }
    if (ticket->kind == JOB_COUNT) {
        reply_put_to(out, &to, PROTO_COUNT_RESULT_ID, PROTO_COUNT_RESULT_TRACE_ID);
        msg_put_int(out, PROTO_COUNT_RESULT_N_TOKENS, (int64_t)n->n_token);
        return;
    }
    reply_put_to(out, &to, PROTO_TOKENIZE_RESULT_ID, PROTO_TOKENIZE_RESULT_TRACE_ID);
    msg_put_ints(out, PROTO_TOKENIZE_RESULT_TOKENS, n->tokens, n->n_token);
    if (ticket->shows_pieces) {
        msg_array(out, PROTO_TOKENIZE_RESULT_PIECES);
        for (size_t i = 0; i < n->n_token; i++)
            msg_put_bin(out, PROTO_ELEMENT, n->pieces[i].bytes, n->pieces[i].n_byte);
        msg_close_part(out);
    }
}

/* A failure, with the numbers that its sentence names. */
static void push_failure(struct ticket *ticket, const struct notice *n)
{
    struct reply_to to = reply_to_ticket(ticket);
    enum proto_error error = proto_find_error(n->code);
    if (error == PROTO_N_ERROR)
        error = PROTO_E_INTERNAL;
    bool overflow = error == PROTO_E_CONTEXT_OVERFLOW;
    struct msg_out out;
    begin_error(ticket->peer, &out, &to, error, n->param, n->message);
    if (n->got >= 0 || n->limit >= 0) {
        msg_map(&out, PROTO_ERROR_DETAIL);
        if (n->got >= 0)
            msg_put_int(&out, overflow ? PROTO_DETAIL_N_PROMPT : PROTO_DETAIL_GOT, n->got);
        if (n->limit >= 0)
            msg_put_int(&out, overflow ? PROTO_DETAIL_N_CTX : PROTO_DETAIL_LIMIT, n->limit);
        msg_close_part(&out);
    }
    peer_push(ticket->peer, &out);
}

static enum proto_message message_of(const struct ticket *ticket, const struct notice *n)
{
    switch (n->kind) {
    case NOTICE_PROGRESS:
        return PROTO_PROGRESS;
    case NOTICE_TOKEN:
        return PROTO_TOKEN;
    case NOTICE_DONE:
        return PROTO_DONE;
    default:
        return ticket->kind == JOB_TOKENIZE     ? PROTO_TOKENIZE_RESULT
               : ticket->kind == JOB_DETOKENIZE ? PROTO_DETOKENIZE_RESULT
               : ticket->kind == JOB_TEMPLATE   ? PROTO_APPLY_TEMPLATE_RESULT
                                                : PROTO_COUNT_RESULT;
    }
}

/* Whatever happens, the ticket is not to be used afterwards where this returns true. */
static bool push_notice(struct ticket *ticket, const struct notice *n)
{
    struct peer *peer = ticket->peer;
    struct msg_out out;
    peer_begin(peer, &out, message_of(ticket, n));
    switch (n->kind) {
    case NOTICE_PROGRESS:
        put_progress(&out, ticket, n);
        break;
    case NOTICE_TOKEN:
        put_token(&out, ticket, n);
        break;
    case NOTICE_DONE:
        put_done(&out, ticket, n);
        break;
    default:
        put_result(&out, ticket, n);
        break;
    }
    int r = peer_end(peer, &out);
    if (r == PEER_E_SLOW)
        reply_abandon(ticket, PROTO_E_SLOW_CLIENT, "the client reads its answers too slowly");
    else if (r == PEER_E_TOO_LARGE)
        reply_abandon(ticket, PROTO_E_INVALID_REQUEST, "a frame of the answer is longer than max_frame");
    return r != 0 || peer_is_closed(peer);
}

void reply_notice(struct ticket *ticket, const struct notice *n)
{
    if (n->kind == NOTICE_PROGRESS) {
        ticket->runs = ticket->runs || n->phase == NOTICE_PREFILL;
        if (!ticket->shows_progress)
            return;
    }
    struct peer *peer = ticket->peer;
    bool is_last = n->kind == NOTICE_DONE || n->kind == NOTICE_RESULT || n->kind == NOTICE_FAILED;
    if (n->kind == NOTICE_FAILED)
        push_failure(ticket, n);
    else if (push_notice(ticket, n))
        return;
    if (!is_last || peer_is_closed(peer))
        return;
    if (n->kind == NOTICE_DONE)
        log_debug("job %llu ends: %lld tokens of prompt in %lld ms, %lld of answer in %lld ms",
                  (unsigned long long)ticket->job, (long long)n->n_prompt,
                  (long long)n->timings.prompt_us / 1000, (long long)n->n_generated,
                  (long long)n->timings.predicted_us / 1000);
    peer_give_ticket(ticket);
}
