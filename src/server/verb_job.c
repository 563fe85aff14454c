/* What generate and chat have in common: see verb_job.h. */
#include "config.h"
#include "src/server/verb_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/mem.h"
#include "src/engine/engine.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

/* The field of the request's verb. */
#define OF(q, tag) proto_same((q)->verb, PROTO_GENERATE_##tag)

_Static_assert((int)JOB_MAX_STOP == (int)PROTO_MAX_STOP, "stop strings");
_Static_assert((int)JOB_MAX_STOP_TOKEN == (int)PROTO_MAX_STOP_TOKEN, "stop ids");

static void copy_sampling(const struct request *q, struct job_ask *ask)
{
    struct sampler_params *s = &ask->sampling;
    s->temperature = (float)request_float(q, OF(q, TEMPERATURE), NAN);
    s->top_k = (int32_t)request_int(q, OF(q, TOP_K), JOB_UNSET);
    s->top_p = (float)request_float(q, OF(q, TOP_P), NAN);
    s->min_p = (float)request_float(q, OF(q, MIN_P), NAN);
    s->typical_p = (float)request_float(q, OF(q, TYPICAL_P), NAN);
    s->repeat_penalty = (float)request_float(q, OF(q, REPEAT_PENALTY), NAN);
    s->presence_penalty = (float)request_float(q, OF(q, PRESENCE_PENALTY), NAN);
    s->frequency_penalty = (float)request_float(q, OF(q, FREQUENCY_PENALTY), NAN);
    s->repeat_last_n = (int32_t)request_int(q, OF(q, REPEAT_LAST_N), JOB_UNSET);
    ask->has_seed = request_has(q, OF(q, SEED));
    s->seed = request_uint(q, OF(q, SEED), 0);
}

static bool copy_bias(const struct request *q, struct job_ask *ask)
{
    size_t n = request_count(q, OF(q, LOGIT_BIAS));
    if (n == 0)
        return true;
    ask->bias = mem_array(n, sizeof *ask->bias);
    if (!ask->bias)
        return false;
    for (size_t i = 0; i < n; i++) {
        double bias;
        ask->bias[i].id = (int32_t)request_bias_at(q, OF(q, LOGIT_BIAS), i, &bias);
        ask->bias[i].bias = (float)bias;
    }
    ask->sampling.n_bias = n;
    return true;
}

static bool copy_stops(const struct request *q, struct job_ask *ask)
{
    ask->n_stop_token = request_count(q, OF(q, STOP_TOKEN_IDS));
    for (size_t i = 0; i < ask->n_stop_token; i++)
        ask->stop_token[i] = (int32_t)request_int_at(q, OF(q, STOP_TOKEN_IDS), i);
    for (size_t i = 0; i < request_count(q, OF(q, STOP)); i++) {
        const char *text = request_bytes_at(q, OF(q, STOP), i, &ask->stop_bytes[i]);
        ask->stop[i] = strndup(text, ask->stop_bytes[i]);
        if (!ask->stop[i])
            return false;
        ask->n_stop = i + 1;
    }
    return true;
}

static void copy_rest(const struct request *q, struct job_ask *ask)
{
    ask->max_tokens = request_int(q, OF(q, MAX_TOKENS), PROTO_DEFAULT_MAX_TOKENS);
    ask->min_tokens = request_int(q, OF(q, MIN_TOKENS), 0);
    ask->ignore_eos = request_bool(q, OF(q, IGNORE_EOS), false);
    ask->logprobs = request_bool(q, OF(q, LOGPROBS), false);
    ask->top_logprobs = (int32_t)request_int(q, OF(q, TOP_LOGPROBS), 0);
    ask->prompt_logprobs = request_bool(q, OF(q, PROMPT_LOGPROBS), false);
    ask->return_tokens = request_bool(q, OF(q, RETURN_TOKENS), false);
    ask->return_special = request_bool(q, OF(q, RETURN_SPECIAL), false);
    ask->return_progress = true; /* for the server, which has to know what runs */
    ask->stream = request_bool(q, OF(q, STREAM), true);
    int64_t deadline_ms = request_int(q, OF(q, DEADLINE_MS), 0);
    if (deadline_ms > 0)
        ask->deadline_us = clock_us() + deadline_ms * 1000;
}

bool verb_job_copy(const struct request *q, struct job_ask *ask)
{
    copy_sampling(q, ask);
    copy_rest(q, ask);
    return copy_bias(q, ask) && copy_stops(q, ask);
}

static bool is_other_model(const struct server *server, const struct request *request)
{
    size_t n;
    enum proto_field field = request->verb == PROTO_CHAT ? PROTO_CHAT_MODEL : PROTO_GENERATE_MODEL;
    const char *model = request_bytes(request, field, &n);
    return model && (n != strlen(server->options.model_id) || memcmp(model, server->options.model_id, n));
}

/* n_prompt: 0 where it is not known yet. */
static void push_accepted(const struct ticket *ticket, size_t n_prompt, int32_t position)
{
    struct reply_to to = reply_to_ticket(ticket);
    struct msg_out out;
    peer_begin(ticket->peer, &out, PROTO_ACCEPTED);
    reply_put_to(&out, &to, PROTO_ACCEPTED_ID, PROTO_ACCEPTED_TRACE_ID);
    msg_put_int(&out, PROTO_ACCEPTED_JOB, (int64_t)ticket->job);
    msg_put_int(&out, PROTO_ACCEPTED_POSITION, position);
    if (n_prompt > 0)
        msg_put_int(&out, PROTO_ACCEPTED_N_PROMPT, (int64_t)n_prompt);
    peer_push(ticket->peer, &out);
}

/* The door: whether the job may come in, and its ticket. */
static struct ticket *let_in(struct peer *peer, const struct request *request, size_t n_byte)
{
    const struct server *server = peer->server;
    struct reply_to to = reply_to_request(request, request->verb == PROTO_CHAT ? PROTO_CHAT_TRACE_ID
                                                                               : PROTO_GENERATE_TRACE_ID);
    if (!is_other_model(server, request))
        return verb_take_ticket(peer, &to, JOB_GENERATE, n_byte);
    reply_error(peer, &to, PROTO_E_NOT_FOUND, "model", "the model served is '%s'", server->options.model_id);
    return NULL;
}

void verb_job_start(struct peer *peer, const struct request *request, struct job_ask *ask, size_t n_byte)
{
    const struct server *server = peer->server;
    int32_t position = server->tickets.n_generate;
    struct ticket *ticket = let_in(peer, request, n_byte);
    if (!ticket) {
        job_ask_free(ask);
        return;
    }
    ticket->shows_progress = request_bool(request, OF(request, RETURN_PROGRESS), false);
    push_accepted(ticket, ask && !ask->text ? ask->n_token : 0, position);
    struct engine_status status;
    engine_status(server->engine, &status);
    if (status.state == ENGINE_LOADING && !peer_is_closed(peer))
        reply_loading(ticket, status.load_fraction);
    if (peer_is_closed(peer))
        job_ask_free(ask);
    else
        verb_submit(ticket, ask);
}
