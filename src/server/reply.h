/* Frames about requests: errors, and what the engine has to say about jobs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"
#include "proto/request.h"
#include "src/engine/notice.h"

struct peer;
struct ticket;

/* Which request a frame is about. */
struct reply_to {
    int64_t id; /* 0: the connection as a whole */
    const char *trace_id;
    size_t n_trace_id;
};

/* trace_id: the verb's field. */
struct reply_to reply_to_request(const struct request *request, enum proto_field trace_id);
struct reply_to reply_to_ticket(const struct ticket *ticket);
/* The `id` and `trace_id` of a reply, where the request had them. */
void reply_put_to(struct msg_out *out, const struct reply_to *to, enum proto_field id,
                  enum proto_field trace_id);

/* param: the field to blame; NULL: none. */
void reply_error(struct peer *peer, const struct reply_to *to, enum proto_error error, const char *param,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Ends a ticket with an error; the engine is told to forget the job. */
void reply_abandon(struct ticket *ticket, enum proto_error error, const char *message);
/* Tells a client that wants to know how far the load is that its job waits for. */
void reply_loading(struct ticket *ticket, double fraction);
/* Passes on a notice about the ticket's job; its last one ends the ticket. */
void reply_notice(struct ticket *ticket, const struct notice *notice);
