/* One connection: see peer.h. */
#include "config.h"
#include "src/server/peer.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/engine/engine.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"
#include "src/server/verb.h"

enum {
    READ_BYTES = 64 << 10,  /* a read */
    READS_A_TURN = 16,      /* others want their turn too */
    KEEP_BYTES = 256 << 10, /* an empty buffer larger than this is given back */
    MAX_SHORT = 16,         /* tokenize and detokenize of one connection in the engine's hands */
    PAUSE_SHARE = 4,        /* of the output mark: with so much waiting, no more requests are read */
};

/* A client that does not even read why its connection closes is not waited for longer than that. */
static const struct timeval linger = {.tv_sec = 10};

static size_t waiting(const struct peer *peer)
{
    return peer->out.n - peer->n_sent;
}

bool peer_is_closed(const struct peer *peer)
{
    return peer->fd < 0;
}

/* Life. */

static bool has_hung_up(int fd)
{
    struct pollfd p = {.fd = fd};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
    struct peer *peer = arg;
    if (peer_is_closed(peer))
        return;
    if ((what & EV_TIMEOUT) || ((what & EV_CLOSED) && has_hung_up(fd))) {
        peer_close(peer);
        return;
    }
    if (what & (EV_READ | EV_CLOSED))
        peer->is_readable = true;
    peer_pump(peer);
}

void peer_new(struct server *server, int fd)
{
    struct ucred who;
    socklen_t n = sizeof who;
    struct peer *peer = calloc(1, sizeof *peer);
    if (!peer || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0) {
        log_warn("a connection is refused: %s", peer ? strerror(errno) : "out of memory");
        free(peer);
        close(fd);
        return;
    }
    peer->server = server;
    peer->fd = fd;
    peer->number = ++server->last_peer;
    peer->max_frame = FRAME_MAX_OUT;
    buf_init(&peer->in, 0);
    buf_init(&peer->out, 0);
    TAILQ_INIT(&peer->tickets);
    TAILQ_INSERT_TAIL(&server->peers, peer, entry);
    server->n_peer++;
    int r = quota_connect(&server->quotas, who.uid, &peer->user);
    peer->ready =
        event_new(server->base, fd, EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST, on_ready, peer);
    if (r < 0 || !peer->ready || event_add(peer->ready, NULL) < 0) {
        log_warn("a connection is refused: out of memory");
        peer_close(peer);
    } else if (r == QUOTA_E_FULL) {
        peer_complain(peer, PROTO_E_UID_LIMIT, "too many connections of this user");
    }
}

static void drop_tickets(struct peer *peer)
{
    for (struct ticket *t; (t = TAILQ_FIRST(&peer->tickets));) {
        int r = engine_drop(peer->server->engine, t->job);
        if (r != 0)
            server_fail(peer->server, r);
        peer_give_ticket(t);
    }
}

void peer_close(struct peer *peer)
{
    struct server *server = peer->server;
    if (peer_is_closed(peer))
        return;
    drop_tickets(peer);
    if (peer->ready)
        event_free(peer->ready);
    peer->ready = NULL;
    close(peer->fd);
    peer->fd = -1;
    if (peer->user) {
        quota_give_bytes(peer->user, peer->n_charged);
        quota_disconnect(peer->user);
        peer->user = NULL;
    }
    if (peer->has_turn)
        TAILQ_REMOVE(&server->turn, peer, in_turn);
    peer->has_turn = false;
    TAILQ_REMOVE(&server->peers, peer, entry);
    TAILQ_INSERT_TAIL(&server->dead, peer, entry);
    server->n_peer--;
    server_end_turn(server);
}

void peer_finish(struct peer *peer)
{
    if (peer_is_closed(peer) || peer->is_finishing)
        return;
    peer->is_finishing = true;
    drop_tickets(peer);
    event_add(peer->ready, &linger);
    peer_wake(peer);
}

