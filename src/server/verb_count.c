/* count: how many ids a text or a conversation has. The engine's helper answers. */
#include "config.h"

#include "src/server/converse.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

static struct job_ask *make_ask(const struct request *request)
{
    struct job_ask *ask = job_ask_new(JOB_COUNT);
    if (!ask || !verb_copy_text(request, PROTO_COUNT_CONTENT, ask))
        return job_ask_free(ask);
    ask->add_special = request_bool(request, PROTO_COUNT_ADD_SPECIAL, true);
    ask->parse_special = request_bool(request, PROTO_COUNT_PARSE_SPECIAL, false);
    ask->replace_invalid = request_is(request, PROTO_COUNT_INVALID_UTF8, "replace");
    return ask;
}

static void count_text(struct peer *peer, const struct request *request, const struct reply_to *to)
{
    size_t n;
    request_bytes(request, PROTO_COUNT_CONTENT, &n);
    struct ticket *ticket = verb_take_ticket(peer, to, JOB_COUNT, n);
    if (ticket)
        verb_submit(ticket, make_ask(request));
}

static void count_conversation(struct peer *peer, const struct request *request, const struct reply_to *to)
{
    struct conversation *c = verb_read_conversation(peer, request, PROTO_COUNT_TRACE_ID);
    struct ticket *ticket = c ? verb_take_ticket(peer, to, JOB_COUNT, c->n_byte) : NULL;
    if (!ticket) {
        conversation_free(c);
        return;
    }
    struct job_ask *ask = verb_ask_about(c, JOB_COUNT);
    if (ask)
        ask->add_special = request_bool(request, PROTO_COUNT_ADD_SPECIAL, false);
    verb_submit(ticket, ask);
}

void verb_count(struct peer *peer, const struct request *request)
{
    struct reply_to to = reply_to_request(request, PROTO_COUNT_TRACE_ID);
    if (!verb_is_ready(peer, &to))
        return;
    if (request_has(request, PROTO_COUNT_MESSAGES))
        count_conversation(peer, request, &to);
    else
        count_text(peer, request, &to);
}
