/* status: what the server is doing, and counters since its start. */
#include "config.h"

#include "src/base/clock.h"
#include "src/engine/engine.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

void verb_status(struct peer *peer, const struct request *request)
{
    const struct server *server = peer->server;
    struct reply_to to = reply_to_request(request, PROTO_STATUS_TRACE_ID);
    struct engine_status s;
    engine_status(server->engine, &s);

    struct msg_out out;
    peer_begin(peer, &out, PROTO_STATUS_RESULT);
    reply_put_to(&out, &to, PROTO_STATUS_RESULT_ID, PROTO_STATUS_RESULT_TRACE_ID);
    msg_put_str(&out, PROTO_STATUS_RESULT_STATE, server_state(server));
    if (s.state == ENGINE_LOADING) {
        msg_put_double(&out, PROTO_STATUS_RESULT_LOAD_FRACTION, s.load_fraction);
        msg_put_str(&out, PROTO_STATUS_RESULT_LOAD_PHASE, s.load_phase);
    }
    msg_put_str(&out, PROTO_STATUS_RESULT_VERSION, VERSION);
    msg_put_int(&out, PROTO_STATUS_RESULT_UPTIME_MS, (clock_us() - server->start_us) / 1000);
    msg_put_int(&out, PROTO_STATUS_RESULT_CONNECTIONS, server->n_peer);
    msg_put_int(&out, PROTO_STATUS_RESULT_JOBS_RUNNING, s.n_running);
    msg_put_int(&out, PROTO_STATUS_RESULT_JOBS_WAITING, s.n_waiting);
    msg_put_int(&out, PROTO_STATUS_RESULT_JOBS_DONE, (int64_t)s.n_done);
    msg_put_int(&out, PROTO_STATUS_RESULT_JOBS_FAILED, (int64_t)s.n_failed);
    msg_put_int(&out, PROTO_STATUS_RESULT_JOBS_CANCELLED, (int64_t)s.n_cancelled);
    msg_put_int(&out, PROTO_STATUS_RESULT_PROMPT_TOKENS, (int64_t)s.n_prompt_token);
    msg_put_int(&out, PROTO_STATUS_RESULT_GENERATED_TOKENS, (int64_t)s.n_generated_token);
    msg_put_int(&out, PROTO_STATUS_RESULT_KV_PAGES, s.n_page);
    msg_put_int(&out, PROTO_STATUS_RESULT_KV_PAGES_FREE, s.n_page_free);
    msg_put_int(&out, PROTO_STATUS_RESULT_ENGINE_IDLE_MS, s.idle_us / 1000);
    peer_push(peer, &out);
}
