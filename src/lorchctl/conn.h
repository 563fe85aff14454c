/* A connection to the server: blocking, interruptible by Ctrl-C.
 *
 * Failures are printed where they happen; functions return 0 or the exit status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/msg.h"
#include "src/base/buf.h"

struct conn {
    int fd;
    struct buf in;
    size_t used;    /* bytes of `in` that belong to the frame handed out last */
    struct msg msg; /* that frame */
    /* What ends the line that standard output, a terminal, is in the middle of; NULL: it is in none. It is
     * printed, and NULL again, before a failure is told. */
    const char *line_end;
};

enum {
    CONN_INTERRUPTED = -1,
    CONN_SIGNALLED = -2, /* another signal than Ctrl-C, of conn_wait alone */
};

/* Connects to path; NULL: $LORCH_SOCKET, else the sockets of the user's and of the system's service, the
 * first that is there. EX_NOHOST: nothing listens. EX_NOPERM. */
int conn_open(struct conn *ret_conn, const char *path);
/* As conn_open, but silent where nothing listens. */
int conn_try(struct conn *ret_conn, const char *path);
void conn_close(struct conn *conn);

/* Sends a finished buffer of frames. */
int conn_send(struct conn *conn, const struct buf *frames);
/* The next frame: its type is in msg_get(conn->msg.root, "type"); valid until the next call. Returns
 * CONN_INTERRUPTED once after each Ctrl-C, if conn_catch_interrupts was called. */
int conn_receive(struct conn *conn);
void conn_catch_interrupts(void);
/* Handles a signal, too, while conn_wait and conn_receive wait and at no other time. */
void conn_catch(int signal, void (*handler)(int signal));
/* Waits until a descriptor has something to read: 0, CONN_INTERRUPTED, CONN_SIGNALLED, EX_OSERR. */
int conn_wait(int fd);

/* Sends a request without fields and receives its reply; an error frame is printed and becomes its status. */
int conn_ask(struct conn *conn, enum proto_message verb);
/* Receives the reply to a request that was sent. */
int conn_reply(struct conn *conn);

/* Prints the frame that was received, an error; returns its exit status. */
int conn_error(struct conn *conn);