struct peer *peer_free(struct peer *peer)
{
    buf_deinit(&peer->in);
    buf_deinit(&peer->out);
    free(peer);
    return NULL;
}

/* Out. */

static void send_waiting(struct peer *peer)
{
    while (!peer_is_closed(peer) && waiting(peer) > 0) {
        ssize_t n = send(peer->fd, peer->out.data + peer->n_sent, waiting(peer), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            peer_close(peer);
            return;
        }
        if (n < 0)
            break;
        peer->n_sent += (size_t)n;
    }
    if (waiting(peer) == 0) {
        peer->n_sent = peer->out.n = peer->allowance = 0;
        if (peer->out.capacity > KEEP_BYTES)
            buf_deinit(&peer->out);
    } else if (peer->n_sent >= peer->out.n / 2) { /* moving the rest costs no more than sending it did */
        buf_pop(&peer->out, peer->n_sent);
        peer->n_sent = 0;
    }
}

void peer_begin(struct peer *peer, struct msg_out *out, enum proto_message message)
{
    msg_begin(out, &peer->out, message, peer->max_frame);
}

/* Is there more than the mark allows, now that a frame begins at `begin`? The kernel may have room: what is
 * before the frame is sent first, and may all go. */
static bool is_too_slow(struct peer *peer, size_t *begin)
{
    size_t mark = (size_t)peer->server->options.max_output;
    if (waiting(peer) <= mark + peer->allowance)
        return false;
    size_t frame = peer->out.n - *begin;
    send_waiting(peer);
    if (peer_is_closed(peer))
        return false;
    if (waiting(peer) <= frame) { /* nothing waits before it: it may be larger than the mark by itself */
        peer->allowance = frame;
        return false;
    }
    *begin = peer->out.n - frame;
    return waiting(peer) > mark + peer->allowance;
}

int peer_end(struct peer *peer, struct msg_out *out)
{
    int r = msg_end(out);
    if (r == MSG_E_TOO_LARGE)
        return PEER_E_TOO_LARGE;
    size_t begin = out->begin;
    if (r == 0 && is_too_slow(peer, &begin)) {
        peer->out.n = begin;
        return PEER_E_SLOW;
    }
    peer_wrote(peer, r);
    return 0;
}

void peer_wrote(struct peer *peer, int r)
{
    if (r == 0) {
        peer_wake(peer);
        return;
    }
    log_warn("connection %llu is closed: %s", (unsigned long long)peer->number,
             r < 0 ? strerror(-r) : "its frame limit is too small for an answer");
    peer_close(peer);
}

void peer_push(struct peer *peer, struct msg_out *out)
{
    peer_wrote(peer, msg_end(out));
}

void peer_complain(struct peer *peer, enum proto_error error, const char *message)
{
    if (peer_is_closed(peer) || peer->is_finishing)
        return;
    log_info("connection %llu is closed: %s", (unsigned long long)peer->number, proto_error(error)->code);
    reply_error(peer, &(struct reply_to){0}, error, NULL, "%s", message);
    peer_finish(peer);
}

/* In. */

/* May a frame be taken up? */
static bool is_open(const struct peer *peer)
{
    size_t mark = (size_t)peer->server->options.max_output / PAUSE_SHARE;
    return !peer_is_closed(peer) && !peer->is_finishing && waiting(peer) <= mark && peer->n_short < MAX_SHORT;
}

static void complain_about_frame(struct peer *peer, int r, size_t n)
{
    char message[96];
    if (r == FRAME_E_EMPTY) {
        peer_complain(peer, PROTO_E_PROTOCOL_ERROR, "a frame of 0 bytes");
        return;
    }
    snprintf(message, sizeof message, "a frame of %zu bytes, %d are allowed", n, FRAME_MAX_IN);
    peer_complain(peer, PROTO_E_FRAME_TOO_LARGE, message);
}

