/* Conversations out of requests: messages, tools and variables as values that a chat template can see. */
#pragma once

#include "proto/request.h"
#include "src/engine/conversation.h"

/* What the fields about the conversation say (those of proto_same), owned by the caller. Every string is
 * marked as a client's, but roles and types: they are out of a list of ours, and templates make special
 * tokens of them. What of it would take too much memory is told when it is rendered. NULL: out of
 * memory. */
struct conversation *converse_read(const struct request *request);
