/* A connection to the server: see conn.h. */
#include "config.h"
#include "src/lorchctl/conn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "proto/frame.h"

enum { READ_SIZE = 65536 };

static volatile sig_atomic_t interrupts; /* Ctrl-C pressed and not yet reported */
static sigset_t caught; /* delivered only while ppoll waits: none is missed between a check and the wait */

static void on_interrupt(int signal)
{
    (void)signal;
    interrupts++;
}

void conn_catch_interrupts(void)
{
    conn_catch(SIGINT, on_interrupt);
}

void conn_catch(int signal, void (*handler)(int signal))
{
    sigaction(signal, &(struct sigaction){.sa_handler = handler}, NULL);
    sigaddset(&caught, signal);
    sigprocmask(SIG_BLOCK, &caught, NULL);
}

/* 0, or an errno. */
static int connect_to(const char *path, int *ret_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) {
        int error = errno;
        close(fd);
        return error;
    }
    *ret_fd = fd;
    return 0;
}

static int explain(const char *path, int error)
{
    switch (error) {
    case ENOENT:
    case ECONNREFUSED:
        fprintf(stderr,
                "lorchctl: nothing listens at %s; start lorchd, or name its socket with --socket or "
                "LORCH_SOCKET\n",
                path);
        return EX_NOHOST;
    case EACCES:
    case EPERM:
        fprintf(stderr, "lorchctl: no permission to connect to %s\n", path);
        return EX_NOPERM;
    case ENAMETOOLONG:
        fprintf(stderr, "lorchctl: a socket's path has 107 bytes at most, this one has %zu\n", strlen(path));
        return EX_USAGE;
    default:
        fprintf(stderr, "lorchctl: cannot connect to %s: %s\n", path, strerror(error));
        return EX_OSERR;
    }
}

static int open_socket(struct conn *ret_conn, const char *path, bool silent)
{
    char user[256] = "";
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *candidates[3] = {path ? path : getenv("LORCH_SOCKET")};
    size_t n = 1;
    if (!candidates[0] || !*candidates[0]) {
        n = 0;
        if (runtime && *runtime &&
            (size_t)snprintf(user, sizeof user, "%s/lorch/lorchd.sock", runtime) < sizeof user)
            candidates[n++] = user;
        candidates[n++] = "/run/lorch/lorchd.sock";
    }
    *ret_conn = (struct conn){.fd = -1};
    buf_init(&ret_conn->in, (size_t)FRAME_MAX_OUT + FRAME_HEADER + READ_SIZE);
    int error = ENOENT;
    for (size_t i = 0; i < n; i++) {
        error = connect_to(candidates[i], &ret_conn->fd);
        if (error != ENOENT && error != ECONNREFUSED)
            return error ? (silent ? EX_NOHOST : explain(candidates[i], error)) : 0;
    }
    return silent ? EX_NOHOST : explain(candidates[n - 1], error);
}

int conn_open(struct conn *ret_conn, const char *path)
{
    return open_socket(ret_conn, path, false);
}

int conn_try(struct conn *ret_conn, const char *path)
{
    return open_socket(ret_conn, path, true);
}

void conn_close(struct conn *conn)
{
    msg_close(&conn->msg);
    if (conn->fd >= 0)
        close(conn->fd);
    buf_deinit(&conn->in);
    conn->fd = -1;
}

