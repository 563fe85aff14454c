/* What the commands that run jobs have in common: see job.h. */
#include "config.h"
#include "src/lorchctl/job.h"

#include <inttypes.h>
#include <sysexits.h>

void job_show_progress(struct out_progress *progress, const struct msg_value *frame)
{
    int64_t done = msg_int(msg_get(frame, "processed"), 0), total = msg_int(msg_get(frame, "total"), 0);
    int64_t position = msg_int(msg_get(frame, "position"), 0);
    if (msg_is(msg_get(frame, "phase"), "loading"))
        out_progress(progress, "loading the model: %" PRId64 " %%", total ? 100 * done / total : 0);
    else if (msg_is(msg_get(frame, "phase"), "queued"))
        out_progress(progress, "waiting: %" PRId64 " before this one", position);
    else if (done < total)
        out_progress(progress, "reading the prompt: %" PRId64 " of %" PRId64 " tokens", done, total);
}

int job_cancel(struct conn *conn)
{
    struct buf frame;
    struct msg_out out;
    buf_init(&frame, PROTO_MIN_FRAME);
    msg_begin(&out, &frame, PROTO_CANCEL, PROTO_MIN_FRAME);
    msg_put_int(&out, PROTO_CANCEL_ID, JOB_ID);
    int r = msg_end(&out) ? EX_OSERR : conn_send(conn, &frame);
    buf_deinit(&frame);
    return r;
}

void job_read_stats(struct job_stats *ret, const struct msg_value *done)
{
    const struct msg_value *timings = msg_get(done, "timings"), *usage = msg_get(done, "usage");
    *ret = (struct job_stats){
        .n_prompt = msg_int(msg_get(timings, "prompt_n"), 0),
        .n_answer = msg_int(msg_get(usage, "completion_tokens"), 0),
        .prompt_ms = msg_float(msg_get(timings, "prompt_ms"), 0),
        .answer_ms = msg_float(msg_get(timings, "predicted_ms"), 0),
        .seed = msg_uint(msg_get(done, "seed"), 0),
    };
}

void job_print_stats(FILE *file, const struct job_stats *s)
{
    fprintf(file,
            "prompt %" PRId64 " tokens, %.1f ms (%.0f tok/s); answer %" PRId64
            " tokens, %.1f ms (%.1f tok/s); seed %" PRIu64 "\n",
            s->n_prompt, s->prompt_ms, s->prompt_ms > 0 ? (double)s->n_prompt * 1e3 / s->prompt_ms : 0,
            s->n_answer, s->answer_ms,
            s->answer_ms > 0 && s->n_answer > 1 ? (double)(s->n_answer - 1) * 1e3 / s->answer_ms : 0,
            s->seed);
}
