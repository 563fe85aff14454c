/* What becomes of a job: what it and the others are told on its way, and how it ends. Of the engine's thread.
 */
#pragma once

#include "src/engine/run.h"

/* Copies the numbers of jobs, tokens and pages to where everybody sees them. */
void life_show_counts(struct run *run);
/* Tells those waiting jobs that want to know it how many are before them. 0 or -ENOMEM. */
int life_show_positions(struct run *run);
/* Tells the job how much of its prompt is computed, if it wants to know. 0 or -ENOMEM. */
int life_show_prefill(struct run *run, const struct job *job);

/* The end of a job: notice is its terminal one, which leaves, or NULL where nobody wants to hear. That of a
 * job which was not admitted leaves only if the job was still in the lobby. Frees the job. */
void life_end(struct run *run, struct job *job, struct notice *notice);
/* Ends an admitted job with the notice that was made for it. */
void life_end_with_last(struct run *run, struct job *job);
/* Ends it with NOTICE_FAILED. 0 or -ENOMEM. */
int life_fail(struct run *run, struct job *job, const char *code, const char *sentence);
