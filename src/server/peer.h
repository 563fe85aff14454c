/* One connection: bytes to frames, frames to bytes.
 *
 * Its descriptor is registered once, edge-triggered, and stays so until the end: a hang-up arrives whatever
 * the state is, also after a half-close and while nothing is read. Reading pauses while the client does not
 * read its answers or has too many short requests in the engine's hands; the kernel's buffer then stops the
 * sender. Writing never blocks: what the kernel does not take waits here, up to a mark. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "proto/msg.h"
#include "src/base/buf.h"
#include "src/server/quota.h"
#include "src/server/ticket.h"

struct event;
struct server;

struct peer {
    TAILQ_ENTRY(peer) entry;   /* in the server's list of peers, or of dead ones */
    TAILQ_ENTRY(peer) in_turn; /* in the server's list of those with something to do */
    struct server *server;
    struct event *ready;
    struct quota *user;
    uint64_t number; /* for the log */
    int fd;          /* -1: closed */
    bool has_turn;
    bool is_readable;  /* the kernel may have bytes */
    bool has_ended;    /* the client sends no more: half-closed */
    bool is_finishing; /* we take no more, and close once all is sent */
    size_t max_frame;  /* bytes that a frame to this client may have */
    struct buf in, out;
    size_t n_charged; /* bytes of in */
    size_t n_sent;    /* of out */
    size_t allowance; /* bytes above the mark, of one frame that is larger than it */
    struct ticket_list tickets;
    int32_t n_short; /* tickets of tokenize and detokenize */
};

TAILQ_HEAD(peer_list, peer);

/* A new connection; consumes fd. Refusals are told to the client. */
void peer_new(struct server *server, int fd);
/* The connection ends now, and with it its jobs. Freed at the end of the loop's turn. */
void peer_close(struct peer *peer);
/* The connection takes no more requests, its jobs end without a word, and it closes once all is sent. */
void peer_finish(struct peer *peer);
/* Frees one that is closed. */
struct peer *peer_free(struct peer *peer);
bool peer_is_closed(const struct peer *peer);

/* Writes and reads what can be. */
void peer_pump(struct peer *peer);
/* Something has changed: peer_pump at the end of this turn. */
void peer_wake(struct peer *peer);

/* Frames to the client. A frame that belongs to a ticket may find that the client reads too slowly; others
 * are few, since reading pauses. */
enum { PEER_E_SLOW = 1, PEER_E_TOO_LARGE = 2 };
void peer_begin(struct peer *peer, struct msg_out *out, enum proto_message message);
/* 0; of a ticket's frame also PEER_E_SLOW, PEER_E_TOO_LARGE (longer than the client takes): nothing was sent.
 * Out of memory closes the connection and counts as 0. */
int peer_end(struct peer *peer, struct msg_out *out);
/* A frame was appended to peer->out by other means, with this result: codes as msg_end. */
void peer_wrote(struct peer *peer, int r);
/* The same for one that peer_begin began. */
void peer_push(struct peer *peer, struct msg_out *out);
/* An error that concerns the whole connection, which then closes. */
void peer_complain(struct peer *peer, enum proto_error error, const char *message);

/* A request of this connection goes to the engine. NULL: out of memory. */
struct ticket *peer_take_ticket(struct peer *peer, int64_t id, enum job_kind kind);
/* It is answered, or will not be. */
void peer_give_ticket(struct ticket *ticket);
