/* generate: continue a prompt. The fields of the request become a job for the engine. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/mem.h"
#include "src/engine/engine.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

_Static_assert((int)JOB_MAX_STOP == (int)PROTO_MAX_STOP, "stop strings");
_Static_assert((int)JOB_MAX_STOP_TOKEN == (int)PROTO_MAX_STOP_TOKEN, "stop ids");

static void copy_sampling(const struct request *q, struct job_ask *ask)
{
    struct sampler_params *s = &ask->sampling;
    s->temperature = (float)request_float(q, PROTO_GENERATE_TEMPERATURE, NAN);
    s->top_k = (int32_t)request_int(q, PROTO_GENERATE_TOP_K, JOB_UNSET);
    s->top_p = (float)request_float(q, PROTO_GENERATE_TOP_P, NAN);
    s->min_p = (float)request_float(q, PROTO_GENERATE_MIN_P, NAN);
    s->typical_p = (float)request_float(q, PROTO_GENERATE_TYPICAL_P, NAN);
    s->repeat_penalty = (float)request_float(q, PROTO_GENERATE_REPEAT_PENALTY, NAN);
    s->presence_penalty = (float)request_float(q, PROTO_GENERATE_PRESENCE_PENALTY, NAN);
    s->frequency_penalty = (float)request_float(q, PROTO_GENERATE_FREQUENCY_PENALTY, NAN);
    s->repeat_last_n = (int32_t)request_int(q, PROTO_GENERATE_REPEAT_LAST_N, JOB_UNSET);
    ask->has_seed = request_has(q, PROTO_GENERATE_SEED);
    s->seed = request_uint(q, PROTO_GENERATE_SEED, 0);
}

static bool copy_bias(const struct request *q, struct job_ask *ask)
{
    size_t n = request_count(q, PROTO_GENERATE_LOGIT_BIAS);
    if (n == 0)
        return true;
    ask->bias = mem_array(n, sizeof *ask->bias);
    if (!ask->bias)
        return false;
    for (size_t i = 0; i < n; i++) {
        double bias;
        ask->bias[i].id = (int32_t)request_bias_at(q, PROTO_GENERATE_LOGIT_BIAS, i, &bias);
        ask->bias[i].bias = (float)bias;
    }
    ask->sampling.n_bias = n;
    return true;
}

static bool copy_stops(const struct request *q, struct job_ask *ask)
{
    ask->n_stop_token = request_count(q, PROTO_GENERATE_STOP_TOKEN_IDS);
    for (size_t i = 0; i < ask->n_stop_token; i++)
        ask->stop_token[i] = (int32_t)request_int_at(q, PROTO_GENERATE_STOP_TOKEN_IDS, i);
    for (size_t i = 0; i < request_count(q, PROTO_GENERATE_STOP); i++) {
        const char *text = request_bytes_at(q, PROTO_GENERATE_STOP, i, &ask->stop_bytes[i]);
        ask->stop[i] = strndup(text, ask->stop_bytes[i]);
        if (!ask->stop[i])
            return false;
        ask->n_stop = i + 1;
    }
    return true;
}

static void copy_flags(const struct request *q, struct job_ask *ask)
{
    ask->add_special = request_bool(q, PROTO_GENERATE_ADD_SPECIAL, true);
    ask->parse_special = request_bool(q, PROTO_GENERATE_PARSE_SPECIAL, false);
    ask->replace_invalid = request_is(q, PROTO_GENERATE_INVALID_UTF8, "replace");
    ask->max_tokens = request_int(q, PROTO_GENERATE_MAX_TOKENS, PROTO_DEFAULT_MAX_TOKENS);
    ask->min_tokens = request_int(q, PROTO_GENERATE_MIN_TOKENS, 0);
    ask->ignore_eos = request_bool(q, PROTO_GENERATE_IGNORE_EOS, false);
    ask->logprobs = request_bool(q, PROTO_GENERATE_LOGPROBS, false);
    ask->top_logprobs = (int32_t)request_int(q, PROTO_GENERATE_TOP_LOGPROBS, 0);
    ask->prompt_logprobs = request_bool(q, PROTO_GENERATE_PROMPT_LOGPROBS, false);
    ask->return_tokens = request_bool(q, PROTO_GENERATE_RETURN_TOKENS, false);
    ask->return_special = request_bool(q, PROTO_GENERATE_RETURN_SPECIAL, false);
    ask->return_progress = true; /* for the server, which has to know what runs */
    ask->stream = request_bool(q, PROTO_GENERATE_STREAM, true);
    int64_t deadline_ms = request_int(q, PROTO_GENERATE_DEADLINE_MS, 0);
    if (deadline_ms > 0)
        ask->deadline_us = clock_us() + deadline_ms * 1000;
}

static struct job_ask *make_ask(const struct request *q)
{
    struct job_ask *ask = job_ask_new(JOB_GENERATE);
    if (!ask)
        return NULL;
    bool copied = request_has(q, PROTO_GENERATE_PROMPT) ? verb_copy_text(q, PROTO_GENERATE_PROMPT, ask)
                                                        : verb_copy_ids(q, PROTO_GENERATE_TOKENS, ask);
    if (!copied || !copy_bias(q, ask) || !copy_stops(q, ask))
        return job_ask_free(ask);
    copy_sampling(q, ask);
    copy_flags(q, ask);
    return ask;
}

static bool is_other_model(const struct server *server, const struct request *request)
{
    size_t n;
    const char *model = request_bytes(request, PROTO_GENERATE_MODEL, &n);
    return model && (n != strlen(server->options.model_id) || memcmp(model, server->options.model_id, n));
}

static void push_accepted(const struct ticket *ticket, const struct request *request, int32_t position)
{
    struct reply_to to = reply_to_ticket(ticket);
    struct msg_out out;
    peer_begin(ticket->peer, &out, PROTO_ACCEPTED);
    reply_put_to(&out, &to, PROTO_ACCEPTED_ID, PROTO_ACCEPTED_TRACE_ID);
    msg_put_int(&out, PROTO_ACCEPTED_JOB, (int64_t)ticket->job);
    msg_put_int(&out, PROTO_ACCEPTED_POSITION, position);
    if (request_has(request, PROTO_GENERATE_TOKENS))
        msg_put_int(&out, PROTO_ACCEPTED_N_PROMPT, (int64_t)request_count(request, PROTO_GENERATE_TOKENS));
    peer_push(ticket->peer, &out);
}

void verb_generate(struct peer *peer, const struct request *request)
{
    const struct server *server = peer->server;
    struct reply_to to = reply_to_request(request, PROTO_GENERATE_TRACE_ID);
    if (is_other_model(server, request)) {
        reply_error(peer, &to, PROTO_E_NOT_FOUND, "model", "the model served is '%s'",
                    server->options.model_id);
        return;
    }
    size_t n_byte;
    request_bytes(request, PROTO_GENERATE_PROMPT, &n_byte);
    n_byte += request_count(request, PROTO_GENERATE_TOKENS) * sizeof(int32_t);
    int32_t position = server->tickets.n_generate;
    struct ticket *ticket = verb_take_ticket(peer, &to, JOB_GENERATE, n_byte);
    if (!ticket)
        return;
    ticket->shows_progress = request_bool(request, PROTO_GENERATE_RETURN_PROGRESS, false);
    push_accepted(ticket, request, position);
    struct engine_status status;
    engine_status(server->engine, &status);
    if (status.state == ENGINE_LOADING && !peer_is_closed(peer))
        reply_loading(ticket, status.load_fraction);
    if (!peer_is_closed(peer))
        verb_submit(ticket, make_ask(request));
}
