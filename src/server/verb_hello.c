/* hello: agree on the protocol; say what is served. */
#include "config.h"

#include <stdio.h>

#include "src/engine/engine.h"
#include "src/server/describe.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

void verb_hello(struct peer *peer, const struct request *request)
{
    const struct server *server = peer->server;
    int64_t version = request_int(request, PROTO_HELLO_PROTOCOL, PROTO_VERSION);
    if (version != PROTO_VERSION) {
        char message[96];
        snprintf(message, sizeof message,
                 "the client speaks version %lld of the protocol, the server version %d", (long long)version,
                 PROTO_VERSION);
        peer_complain(peer, PROTO_E_VERSION, message);
        return;
    }
    peer->max_frame = (size_t)request_int(request, PROTO_HELLO_MAX_FRAME, FRAME_MAX_OUT);

    struct msg_out out;
    peer_begin(peer, &out, PROTO_HELLO_REPLY);
    if (request->id)
        msg_put_int(&out, PROTO_HELLO_REPLY_ID, request->id);
    msg_put_int(&out, PROTO_HELLO_REPLY_PROTOCOL, PROTO_VERSION);
    msg_put_str(&out, PROTO_HELLO_REPLY_SERVER, "lorchd");
    msg_put_str(&out, PROTO_HELLO_REPLY_VERSION, VERSION);
    msg_array(&out, PROTO_HELLO_REPLY_FEATURES); /* version 1 has no additions yet */
    msg_close_part(&out);
    msg_put_str(&out, PROTO_HELLO_REPLY_STATE, server_state(server));
    describe_limits(&out, PROTO_HELLO_REPLY_LIMITS, peer);
    if (engine_model(server->engine)) {
        describe_model(&out, PROTO_HELLO_REPLY_MODEL, server);
        describe_defaults(&out, PROTO_HELLO_REPLY_DEFAULTS, server);
    }
    peer_push(peer, &out);
}
