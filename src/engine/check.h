/* What is wrong with a job, as far as only the model can tell. Fields alone are checked by whoever decoded
 * them.
 *
 * All return 0; CHECK_E_REFUSED with an NOTICE_FAILED that says why, owned by the caller; -ENOMEM. */
#pragma once

#include "src/engine/notice.h"
#include "src/engine/job.h"
#include "src/engine/served.h"

enum { CHECK_E_REFUSED = 1 };

/* Before the text is turned into ids: there is a tokenizer, the text is UTF-8, and a prompt is not so long
 * that it cannot fit whatever its tokens are. */
int check_text(const struct served *served, const struct job_ask *ask, struct notice **ret_refusal);
/* The last of that, for a prompt of n_text bytes. */
int check_length(const struct served *served, const struct job_ask *ask, size_t n_text,
                 struct notice **ret_refusal);
/* Ids of any job: they are the model's. */
int check_tokens(const struct served *served, const struct job_ask *ask, struct notice **ret_refusal);
/* A generation whose ids are known. */
int check_generate(const struct served *served, const struct job_ask *ask, struct notice **ret_refusal);
/* A frame of so many bytes to the client. param: the field to blame. */
int check_frame(const struct job_ask *ask, const char *param, size_t bytes, struct notice **ret_refusal);

/* Tokens that the answer may have: what was asked for, lowered to what the context holds. */
int32_t check_max_tokens(const struct served *served, const struct job_ask *ask);
/* Best ids told beside each token. */
size_t check_n_top(const struct served *served, const struct job_ask *ask);
