/* cancel: end a job of one's own. Its last frame is the answer; one that is not there (any more) is no error.
 */
#include "config.h"

#include "src/engine/engine.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

/* A job of any connection of the same user, or a request of this connection. */
static const struct ticket *find_target(const struct peer *peer, const struct request *request)
{
    if (!request_has(request, PROTO_CANCEL_JOB))
        return ticket_find_id(&peer->tickets, request->id);
    uint64_t job = (uint64_t)request_int(request, PROTO_CANCEL_JOB, 0);
    const struct ticket *t = ticket_find(&peer->server->tickets, job);
    return t && t->peer->user == peer->user ? t : NULL;
}

void verb_cancel(struct peer *peer, const struct request *request)
{
    const struct ticket *target = find_target(peer, request);
    if (!target || target->kind != JOB_GENERATE) /* the others are over in an instant */
        return;
    int r = engine_cancel(peer->server->engine, target->job);
    if (r != 0)
        server_fail(peer->server, r);
}
