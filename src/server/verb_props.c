/* props: what is served. */
#include "config.h"

#include "src/engine/engine.h"
#include "src/server/describe.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

static void put_shape(struct msg_out *out, const struct model_info *info)
{
    msg_map(out, PROTO_PROPS_RESULT_SHAPE);
    msg_put_int(out, PROTO_SHAPE_N_LAYER, info->n_layer);
    msg_put_int(out, PROTO_SHAPE_N_HEAD, info->n_head);
    msg_put_int(out, PROTO_SHAPE_N_KV_HEAD, info->n_kv_head);
    msg_put_int(out, PROTO_SHAPE_HEAD_DIM, info->head_dim);
    msg_put_int(out, PROTO_SHAPE_DIM, info->dim);
    msg_put_int(out, PROTO_SHAPE_FF_DIM, info->ff_dim);
    msg_close_part(out);
}

static void put_memory(struct msg_out *out, const struct model_info *info)
{
    msg_map(out, PROTO_PROPS_RESULT_MEMORY);
    msg_put_int(out, PROTO_MEMORY_WEIGHT_BYTES, (int64_t)info->weight_bytes);
    msg_put_int(out, PROTO_MEMORY_KV_BYTES, (int64_t)info->kv_bytes);
    msg_put_int(out, PROTO_MEMORY_SCRATCH_BYTES, (int64_t)info->scratch_bytes);
    msg_put_int(out, PROTO_MEMORY_AVAILABLE_BYTES, (int64_t)info->available_bytes);
    msg_close_part(out);
}

void verb_props(struct peer *peer, const struct request *request)
{
    const struct server *server = peer->server;
    struct reply_to to = reply_to_request(request, PROTO_PROPS_TRACE_ID);
    if (!verb_is_ready(peer, &to))
        return;
    const struct model_info *info = engine_model(server->engine);
    int32_t n_end;
    const int32_t *ends = engine_ends(server->engine, &n_end);

    struct msg_out out;
    peer_begin(peer, &out, PROTO_PROPS_RESULT);
    reply_put_to(&out, &to, PROTO_PROPS_RESULT_ID, PROTO_PROPS_RESULT_TRACE_ID);
    describe_model(&out, PROTO_PROPS_RESULT_MODEL, server);
    put_shape(&out, info);
    put_memory(&out, info);
    describe_limits(&out, PROTO_PROPS_RESULT_LIMITS, peer);
    describe_defaults(&out, PROTO_PROPS_RESULT_DEFAULTS, server);
    msg_put_ints(&out, PROTO_PROPS_RESULT_END_IDS, ends, (size_t)n_end);
    msg_put_str(&out, PROTO_PROPS_RESULT_DEVICE, info->device);
    msg_put_str(&out, PROTO_PROPS_RESULT_LEVEL, info->level);
    msg_put_int(&out, PROTO_PROPS_RESULT_THREADS, info->n_thread);
    peer_push(peer, &out);
}
