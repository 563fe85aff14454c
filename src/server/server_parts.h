/* The server's inside, for the files of this folder; its face is server.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "src/server/listener.h"
#include "src/server/peer.h"
#include "src/server/quota.h"
#include "src/server/server.h"
#include "src/server/ticket.h"

struct event;
struct event_base;

/* Where the server is in its life. */
enum server_phase {
    SERVER_SERVING,
    SERVER_DRAINING, /* no new connections or jobs; running jobs go on */
    SERVER_FLUSHING, /* no jobs any more; answers still leave */
};

struct server {
    struct server_options options;
    const struct activate *activate;
    struct engine *engine;
    struct event_base *base;
    struct listener_list listeners;

    struct peer_list peers;
    struct peer_list turn; /* those with something to do at the end of this turn of the loop */
    struct peer_list dead; /* closed, freed at the end of this turn */
    int32_t n_peer;
    uint64_t last_peer; /* number of the newest */
    struct quota_table quotas;
    struct ticket_table tickets;

    struct event *on_engine, *on_term, *on_int; /* there is news; signals */
    struct event *end_of_turn;
    struct event *drain_limit; /* the next phase begins at the latest */
    struct event *watchdog;
    struct event *status; /* soon: tell the manager what is going on */

    enum server_phase phase;
    int64_t start_us; /* of the program, nearly */
    int result;       /* of server_run */
};

/* "loading", "ready" or "draining". */
const char *server_state(const struct server *server);

/* Runs the loop's end-of-turn work soon. */
void server_end_turn(struct server *server);
/* What the manager would like to know has changed. */
void server_changed(struct server *server);
/* This process is not to be trusted any more: server_run ends with r. */
void server_fail(struct server *server, int r);
