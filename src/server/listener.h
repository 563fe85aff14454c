/* Sockets that listen: inherited ones and one of our own. */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "src/base/err.h"

struct event;
struct server;

struct listener {
    LIST_ENTRY(listener) entry;
    struct server *server;
    struct event *readable, *retry;
    int fd;
    const char *path; /* of our own; NULL: inherited */
    struct stat made; /* our own socket as we made it */
    bool is_paused;
    bool is_short; /* of descriptors, and has said so */
};

LIST_HEAD(listener_list, listener);

/* Listens at a path, mode 0600: a socket that nobody listens at is replaced, a live one is not. 0;
 * EX_CANTCREAT, EX_NOPERM with the sentence; -errno. */
int listener_bind(struct server *server, const char *path, struct why *why);
/* Takes over a descriptor that listens. 0 or -errno. */
int listener_inherit(struct server *server, int fd);

/* Whoever is waiting is accepted now. */
void listener_accept_pending(struct server *server);
/* No further connections: our own socket goes away, an inherited one keeps its queue for the next process. */
void listener_stop(struct server *server);
/* A connection has ended: there is room for one more. */
void listener_resume(struct server *server);
