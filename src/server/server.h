/* The server: the thread that owns every socket and turns frames into jobs and events into frames.
 *
 * Made before the engine, so that clients can connect while the model loads and are told when it cannot be.
 */
#pragma once

#include <stdint.h>

#include "src/base/err.h"

struct activate;
struct engine;
struct server;

struct server_options {
    const char *listen;   /* path of a socket of its own; NULL: inherited ones only */
    const char *model_id; /* by which clients know the model */
    int32_t max_queue, max_user_jobs, max_connections;
    int32_t max_output;    /* bytes waiting for one client; over it, its jobs end with slow_client */
    int32_t drain_seconds; /* for running jobs, once the process has been asked to end */
};

/* Begins to listen. Options and activate stay the caller's and outlive the server. 0; EX_USAGE: nowhere to
 * listen; EX_CANTCREAT, EX_NOPERM: not at that path; -errno. */
int server_new(struct server **ret_server, const struct server_options *options,
               const struct activate *activate, struct why *why);
/* Removes its own socket, if that is still there. */
struct server *server_free(struct server *server);

/* Serves until a signal ends it (0) or the engine cannot go on: the exit status of the load, or -errno. Every
 * job has been answered then, as far as clients read their answers. The engine stays the caller's. */
int server_run(struct server *server, struct engine *engine);
