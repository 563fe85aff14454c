/* One question of a conversation and its answer: see chat_answer.h. */
#include "config.h"
#include "src/lorchctl/chat_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "proto/frame.h"

static const char dim[] = "\033[2m", plain[] = "\033[0m", plain_line[] = "\033[0m\n";

/* Whether thoughts can be told from the answer by their looks. */
static bool may_dim(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return (!no_color || !*no_color) && term && strcmp(term, "dumb") != 0;
}

struct answer {
    struct chat *chat;
    struct conn conn;
    struct out_progress progress;
    struct buf content, reasoning;
    bool is_terminal, can_dim; /* standard output */
    bool is_thinking;          /* thoughts are being shown */
    bool cancelled, any;       /* any: something was shown */
    char last;                 /* byte shown last */
    int status;
};

static int send_question(struct answer *a)
{
    struct buf frame;
    struct msg_out out;
    int r = EX_USAGE;
    buf_init(&frame, (size_t)FRAME_MAX_IN + FRAME_HEADER);
    msg_begin(&out, &frame, PROTO_CHAT, FRAME_MAX_IN);
    msg_put_int(&out, PROTO_CHAT_ID, JOB_ID);
    chat_talk_write(&a->chat->talk, &out);
    if (isatty(STDERR_FILENO))
        msg_put_bool(&out, PROTO_CHAT_RETURN_PROGRESS, true);
    if (options_write_fields(a->chat->options, &out)) {
        r = msg_end(&out) ? EX_DATAERR : conn_send(&a->conn, &frame);
        if (r == EX_DATAERR)
            fprintf(stderr, "lorchctl: the conversation is longer than the %d bytes that a frame may have\n",
                    FRAME_MAX_IN);
    }
    buf_deinit(&frame);
    return r;
}

/* What would end the line now. */
static void note_line(struct answer *a)
{
    const bool is_dim = a->is_thinking && a->can_dim, ended = a->last == '\n';
    a->conn.line_end = !a->is_terminal ? NULL : is_dim ? (ended ? plain : plain_line) : (ended ? NULL : "\n");
}

static void end_line(struct answer *a)
{
    if (a->conn.line_end)
        fputs(a->conn.line_end, stdout);
    else if (a->any && (a->is_terminal ? a->cancelled : a->last != '\n'))
        putchar('\n'); /* the terminal has shown ^C */
    fflush(stdout);
}

static void show(struct answer *a, const char *text, size_t n)
{
    out_text(stdout, text, n, a->is_terminal);
    a->last = n ? text[n - 1] : a->last;
    a->any = a->any || n;
    note_line(a);
}

static void end_thoughts(struct answer *a)
{
    if (a->is_thinking)
        printf("%s%s\n", a->can_dim ? plain : "", a->last == '\n' ? "" : "\n");
    a->is_thinking = false;
}

static void show_thoughts(struct answer *a, const char *text, size_t n)
{
    if (!a->is_terminal || n == 0)
        return;
    if (!a->is_thinking && a->can_dim)
        fputs(dim, stdout);
    a->is_thinking = true;
    show(a, text, n);
}

static void keep(struct answer *a, struct buf *to, const char *text, size_t n)
{
    if (buf_push(to, text, n) != 0) {
        fprintf(stderr, "lorchctl: the answer is longer than a request may be, or memory ran out\n");
        a->status = EX_OSERR;
    }
}

static void take_token(struct answer *a, const struct msg_value *frame)
{
    size_t n_content, n_reasoning;
    const char *content = msg_bytes(msg_get(frame, "content"), &n_content);
    const char *reasoning = msg_bytes(msg_get(frame, "reasoning_content"), &n_reasoning);
    out_progress_clear(&a->progress);
    keep(a, &a->reasoning, reasoning, n_reasoning);
    keep(a, &a->content, content, n_content);
    show_thoughts(a, reasoning, n_reasoning);
    if (n_content > 0) {
        end_thoughts(a);
        show(a, content, n_content);
    }
    fflush(stdout);
}

/* Handles one frame; true when it was the last of the job. */
static bool take_frame(struct answer *a)
{
    const struct msg_value *frame = a->conn.msg.root, *type = msg_get(frame, "type");
    if (msg_is(type, "progress")) {
        job_show_progress(&a->progress, frame);
    } else if (msg_is(type, "token")) {
        if (!a->cancelled) /* what was on its way is not wanted any more */
            take_token(a, frame);
    } else if (msg_is(type, "error")) {
        out_progress_clear(&a->progress);
        a->status = conn_error(&a->conn);
        return true;
    } else if (msg_is(type, "done")) {
        a->chat->has_stats = true;
        job_read_stats(&a->chat->stats, frame);
        if (a->cancelled && msg_is(msg_get(frame, "finish_reason"), "cancelled"))
            a->status = CHAT_INTERRUPTED;
        return true;
    }
    return false;
}

static int receive(struct answer *a)
{
    for (;;) {
        int r = conn_receive(&a->conn);
        if (r == CONN_INTERRUPTED && a->cancelled)
            return CHAT_LEAVE;
        if (r == CONN_INTERRUPTED) {
            /* The job's own end is the answer to a cancel. */
            a->cancelled = true;
            r = job_cancel(&a->conn);
        } else if (r == 0 && take_frame(a)) {
            return a->status;
        }
        if (r != 0)
            return r;
    }
}

/* Puts what came into the conversation: all of an answer, or the part before Ctrl-C. */
static int add(struct answer *a)
{
    if (a->content.n == 0 && a->reasoning.n == 0 && a->cancelled)
        return 0;
    struct chat_message *m =
        chat_talk_add(&a->chat->talk, CHAT_ASSISTANT, (const char *)a->content.data, a->content.n);
    if (!m)
        return EX_OSERR;
    buf_deinit(&m->reasoning);
    m->reasoning = a->reasoning; /* consumed */
    a->reasoning = (struct buf)BUF_NULL;
    return 0;
}

int chat_answer(struct chat *chat)
{
    struct answer a = {.chat = chat, .is_terminal = isatty(STDOUT_FILENO), .can_dim = may_dim()};
    int r = conn_open(&a.conn, chat->options->values[CTL_OPTION_SOCKET]);
    if (r != 0)
        return r;
    buf_init(&a.content, FRAME_MAX_IN);
    buf_init(&a.reasoning, FRAME_MAX_IN);
    r = send_question(&a);
    if (r == 0)
        r = receive(&a);
    out_progress_clear(&a.progress);
    end_line(&a);
    if (r == 0 || r == CHAT_INTERRUPTED) {
        int added = add(&a);
        r = added ? added : r;
    }
    buf_deinit(&a.content);
    buf_deinit(&a.reasoning);
    conn_close(&a.conn);
    return r;
}
