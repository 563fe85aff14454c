/* lorchctl run: continue a prompt, streaming the answer to standard output. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/lorchctl/conn.h"
#include "src/lorchctl/ctl.h"
#include "src/lorchctl/input.h"
#include "src/lorchctl/job.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/out.h"

struct run {
    struct conn conn;
    const struct options *options;
    struct out_progress progress;
    bool is_terminal; /* standard output */
    bool cancelled;   /* Ctrl-C was pressed once */
    bool has_ids;     /* ids were printed: the model has no tokenizer */
    char last;        /* byte printed last */
    int status;
};

static bool is_text(const struct run *run)
{
    return !options_has(run->options, CTL_OPTION_JSON_RUN) && !options_has(run->options, CTL_OPTION_JSONL);
}

static int send_job(struct run *run)
{
    const struct options *options = run->options;
    struct buf text, frame;
    struct msg_out out;
    bool whole = options_has(options, CTL_OPTION_JSON_RUN);
    int r = 0;
    buf_init(&text, 0);
    buf_init(&frame, (size_t)FRAME_MAX_IN + FRAME_HEADER);
    if (options->n_argument > 1) {
        fprintf(stderr, "lorchctl: one prompt, not %d: quote it\n", options->n_argument);
        return EX_USAGE;
    }
    bool has_tokens = options_has_field(options, PROTO_GENERATE_TOKENS);
    if (!has_tokens)
        r = input_read(&text, options->values[CTL_OPTION_FILE],
                       options->n_argument ? options->arguments[0] : NULL);
    if (!r) {
        msg_begin(&out, &frame, PROTO_GENERATE, FRAME_MAX_IN);
        msg_put_int(&out, PROTO_GENERATE_ID, JOB_ID);
        if (!has_tokens)
            input_write(&out, PROTO_GENERATE_PROMPT, &text);
        if (whole) {
            msg_put_bool(&out, PROTO_GENERATE_STREAM, false);
            if (!options_has_field(options, PROTO_GENERATE_RETURN_TOKENS))
                msg_put_bool(&out, PROTO_GENERATE_RETURN_TOKENS, true);
        }
        if (isatty(STDERR_FILENO))
            msg_put_bool(&out, PROTO_GENERATE_RETURN_PROGRESS, true);
        if (!options_write_fields(options, &out)) {
            r = EX_USAGE;
        } else if (msg_end(&out)) {
            fprintf(stderr, "lorchctl: the request is longer than the %d bytes that a frame may have\n",
                    FRAME_MAX_IN);
            r = EX_DATAERR;
        } else {
            r = conn_send(&run->conn, &frame);
        }
    }
    buf_deinit(&text);
    buf_deinit(&frame);
    return r;
}

static void show_token(struct run *run, const struct msg_value *frame)
{
    size_t n;
    const struct msg_value *tokens = msg_get(frame, "tokens");
    const char *content = msg_bytes(msg_get(frame, "content"), &n);
    out_progress_clear(&run->progress);
    if (content) {
        out_text(stdout, content, n, run->is_terminal);
        run->last = n ? content[n - 1] : run->last;
    } else {
        for (size_t i = 0; i < msg_count(tokens); i++) {
            printf(run->has_ids ? ",%" PRId64 : "%" PRId64, msg_int(msg_at(tokens, i), 0));
            run->has_ids = true;
            run->last = '0';
        }
    }
    run->conn.line_end = run->last != '\n' && run->is_terminal ? "\n" : NULL;
    fflush(stdout);
}

/* Handles one frame; true when it was the last of the job. */
static bool take_frame(struct run *run)
{
    const struct msg_value *frame = run->conn.msg.root, *type = msg_get(frame, "type");
    if (msg_is(type, "progress") && !options_has(run->options, CTL_OPTION_JSONL)) {
        job_show_progress(&run->progress, frame);
        return false;
    }
    if (options_has(run->options, CTL_OPTION_JSONL)) {
        out_json_line(stdout, frame);
        fflush(stdout);
    } else if (msg_is(type, "token")) {
        show_token(run, frame);
    }
    if (msg_is(type, "error")) {
        out_progress_clear(&run->progress);
        run->status = conn_error(&run->conn);
        return true;
    }
    if (!msg_is(type, "done"))
        return false;
    out_progress_clear(&run->progress);
    if (options_has(run->options, CTL_OPTION_JSON_RUN))
        out_json_result(stdout, frame);
    if (is_text(run) && run->last && run->last != '\n' && (run->is_terminal || run->has_ids))
        putchar('\n');
    if (options_has(run->options, CTL_OPTION_STATS)) {
        struct job_stats stats;
        job_read_stats(&stats, frame);
        job_print_stats(stderr, &stats);
    }
    if (run->cancelled && msg_is(msg_get(frame, "finish_reason"), "cancelled"))
        run->status = JOB_EXIT_INTERRUPTED;
    return true;
}

int ctl_run(struct options *options)
{
    struct run run = {.options = options, .is_terminal = isatty(STDOUT_FILENO)};
    int r = conn_open(&run.conn, options->values[CTL_OPTION_SOCKET]);
    if (r)
        return r;
    r = send_job(&run);
    if (!r)
        conn_catch_interrupts();
    while (!r) {
        r = conn_receive(&run.conn);
        if (r == CONN_INTERRUPTED && !run.cancelled) {
            /* The job's own end is the answer to a cancel; a second Ctrl-C does not wait for it. */
            run.cancelled = true;
            r = job_cancel(&run.conn);
        } else if (r == CONN_INTERRUPTED) {
            r = JOB_EXIT_INTERRUPTED;
        } else if (!r && take_frame(&run)) {
            r = run.status;
            break;
        }
    }
    out_progress_clear(&run.progress);
    conn_close(&run.conn);
    return r;
}
