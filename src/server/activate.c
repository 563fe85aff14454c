/* What a service manager hands us and wants to hear: see activate.h. */
#include "config.h"
#include "src/server/activate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sysexits.h>
#include <unistd.h>

enum { MAX_MESSAGE = 1024 };

static const struct timeval notify_wait = {.tv_sec = 1};

/* A variable that is a whole number within [0, max]. Not there: fallback. */
static int read_number(const char *name, int64_t max, int64_t fallback, int64_t *ret, struct why *why)
{
    const char *text = getenv(name);
    char *end;
    *ret = fallback;
    if (!text)
        return 0;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || errno || v < 0 || v > max)
        return why_set(why, EX_CONFIG, "%s is '%s', must be 0 to %" PRId64, name, text, max);
    *ret = v;
    return 0;
}

/* The i-th name of LISTEN_FDNAMES, for messages. */
static const char *socket_name(int i, char *buffer, size_t n_buffer)
{
    const char *names = getenv("LISTEN_FDNAMES");
    for (; names && i > 0; i--) {
        names = strchr(names, ':');
        names = names ? names + 1 : NULL;
    }
    snprintf(buffer, n_buffer, "%.*s", names ? (int)strcspn(names, ":") : 0, names ? names : "");
    return buffer;
}

static int count_names(void)
{
    const char *names = getenv("LISTEN_FDNAMES");
    int n = 1;
    for (const char *p = names; p && *p; p++)
        n += *p == ':';
    return names ? n : 0;
}

static int socket_option(int fd, int option)
{
    int value;
    socklen_t n = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &n) < 0 ? -1 : value;
}

static int check_socket(int i, struct why *why)
{
    int fd = ACTIVATE_FIRST_FD + i;
    char name[64];
    if (socket_option(fd, SO_DOMAIN) != AF_UNIX || socket_option(fd, SO_TYPE) != SOCK_STREAM ||
        socket_option(fd, SO_ACCEPTCONN) != 1)
        return why_set(why, EX_CONFIG, "inherited descriptor %d ('%s') is not a listening Unix stream socket",
                       fd, socket_name(i, name, sizeof name));
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
    return 0;
}

static int take_sockets(struct activate *a, struct why *why)
{
    int64_t pid, n;
    int r = read_number("LISTEN_PID", INT32_MAX, 0, &pid, why);
    if (r != 0 || pid != getpid()) /* meant for another process of the chain, if at all */
        return r;
    r = read_number("LISTEN_FDS", ACTIVATE_MAX_SOCKET, 0, &n, why);
    if (r != 0)
        return r;
    int n_name = count_names();
    if (n_name != 0 && n_name != n)
        return why_set(why, EX_CONFIG, "LISTEN_FDNAMES has %d names, LISTEN_FDS says %d sockets", n_name,
                       (int)n);
    for (int i = 0; i < n; i++) {
        r = check_socket(i, why);
        if (r != 0)
            return r;
    }
    a->n_socket = (int)n;
    return 0;
}

static int open_notify(struct activate *a, struct why *why)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path)
        return 0;
    size_t n = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof a->notify.sun_path)
        return why_set(why, EX_CONFIG,
                       "NOTIFY_SOCKET is '%s', must be a path or an abstract name of at most %zu bytes", path,
                       sizeof a->notify.sun_path - 1);
    a->notify.sun_family = AF_UNIX;
    memcpy(a->notify.sun_path, path, n);
    if (path[0] == '@')
        a->notify.sun_path[0] = '\0';
    a->notify_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    a->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (a->notify_fd < 0)
        return -errno;
    return setsockopt(a->notify_fd, SOL_SOCKET, SO_SNDTIMEO, &notify_wait, sizeof notify_wait) < 0 ? -errno
                                                                                                   : 0;
}

static int read_watchdog(struct activate *a, struct why *why)
{
    int64_t pid, us;
    int r = read_number("WATCHDOG_PID", INT32_MAX, getpid(), &pid, why);
    if (r != 0 || pid != getpid())
        return r;
    r = read_number("WATCHDOG_USEC", INT64_MAX, 0, &us, why);
    a->watchdog_us = us;
    return r;
}

int activate_init(struct activate *a, struct why *why)
{
    static const char *const names[] = {"LISTEN_PID",    "LISTEN_FDS",   "LISTEN_FDNAMES",
                                        "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"};
    *a = (struct activate)ACTIVATE_NULL;
    int r = take_sockets(a, why);
    if (r == 0)
        r = open_notify(a, why);
    if (r == 0)
        r = read_watchdog(a, why);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return r;
}

void activate_deinit(struct activate *a)
{
    if (a->notify_fd >= 0)
        close(a->notify_fd);
    a->notify_fd = -1;
}

void activate_notify(const struct activate *a, const char *format, ...)
{
    if (a->notify_fd < 0)
        return;
    char message[MAX_MESSAGE];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (n <= 0)
        return;
    /* A manager that does not read must not stop us. What changes our state is worth a short wait. */
    bool waits = !strncmp(message, "READY", 5) || !strncmp(message, "STOPPING", 8);
    sendto(a->notify_fd, message, strlen(message), MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT),
           (const struct sockaddr *)&a->notify, a->notify_bytes);
}