int conn_send(struct conn *conn, const struct buf *frames)
{
    for (size_t at = 0; at < frames->n;) {
        ssize_t n = send(conn->fd, frames->data + at, frames->n - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        /* The server may have refused and closed: its reason is waiting to be read. */
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return 0;
        if (n < 0) {
            fprintf(stderr, "lorchctl: cannot send: %s\n", strerror(errno));
            return EX_IOERR;
        }
        at += (size_t)n;
    }
    return 0;
}

int conn_wait(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    sigset_t open_set;
    sigprocmask(SIG_SETMASK, NULL, &open_set);
    for (int signal = 1; signal < NSIG; signal++)
        if (sigismember(&caught, signal))
            sigdelset(&open_set, signal);
    int n_ready = ppoll(&poll_fd, 1, NULL, &open_set);
    if (interrupts) {
        interrupts = 0;
        return CONN_INTERRUPTED;
    }
    return n_ready >= 0 ? 0 : errno == EINTR ? CONN_SIGNALLED : EX_OSERR;
}

/* Says what is wrong, on a line of its own. */
static void __attribute__((format(printf, 2, 3))) complain(struct conn *conn, const char *format, ...)
{
    va_list args;
    if (conn->line_end) {
        fputs(conn->line_end, stdout);
        fflush(stdout);
        conn->line_end = NULL;
    }
    fputs("lorchctl: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

/* Waits for bytes and reads some: 0, CONN_INTERRUPTED or a status. */
static int read_some(struct conn *conn)
{
    int r = conn_wait(conn->fd);
    if (r)
        return r == CONN_SIGNALLED ? 0 : r;
    if (buf_reserve(&conn->in, READ_SIZE)) {
        complain(conn, "the server sent more than a frame may hold, or memory ran out\n");
        return EX_PROTOCOL;
    }
    ssize_t n = recv(conn->fd, conn->in.data + conn->in.n, READ_SIZE, 0);
    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0) {
        complain(conn, "the server closed the connection%s%s\n", n ? ": " : "", n ? strerror(errno) : "");
        return EX_IOERR;
    }
    conn->in.n += (size_t)n;
    return 0;
}

int conn_receive(struct conn *conn)
{
    struct why why;
    const uint8_t *body;
    size_t n;
    msg_close(&conn->msg);
    conn->msg = (struct msg)MSG_NULL;
    buf_pop(&conn->in, conn->used);
    conn->used = 0;
    for (;;) {
        int r = frame_peek(conn->in.data, conn->in.n, FRAME_MAX_OUT, &body, &n);
        if (r == FRAME_E_MORE) {
            r = read_some(conn);
            if (r)
                return r;
            continue;
        }
        if (r) {
            complain(conn, "the server sent a frame of %zu bytes, at most %d are allowed\n", n,
                     FRAME_MAX_OUT);
            return EX_PROTOCOL;
        }
        if (msg_open(&conn->msg, body, n, &why)) {
            complain(conn, "the server sent a malformed frame: %s\n", why.text);
            return EX_PROTOCOL;
        }
        conn->used = FRAME_HEADER + n;
        return 0;
    }
}

int conn_error(struct conn *conn)
{
    const struct msg_value *frame = conn->msg.root;
    size_t n_code, n_message, n;
    const char *code = msg_bytes(msg_get(frame, "code"), &n_code);
    const char *message = msg_bytes(msg_get(frame, "message"), &n_message);
    const struct msg_value *faults = msg_get(msg_get(frame, "detail"), "faults");
    char name[64] = "";
    snprintf(name, sizeof name, "%.*s", (int)n_code, code ? code : "");
    complain(conn, "%.*s (%s)\n", (int)n_message, message ? message : "", name);
    /* One fault is the message itself; of several, the message is a summary. */
    for (size_t i = 0; msg_count(faults) > 1 && i < msg_count(faults); i++) {
        message = msg_bytes(msg_get(msg_at(faults, i), "message"), &n);
        fprintf(stderr, "  %.*s\n", (int)n, message ? message : "");
    }
    enum proto_error error = proto_find_error(name);
    return error == PROTO_N_ERROR ? EX_PROTOCOL : proto_error(error)->exit;
}

int conn_reply(struct conn *conn)
{
    int r = conn_receive(conn);
    if (r)
        return r == CONN_INTERRUPTED ? 130 : r;
    return msg_is(msg_get(conn->msg.root, "type"), "error") ? conn_error(conn) : 0;
}

int conn_ask(struct conn *conn, enum proto_message verb)
{
    static const struct {
        enum proto_message verb;
        enum proto_field id;
    } ids[] = {{PROTO_STATUS, PROTO_STATUS_ID}, {PROTO_PROPS, PROTO_PROPS_ID}};
    struct buf frame;
    struct msg_out out;
    buf_init(&frame, FRAME_MAX_IN);
    msg_begin(&out, &frame, verb, FRAME_MAX_IN);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].verb == verb)
            msg_put_int(&out, ids[i].id, 1);
    int r = msg_end(&out);
    r = r ? EX_OSERR : conn_send(conn, &frame);
    buf_deinit(&frame);
    return r ? r : conn_reply(conn);
}
