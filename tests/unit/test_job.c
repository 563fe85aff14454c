/* Tests of src/engine/job.c. */
#include "config.h"
#include "src/engine/job.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(job, a_new_ask_has_the_defaults)
{
    struct job_ask *ask = job_ask_new(JOB_GENERATE);
    cr_assert(ask);
    cr_expect(ask->kind == JOB_GENERATE && ask->stream && ask->add_special && !ask->parse_special);
    cr_expect(ask->max_tokens == JOB_DEFAULT_MAX_TOKENS && ask->min_tokens == 0);
    cr_expect(isnan(ask->sampling.temperature) && isnan(ask->sampling.top_p) && isnan(ask->sampling.min_p));
    cr_expect(ask->sampling.top_k == JOB_UNSET && ask->sampling.repeat_last_n == JOB_UNSET);
    job_ask_free(ask);
}

Test(job, frees_what_it_owns)
{
    struct job *job = job_new(7);
    cr_assert(job);
    cr_expect(job->id == 7 && job->state == JOB_TEXT && !job_is_admitted(job));
    job->ask = job_ask_new(JOB_GENERATE);
    job->ask->text = strdup("text");
    job->ask->stop[0] = strdup("stop");
    job->ask->n_stop = 1;
    job->ask->tokens = calloc(3, sizeof *job->ask->tokens);
    job->tokens = calloc(3, sizeof *job->tokens);
    cr_expect(job_free(job) == NULL);
    cr_expect(job_free(NULL) == NULL && job_ask_free(NULL) == NULL);
}
