/* Sockets that listen: see listener.h. */
#include "config.h"
#include "src/server/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/base/cleanup.h"
#include "src/base/log.h"
#include "src/server/server_parts.h"

enum {
    BACKLOG = 128,
    ACCEPT_A_TURN = 64,    /* connections; others want their turn too */
    PENDING_MAX = 1 << 16, /* connections that a queue can hold at all */
    LOCK_TRIES = 100,
    LOCK_WAIT_MS = 10,
};

/* Descriptors have run out: waiting helps, and polling a readable socket would not let anybody else work. */
static const struct timeval back_off = {.tv_usec = 200000};

static bool is_full(const struct server *server)
{
    return server->n_peer >= server->options.max_connections;
}

static void pause_listening(struct listener *l)
{
    if (!l->is_paused)
        event_del(l->readable);
    l->is_paused = true;
}

/* One connection. False: there is none, or it could not be taken. */
static bool accept_one(struct listener *l)
{
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        peer_new(l->server, fd);
        return true;
    }
    if (errno == EINTR || errno == ECONNABORTED)
        return true;
    if (errno == EAGAIN) {
        l->is_short = false;
    } else {
        if (!l->is_short)
            log_warn("cannot accept connections: %s; trying again until it works", strerror(errno));
        l->is_short = true;
        pause_listening(l);
        evtimer_add(l->retry, &back_off);
    }
    return false;
}

static void on_connect(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;
    (void)fd;
    (void)what;
    for (int i = 0; i < ACCEPT_A_TURN && !is_full(l->server); i++)
        if (!accept_one(l))
            return;
    if (is_full(l->server)) {
        log_warn("%d connections are open: further ones wait", l->server->n_peer);
        pause_listening(l);
    }
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;
    (void)fd;
    (void)what;
    listener_resume(l->server);
}

/* Consumes fd. */
static int add_listener(struct server *server, int fd, const char *path)
{
    struct listener *l = calloc(1, sizeof *l);
    if (!l) {
        close(fd);
        return -ENOMEM;
    }
    *l = (struct listener){.server = server, .fd = fd, .path = path};
    LIST_INSERT_HEAD(&server->listeners, l, entry);
    l->readable = event_new(server->base, fd, EV_READ | EV_PERSIST, on_connect, l);
    l->retry = evtimer_new(server->base, on_retry, l);
    if (!l->readable || !l->retry || event_add(l->readable, NULL) < 0 || (path && stat(path, &l->made) < 0))
        return errno ? -errno : -ENOMEM;
    return 0;
}

int listener_inherit(struct server *server, int fd)
{
    return add_listener(server, fd, NULL);
}

/* What is at the path? 0: nothing, or a socket that nobody listens at, which is removed. */
static int clear_path(const char *path, const struct sockaddr_un *address, struct why *why)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : why_set(why, EX_CANTCREAT, "%s: %s", path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return why_set(why, EX_CANTCREAT, "%s is there already and is not a socket", path);
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN)
        return why_set(why, EX_CANTCREAT, "%s: another process listens there", path);
    if (errno == EACCES || errno == EPERM)
        return why_set(why, EX_NOPERM, "%s: the socket that is there belongs to somebody else", path);
    if (errno != ECONNREFUSED)
        return why_set(why, EX_CANTCREAT, "%s: %s", path, strerror(errno));
    if (unlink(path) < 0)
        return why_set(why, EX_NOPERM, "%s: cannot remove a dead socket: %s", path, strerror(errno));
    return 0;
}

/* Keeps others of our kind from looking at the same directory meanwhile: two that find a dead socket at the
 * same time must not both replace it. Returns a descriptor to close, or -1. Anybody who may read the
 * directory can hold the lock: whoever does so for long is not one of us, and is not waited for. */
static int lock_directory(const char *path)
{
    char directory[sizeof((struct sockaddr_un *)NULL)->sun_path] = ".";
    const char *slash = strrchr(path, '/');
    if (slash) {
        size_t n = slash == path ? 1 : (size_t)(slash - path);
        memcpy(directory, path, n);
        directory[n] = '\0';
    }
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) < 0; i++)
        poll(NULL, 0, LOCK_WAIT_MS);
    return fd;
}

int listener_bind(struct server *server, const char *path, struct why *why)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof address.sun_path)
        return why_set(why, EX_CANTCREAT, "the path of a socket may have 1 to %zu bytes, '%s' has %zu",
                       sizeof address.sun_path - 1, path, n);
    memcpy(address.sun_path, path, n);

    CLEANUP_CLOSE int lock = lock_directory(path);
    int r = clear_path(path, &address, why);
    if (r != 0)
        return r;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    /* The mode of a socket's file is what the mask leaves; there are no threads yet that it could disturb. */
    mode_t mask = umask(0177);
    r = bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
    umask(mask);
    if (r == 0 && listen(fd, BACKLOG) < 0)
        r = errno;
    if (r != 0) {
        close(fd);
        return why_set(why, r == EACCES || r == EPERM ? EX_NOPERM : EX_CANTCREAT, "%s: %s", path,
                       strerror(r));
    }
    errno = 0;
    return add_listener(server, fd, path);
}

void listener_accept_pending(struct server *server)
{
    struct listener *l;
    LIST_FOREACH(l, &server->listeners, entry)
    {
        int n = 0;
        while (n < PENDING_MAX && accept_one(l))
            n++;
    }
}

/* Our own socket is removed; one that has taken its place is not ours. */
static void remove_own(const struct listener *l)
{
    struct stat st;
    if (l->path && lstat(l->path, &st) == 0 && st.st_dev == l->made.st_dev && st.st_ino == l->made.st_ino)
        unlink(l->path);
}

void listener_stop(struct server *server)
{
    for (struct listener *l; (l = LIST_FIRST(&server->listeners));) {
        LIST_REMOVE(l, entry);
        remove_own(l);
        if (l->readable)
            event_free(l->readable);
        if (l->retry)
            event_free(l->retry);
        close(l->fd);
        free(l);
    }
}

void listener_resume(struct server *server)
{
    struct listener *l;
    LIST_FOREACH(l, &server->listeners, entry)
    {
        if (l->is_paused && !is_full(server) && event_add(l->readable, NULL) == 0)
            l->is_paused = false;
    }
}
