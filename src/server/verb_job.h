/* Jobs: what generate and chat have in common. For their verbs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/request.h"
#include "src/engine/job.h"

struct peer;

/* Copies the fields that both have. False: out of memory. */
bool verb_job_copy(const struct request *request, struct job_ask *ask);
/* Lets a job in and submits its ask, or tells the client why not. The ask is consumed in any case; NULL:
 * there was no memory for it. n_byte: what it holds of the request. */
void verb_job_start(struct peer *peer, const struct request *request, struct job_ask *ask, size_t n_byte);
