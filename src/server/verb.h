/* What clients can ask: one function a verb, found by the table made of proto/verbs.def.
 *
 * To add one: a row there, its fields in proto/fields.def, a file verb_<name>.c with the function
 * verb_<name>, a test, a paragraph of lorch-protocol(7). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/request.h"
#include "src/engine/job.h"

struct conversation;
struct peer;
struct reply_to;
struct ticket;

/* The request is well-formed and its fields are as in proto/fields.def. Answers, or takes a ticket. */
#define VERB(tag, name, ...) void verb_##name(struct peer *peer, const struct request *request);
#include "proto/verbs.def"

/* Handles the body of a frame: decodes, checks, calls the verb, or tells the client what is wrong. */
void verb_dispatch(struct peer *peer, const uint8_t *body, size_t n);

/* For verbs. */

/* Can the model be asked now? Tells the client if not. */
bool verb_is_ready(struct peer *peer, const struct reply_to *to);
/* A ticket for work that holds on to n_byte bytes of the request; tells the client and returns NULL where a
 * limit forbids it. */
struct ticket *verb_take_ticket(struct peer *peer, const struct reply_to *to, enum job_kind kind,
                                size_t n_byte);
/* Gives an ask to the engine, which tells what comes of it. ask may be NULL: there was no memory for it. */
void verb_submit(struct ticket *ticket, struct job_ask *ask);
/* Copies of a request's fields, for the ask. False: out of memory. */
bool verb_copy_text(const struct request *request, enum proto_field field, struct job_ask *ask);
bool verb_copy_ids(const struct request *request, enum proto_field field, struct job_ask *ask);
/* The request's conversation, owned by the caller; tells the client and returns NULL where there is no
 * memory. */
struct conversation *verb_read_conversation(struct peer *peer, const struct request *request,
                                            enum proto_field trace_id);
/* An ask that owns the conversation. NULL: out of memory, and the conversation is freed. */
struct job_ask *verb_ask_about(struct conversation *conversation, enum job_kind kind);
