/* apply_template: the prompt that a conversation becomes. The engine's helper answers. */
#include "config.h"

#include "src/server/converse.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

void verb_apply_template(struct peer *peer, const struct request *request)
{
    struct reply_to to = reply_to_request(request, PROTO_APPLY_TEMPLATE_TRACE_ID);
    if (!verb_is_ready(peer, &to))
        return;
    struct conversation *c = verb_read_conversation(peer, request, PROTO_APPLY_TEMPLATE_TRACE_ID);
    struct ticket *ticket = c ? verb_take_ticket(peer, &to, JOB_TEMPLATE, c->n_byte) : NULL;
    if (!ticket) {
        conversation_free(c);
        return;
    }
    struct job_ask *ask = verb_ask_about(c, JOB_TEMPLATE);
    if (ask) {
        ask->add_special = request_bool(request, PROTO_APPLY_TEMPLATE_ADD_SPECIAL, false);
        ask->return_tokens = request_bool(request, PROTO_APPLY_TEMPLATE_RETURN_TOKENS, false);
    }
    verb_submit(ticket, ask);
}
