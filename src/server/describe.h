/* Parts of frames that describe what is served: of hello and props. */
#pragma once

#include "proto/msg.h"

struct peer;
struct server;

/* The model's figures; once it is loaded. */
void describe_model(struct msg_out *out, enum proto_field field, const struct server *server);
/* Limits in force for this client. */
void describe_limits(struct msg_out *out, enum proto_field field, const struct peer *peer);
/* What a job gets that does not say otherwise; once the model is loaded. */
void describe_defaults(struct msg_out *out, enum proto_field field, const struct server *server);
