/* ping: still alive? */
#include "config.h"

#include "src/engine/engine.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

void verb_ping(struct peer *peer, const struct request *request)
{
    struct engine_status status;
    engine_status(peer->server->engine, &status);
    struct msg_out out;
    peer_begin(peer, &out, PROTO_PONG);
    if (request->id)
        msg_put_int(&out, PROTO_PONG_ID, request->id);
    if (request_has(request, PROTO_PING_T))
        msg_put_int(&out, PROTO_PONG_T, request_int(request, PROTO_PING_T, 0));
    msg_put_str(&out, PROTO_PONG_STATE, server_state(peer->server));
    msg_put_int(&out, PROTO_PONG_ENGINE_IDLE_MS, status.idle_us / 1000);
    peer_push(peer, &out);
}
