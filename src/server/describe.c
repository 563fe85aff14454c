/* Parts of frames that describe what is served: see describe.h. */
#include "config.h"
#include "src/server/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/engine/engine.h"
#include "src/server/server_parts.h"

void describe_model(struct msg_out *out, enum proto_field field, const struct server *server)
{
    const struct model_info *info = engine_model(server->engine);
    char fingerprint[17];
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, info->fingerprint);
    msg_map(out, field);
    msg_put_str(out, PROTO_MODEL_ID, server->options.model_id);
    msg_put_str(out, PROTO_MODEL_ARCH, info->arch);
    msg_put_str(out, PROTO_MODEL_WEIGHT_TYPE, info->type);
    msg_put_int(out, PROTO_MODEL_N_PARAMS, (int64_t)info->n_param);
    msg_put_int(out, PROTO_MODEL_N_CTX_TRAIN, info->n_ctx_train);
    msg_put_int(out, PROTO_MODEL_N_VOCAB, info->n_vocab);
    msg_put_bool(out, PROTO_MODEL_TOKENIZER, engine_tokenizer(server->engine));
    msg_put_bool(out, PROTO_MODEL_CHAT_TEMPLATE, engine_has_chat(server->engine));
    msg_put_str(out, PROTO_MODEL_FINGERPRINT, fingerprint);
    msg_close_part(out);
}

void describe_limits(struct msg_out *out, enum proto_field field, const struct peer *peer)
{
    const struct server *server = peer->server;
    const struct model_info *info = engine_model(server->engine);
    msg_map(out, field);
    msg_put_int(out, PROTO_LIMITS_MAX_FRAME, FRAME_MAX_IN);
    msg_put_int(out, PROTO_LIMITS_MAX_FRAME_OUT, (int64_t)peer->max_frame);
    msg_put_int(out, PROTO_LIMITS_MAX_DEPTH, WIRE_MAX_DEPTH);
    msg_put_int(out, PROTO_LIMITS_MAX_ELEMENTS, WIRE_MAX_ELEMENT);
    msg_put_int(out, PROTO_LIMITS_QUEUE, server->options.max_queue);
    msg_put_int(out, PROTO_LIMITS_MAX_JOBS, server->options.max_user_jobs);
    if (info)
        msg_put_int(out, PROTO_LIMITS_N_CTX, info->n_ctx);
    msg_close_part(out);
}

/* 0.7 as a float is 0.699999988...; people and JSON want to see what the model's file says. */
static double as_written(float v)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)v);
    return strtod(text, NULL);
}

void describe_defaults(struct msg_out *out, enum proto_field field, const struct server *server)
{
    struct sampler_params d;
    engine_defaults(server->engine, &d);
    msg_map(out, field);
    msg_put_int(out, PROTO_DEFAULTS_MAX_TOKENS, PROTO_DEFAULT_MAX_TOKENS);
    msg_put_double(out, PROTO_DEFAULTS_TEMPERATURE, as_written(d.temperature));
    msg_put_int(out, PROTO_DEFAULTS_TOP_K, d.top_k);
    msg_put_double(out, PROTO_DEFAULTS_TOP_P, as_written(d.top_p));
    msg_put_double(out, PROTO_DEFAULTS_MIN_P, as_written(d.min_p));
    msg_put_double(out, PROTO_DEFAULTS_TYPICAL_P, as_written(d.typical_p));
    msg_put_double(out, PROTO_DEFAULTS_REPEAT_PENALTY, as_written(d.repeat_penalty));
    msg_put_int(out, PROTO_DEFAULTS_REPEAT_LAST_N, d.repeat_last_n);
    msg_put_double(out, PROTO_DEFAULTS_PRESENCE_PENALTY, as_written(d.presence_penalty));
    msg_put_double(out, PROTO_DEFAULTS_FREQUENCY_PENALTY, as_written(d.frequency_penalty));
    msg_close_part(out);
}
