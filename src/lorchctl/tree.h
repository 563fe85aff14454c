/* A JSON object on the command line becomes a map of a request. */
#pragma once

#include <stdbool.h>

#include "proto/msg.h"

enum { TREE_MAX_DEPTH = MSG_MAX_OPEN - 1 }; /* the frame itself is one */

/* Puts the object into the request. False: text is no JSON object, is deeper than TREE_MAX_DEPTH, or has an
 * integer that int64 does not hold, or a name of no bytes or more than PROTO_MAX_KEY; the request is then of
 * no use. */
bool tree_write(struct msg_out *out, enum proto_field field, const char *text);
