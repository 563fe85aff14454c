/* A job's turn has come: takes all that it will need until its end, so that its steps allocate nothing but
 * the notices that travel to the server. */
#pragma once

#include "src/engine/job.h"
#include "src/engine/kvpages.h"
#include "src/engine/served.h"

/* Fills in what is known of a job once its ask is: its lengths and pages. */
void admit_measure(const struct served *served, struct job *job);
/* Takes the job's pages, which must be free, and its memory. 0; -ENOMEM: it has taken nothing from the pools.
 */
int admit_job(const struct served *served, struct kvpages *pool, struct kvpages *window_pool,
              struct job *job);
