/* What the commands that run jobs have in common: progress, cancelling, the numbers at the end. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "src/lorchctl/conn.h"
#include "src/lorchctl/out.h"

enum {
    JOB_ID = 1, /* a connection of lorchctl has one job at a time */
    JOB_EXIT_INTERRUPTED = 130,
};

struct job_stats {
    int64_t n_prompt, n_answer; /* tokens */
    double prompt_ms, answer_ms;
    uint64_t seed;
};

/* Shows a progress frame. */
void job_show_progress(struct out_progress *progress, const struct msg_value *frame);
/* Asks for the end of the job; its last frame is the answer. 0 or a status. */
int job_cancel(struct conn *conn);
/* The numbers of a done frame. */
void job_read_stats(struct job_stats *ret, const struct msg_value *done);
/* One line of them. */
void job_print_stats(FILE *file, const struct job_stats *stats);
