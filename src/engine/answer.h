/* From a row of logits to what the client reads: draws a token, spells it, looks for the end, sends notices.
 */
#pragma once

#include "src/base/mailbox.h"
#include "src/engine/notice.h"
#include "src/engine/job.h"
#include "src/engine/served.h"

/* What may come of it, besides 0 (the job goes on) and -ENOMEM (no notice could be made). */
enum { ANSWER_E_ENDED = 1 /* job->last says how */ };

/* Draws the next token from logits[n_vocab] and sends what there is to say to out. */
int answer_draw(const struct served *served, struct job *job, const float *logits, struct mailbox *out);
/* Notes the log-probability of the prompt's token at position pos, by the logits of the one before it. */
int answer_prompt(const struct served *served, struct job *job, int32_t pos, const float *logits);
/* Ends the job: sends text that was held back, if it belongs to the answer, and completes job->last. Returns
 * ANSWER_E_ENDED or -ENOMEM. */
int answer_finish(struct job *job, enum notice_finish finish, struct mailbox *out);
