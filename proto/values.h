/* One value of a request against its row of fields.def, with all that is inside it. */
#pragma once

#include <stdbool.h>

#include "proto/request.h"

/* Whether a value is what its row asks for; notes in the request what is wrong with it. */
bool values_check(struct request *request, enum proto_field field, const struct msg_value *v);
/* "a string", "an array": for sentences. */
const char *values_kind(enum msg_kind kind);
