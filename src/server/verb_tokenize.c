/* tokenize: text to ids. The engine's helper answers, so that no generation is in its way. */
#include "config.h"

#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

static struct job_ask *make_ask(const struct request *request)
{
    struct job_ask *ask = job_ask_new(JOB_TOKENIZE);
    if (!ask || !verb_copy_text(request, PROTO_TOKENIZE_CONTENT, ask))
        return job_ask_free(ask);
    ask->add_special = request_bool(request, PROTO_TOKENIZE_ADD_SPECIAL, true);
    ask->parse_special = request_bool(request, PROTO_TOKENIZE_PARSE_SPECIAL, false);
    ask->replace_invalid = request_is(request, PROTO_TOKENIZE_INVALID_UTF8, "replace");
    ask->with_pieces = request_bool(request, PROTO_TOKENIZE_WITH_PIECES, false);
    return ask;
}

void verb_tokenize(struct peer *peer, const struct request *request)
{
    struct reply_to to = reply_to_request(request, PROTO_TOKENIZE_TRACE_ID);
    if (!verb_is_ready(peer, &to))
        return;
    size_t n;
    request_bytes(request, PROTO_TOKENIZE_CONTENT, &n);
    struct ticket *ticket = verb_take_ticket(peer, &to, JOB_TOKENIZE, n);
    if (!ticket)
        return;
    ticket->shows_pieces = request_bool(request, PROTO_TOKENIZE_WITH_PIECES, false);
    verb_submit(ticket, make_ask(request));
}
