/* generate: continue a prompt. The fields of the request become a job for the engine. */
#include "config.h"

#include "src/server/verb.h"
#include "src/server/verb_job.h"

static struct job_ask *make_ask(const struct request *q)
{
    struct job_ask *ask = job_ask_new(JOB_GENERATE);
    if (!ask)
        return NULL;
    bool copied = request_has(q, PROTO_GENERATE_PROMPT) ? verb_copy_text(q, PROTO_GENERATE_PROMPT, ask)
                                                        : verb_copy_ids(q, PROTO_GENERATE_TOKENS, ask);
    if (!copied || !verb_job_copy(q, ask))
        return job_ask_free(ask);
    ask->add_special = request_bool(q, PROTO_GENERATE_ADD_SPECIAL, true);
    ask->parse_special = request_bool(q, PROTO_GENERATE_PARSE_SPECIAL, false);
    ask->replace_invalid = request_is(q, PROTO_GENERATE_INVALID_UTF8, "replace");
    return ask;
}

void verb_generate(struct peer *peer, const struct request *request)
{
    size_t n_byte;
    request_bytes(request, PROTO_GENERATE_PROMPT, &n_byte);
    n_byte += request_count(request, PROTO_GENERATE_TOKENS) * sizeof(int32_t);
    verb_job_start(peer, request, make_ask(request), n_byte);
}
