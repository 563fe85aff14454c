/* What a service manager hands us and wants to hear: listening sockets, readiness, signs of life.
 *
 * The two protocols are those of sd_listen_fds(3) and sd_notify(3), without libsystemd. Inherited sockets
 * belong to the manager: they are neither unlinked nor shut down. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "src/base/err.h"

enum {
    ACTIVATE_FIRST_FD = 3, /* SD_LISTEN_FDS_START */
    ACTIVATE_MAX_SOCKET = 16,
};

struct activate {
    int n_socket;        /* ACTIVATE_FIRST_FD and those behind it */
    int notify_fd;       /* -1: nobody wants to hear */
    int64_t watchdog_us; /* the manager wants a sign of life this often; 0: it does not */
    struct sockaddr_un notify;
    socklen_t notify_bytes;
};

#define ACTIVATE_NULL    \
    {                    \
        .notify_fd = -1, \
    }

/* Reads the environment (once, before there are threads) and takes the variables out of it. Sockets become
 * close-on-exec and non-blocking. 0; EX_CONFIG where one is not a listening Unix stream socket, or a variable
 * makes no sense; -errno. */
int activate_init(struct activate *a, struct why *why);
void activate_deinit(struct activate *a);

/* Sends lines such as "READY=1\nSTATUS=..." (see sd_notify(3)). What cannot be delivered is lost:
 * READY and STOPPING after a second, anything else at once, where the manager does not read. */
void activate_notify(const struct activate *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