/* The bytes that are held count for the user. */
static void charge_input(struct peer *peer)
{
    if (!peer->user) /* closed, or never let in */
        return;
    size_t n = peer->in.n;
    if (n <= peer->n_charged) {
        quota_give_bytes(peer->user, peer->n_charged - n);
        peer->n_charged = n;
    } else if (quota_take_bytes(&peer->server->quotas, peer->user, n - peer->n_charged) == 0) {
        peer->n_charged = n;
    } else {
        peer_complain(peer, PROTO_E_UID_LIMIT, "too many bytes of unanswered requests of this user");
    }
}

/* Handles the whole frames that are here, as long as that is all right. */
static void take_frames(struct peer *peer)
{
    size_t at = 0;
    while (is_open(peer)) {
        const uint8_t *body;
        size_t n;
        int r = frame_peek(peer->in.data + at, peer->in.n - at, FRAME_MAX_IN, &body, &n);
        if (r == FRAME_E_MORE) {
            if (peer->has_ended && at < peer->in.n)
                peer_complain(peer, PROTO_E_PROTOCOL_ERROR, "the connection ended inside a frame");
            break;
        }
        if (r != 0) {
            complain_about_frame(peer, r, n);
            break;
        }
        at += FRAME_HEADER + n;
        verb_dispatch(peer, body, n);
    }
    if (peer->is_finishing)
        at = peer->in.n;
    buf_pop(&peer->in, at);
    if (peer->in.n == 0 && peer->in.capacity > KEEP_BYTES)
        buf_deinit(&peer->in);
    charge_input(peer);
}

/* One read. Descriptors that come along are not asked for, so the kernel closes them. */
static void receive(struct peer *peer)
{
    int r = buf_reserve(&peer->in, READ_BYTES);
    if (r != 0) {
        peer_wrote(peer, -ENOMEM);
        return;
    }
    struct iovec part = {peer->in.data + peer->in.n, READ_BYTES};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n = recvmsg(peer->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n > 0) {
        peer->in.n += (size_t)n;
        charge_input(peer);
    } else if (n == 0) {
        peer->has_ended = true;
        if (has_hung_up(peer->fd))
            peer_close(peer);
    } else if (errno == EAGAIN) {
        peer->is_readable = false;
    } else if (errno != EINTR) {
        peer_close(peer);
    }
}

/* Nothing is left to do for a client that sends no more. */
static bool is_done(const struct peer *peer)
{
    if (waiting(peer) > 0 || !TAILQ_EMPTY(&peer->tickets))
        return false;
    return peer->is_finishing || (peer->has_ended && peer->in.n == 0);
}

void peer_pump(struct peer *peer)
{
    send_waiting(peer);
    take_frames(peer);
    for (int i = 0; is_open(peer) && peer->is_readable && !peer->has_ended; i++) {
        if (i == READS_A_TURN) {
            peer_wake(peer);
            break;
        }
        receive(peer);
        take_frames(peer);
    }
    send_waiting(peer);
    if (!peer_is_closed(peer) && is_done(peer))
        peer_close(peer);
}

void peer_wake(struct peer *peer)
{
    if (peer->has_turn || peer_is_closed(peer))
        return;
    peer->has_turn = true;
    TAILQ_INSERT_TAIL(&peer->server->turn, peer, in_turn);
    server_end_turn(peer->server);
}

/* Tickets. */

struct ticket *peer_take_ticket(struct peer *peer, int64_t id, enum job_kind kind)
{
    struct ticket *t = ticket_new(&peer->server->tickets, peer, &peer->tickets, id, kind);
    peer->n_short += t && kind != JOB_GENERATE;
    server_changed(peer->server);
    return t;
}

void peer_give_ticket(struct ticket *ticket)
{
    struct peer *peer = ticket->peer;
    peer->n_short -= ticket->kind != JOB_GENERATE;
    if (ticket->kind == JOB_GENERATE)
        quota_give_job(peer->user);
    quota_give_bytes(peer->user, ticket->n_byte);
    ticket_free(&peer->server->tickets, &peer->tickets, ticket);
    peer_wake(peer);
    server_changed(peer->server);
}
