/* detokenize: ids to text. The engine's helper answers. */
#include "config.h"

#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

static struct job_ask *make_ask(const struct request *request)
{
    struct job_ask *ask = job_ask_new(JOB_DETOKENIZE);
    if (!ask || !verb_copy_ids(request, PROTO_DETOKENIZE_TOKENS, ask))
        return job_ask_free(ask);
    ask->return_special = request_bool(request, PROTO_DETOKENIZE_RETURN_SPECIAL, false);
    return ask;
}

void verb_detokenize(struct peer *peer, const struct request *request)
{
    struct reply_to to = reply_to_request(request, PROTO_DETOKENIZE_TRACE_ID);
    if (!verb_is_ready(peer, &to))
        return;
    size_t n_byte = request_count(request, PROTO_DETOKENIZE_TOKENS) * sizeof(int32_t);
    struct ticket *ticket = verb_take_ticket(peer, &to, JOB_DETOKENIZE, n_byte);
    if (ticket)
        verb_submit(ticket, make_ask(request));
}
