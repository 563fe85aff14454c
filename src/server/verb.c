/* What clients can ask: see verb.h. */
#include "config.h"
#include "src/server/verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/engine/engine.h"
#include "src/server/converse.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"

static void (*const verbs[PROTO_N_VERB])(struct peer *, const struct request *) = {
#define VERB(tag, name, ...) [PROTO_##tag] = verb_##name,
#include "proto/verbs.def"
};

/* Does the request's own id name one that is still being answered? */
static bool is_taken(const struct peer *peer, const struct request *request)
{
    return request_error_id(request) && ticket_find_id(&peer->tickets, request->id);
}

void verb_dispatch(struct peer *peer, const uint8_t *body, size_t n)
{
    struct request request;
    struct why why;
    char message[64];
    int r = request_decode(&request, body, n, &why);
    if (r == REQUEST_E_PROTOCOL) {
        peer_complain(peer, PROTO_E_PROTOCOL_ERROR, why.text);
    } else if (r < 0) {
        peer_complain(peer, PROTO_E_INTERNAL, "out of memory");
    } else if (is_taken(peer, &request)) {
        snprintf(message, sizeof message, "id %lld is in use", (long long)request.id);
        peer_complain(peer, PROTO_E_PROTOCOL_ERROR, message);
    } else if (r == REQUEST_E_INVALID) {
        peer_wrote(peer, request_error(&request, &peer->out, peer->max_frame));
    } else {
        verbs[request.verb](peer, &request);
    }
    request_deinit(&request);
}

bool verb_is_ready(struct peer *peer, const struct reply_to *to)
{
    struct server *server = peer->server;
    if (server->phase != SERVER_SERVING)
        reply_error(peer, to, PROTO_E_DRAINING, NULL, "the server is about to end");
    else if (!engine_model(server->engine))
        reply_error(peer, to, PROTO_E_LOADING, NULL, "the model is still being loaded");
    else
        return true;
    return false;
}

/* May one more generation be taken up? Charges the user for it. */
static bool admit(struct peer *peer, const struct reply_to *to)
{
    struct server *server = peer->server;
    int32_t n_max = server->options.max_queue + 1; /* one of them runs */
    if (server->phase != SERVER_SERVING) {
        reply_error(peer, to, PROTO_E_DRAINING, NULL, "the server is about to end");
    } else if (server->tickets.n_generate >= n_max) {
        reply_error(peer, to, PROTO_E_QUEUE_FULL, NULL, "the limit of %d waiting jobs is reached",
                    server->options.max_queue);
    } else if (quota_take_job(&server->quotas, peer->user) != 0) {
        reply_error(peer, to, PROTO_E_UID_LIMIT, NULL, "the limit of %d jobs of one user is reached",
                    server->options.max_user_jobs);
    } else {
        return true;
    }
    return false;
}

struct ticket *verb_take_ticket(struct peer *peer, const struct reply_to *to, enum job_kind kind,
                                size_t n_byte)
{
    struct server *server = peer->server;
    if (kind == JOB_GENERATE && !admit(peer, to))
        return NULL;
    struct ticket *t = NULL;
    if (quota_take_bytes(&server->quotas, peer->user, n_byte) != 0) {
        reply_error(peer, to, PROTO_E_UID_LIMIT, NULL, "too many bytes of unanswered requests of this user");
    } else if (!(t = peer_take_ticket(peer, to->id, kind))) {
        quota_give_bytes(peer->user, n_byte);
        reply_error(peer, to, PROTO_E_INTERNAL, NULL, "out of memory");
    }
    if (!t && kind == JOB_GENERATE && !peer_is_closed(peer))
        quota_give_job(peer->user);
    if (!t)
        return NULL;
    t->n_byte = n_byte;
    t->n_trace_id = to->n_trace_id; /* at most PROTO_MAX_TRACE_ID, by its row */
    if (to->trace_id)
        memcpy(t->trace_id, to->trace_id, to->n_trace_id);
    return t;
}

void verb_submit(struct ticket *ticket, struct job_ask *ask)
{
    if (!ask) {
        reply_abandon(ticket, PROTO_E_INTERNAL, "out of memory");
        return;
    }
    ask->job = ticket->job;
    ask->max_frame = ticket->peer->max_frame;
    if (engine_submit(ticket->peer->server->engine, ask) != 0)
        reply_abandon(ticket, PROTO_E_INTERNAL, "out of memory");
}

bool verb_copy_text(const struct request *request, enum proto_field field, struct job_ask *ask)
{
    const char *text = request_bytes(request, field, &ask->n_text);
    ask->text = malloc(ask->n_text + 1);
    if (!ask->text)
        return false;
    memcpy(ask->text, text, ask->n_text);
    ask->text[ask->n_text] = '\0';
    return true;
}

bool verb_copy_ids(const struct request *request, enum proto_field field, struct job_ask *ask)
{
    ask->n_token = request_count(request, field);
    ask->tokens = mem_array(ask->n_token, sizeof *ask->tokens);
    if (!ask->tokens)
        return false;
    for (size_t i = 0; i < ask->n_token; i++)
        ask->tokens[i] = (int32_t)request_int_at(request, field, i); /* 0 to INT32_MAX, by its row */
    return true;
}

struct conversation *verb_read_conversation(struct peer *peer, const struct request *request,
                                            enum proto_field trace_id)
{
    struct reply_to to = reply_to_request(request, trace_id);
    struct conversation *conversation = converse_read(request);
    if (!conversation)
        reply_error(peer, &to, PROTO_E_INTERNAL, NULL, "out of memory");
    return conversation;
}

struct job_ask *verb_ask_about(struct conversation *conversation, enum job_kind kind)
{
    struct job_ask *ask = job_ask_new(kind);
    if (ask)
        ask->conversation = conversation;
    else
        conversation_free(conversation);
    return ask;
}
