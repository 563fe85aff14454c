/* chat: continue a conversation. The engine's helper renders it with the model's template. */
#include "config.h"

#include "src/server/converse.h"
#include "src/server/verb.h"
#include "src/server/verb_job.h"

void verb_chat(struct peer *peer, const struct request *request)
{
    struct conversation *conversation = verb_read_conversation(peer, request, PROTO_CHAT_TRACE_ID);
    if (!conversation)
        return;
    size_t n_byte = conversation->n_byte;
    struct job_ask *ask = verb_ask_about(conversation, JOB_GENERATE);
    if (ask && !verb_job_copy(request, ask))
        ask = job_ask_free(ask);
    if (ask)
        ask->add_special = request_bool(request, PROTO_CHAT_ADD_SPECIAL, false);
    verb_job_start(peer, request, ask, n_byte);
}
