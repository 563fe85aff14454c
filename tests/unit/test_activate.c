/* Sockets that are handed over, and words to the service manager: src/server/activate.c. */
#include "config.h"
#include "src/server/activate.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/support.h"

/* What a child sees whose first descriptors were replaced: the test program needs its own. */
struct inherited {
    int type; /* of the socket at ACTIVATE_FIRST_FD; 0: no descriptor there */
    bool listens;
    const char *fds, *names; /* LISTEN_FDS, LISTEN_FDNAMES; NULL: not set */
    bool for_another;        /* LISTEN_PID is not ours */
};

static int make_socket(int type)
{
    int fd = socket(AF_UNIX, type, 0);
    struct sockaddr_un any = {.sun_family = AF_UNIX}; /* an abstract name that the kernel chooses */
    if (fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof(sa_family_t)) < 0)
        return -1;
    return fd;
}

/* What activate_init returns, and 100 + how many sockets it took where it is 0; 99: something else went
 * wrong. */
static int activated(const struct inherited *from)
{
    pid_t child = fork();
    if (child == 0) {
        char pid[16];
        struct activate a;
        close(ACTIVATE_FIRST_FD);
        int fd = from->type ? make_socket(from->type) : -1;
        if (from->type && (fd < 0 || (from->listens && listen(fd, 1) < 0)))
            _exit(99);
        if (fd >= 0 && fd != ACTIVATE_FIRST_FD)
            dup2(fd, ACTIVATE_FIRST_FD);
        snprintf(pid, sizeof pid, "%d", from->for_another ? 1 : (int)getpid());
        setenv("LISTEN_PID", pid, 1);
        if (from->fds)
            setenv("LISTEN_FDS", from->fds, 1);
        if (from->names)
            setenv("LISTEN_FDNAMES", from->names, 1);
        int r = activate_init(&a, NULL);
        if (getenv("LISTEN_PID") || getenv("LISTEN_FDS") || getenv("LISTEN_FDNAMES"))
            _exit(99); /* children of ours must not take them */
        if (r == 0 && a.n_socket > 0 &&
            (fcntl(ACTIVATE_FIRST_FD, F_GETFD) != FD_CLOEXEC ||
             !(fcntl(ACTIVATE_FIRST_FD, F_GETFL) & O_NONBLOCK)))
            _exit(99);
        _exit(r != 0 ? r : 100 + a.n_socket);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

Test(activate, a_listening_stream_socket_is_taken)
{
    cr_assert_eq(activated(&(struct inherited){SOCK_STREAM, true, "1", "jobs", false}), 101);
    cr_assert_eq(activated(&(struct inherited){SOCK_STREAM, true, "1", NULL, false}), 101);
}

Test(activate, nothing_was_handed_over)
{
    cr_assert_eq(activated(&(struct inherited){SOCK_STREAM, true, NULL, NULL, false}), 100);
    cr_assert_eq(activated(&(struct inherited){SOCK_STREAM, true, "0", NULL, false}), 100);
}

Test(activate, what_is_meant_for_another_process_is_left_alone)
{
    cr_assert_eq(activated(&(struct inherited){SOCK_STREAM, true, "1", "jobs", true}), 100);
    cr_assert_eq(activated(&(struct inherited){0, false, "7", "jobs", true}), 100);
}

Test(activate, what_is_no_listening_stream_socket_is_refused)
{
    cr_assert_eq(activated(&(struct inherited){SOCK_STREAM, false, "1", NULL, false}), EX_CONFIG);
    cr_assert_eq(activated(&(struct inherited){SOCK_DGRAM, false, "1", NULL, false}), EX_CONFIG);
    cr_assert_eq(activated(&(struct inherited){SOCK_SEQPACKET, true, "1", NULL, false}), EX_CONFIG);
    cr_assert_eq(activated(&(struct inherited){0, false, "1", NULL, false}), EX_CONFIG);
}

Test(activate, numbers_and_names_that_make_no_sense_are_refused)
{
    static const char *const bad[] = {"", "x", "-1", "1x", "17", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(activated(&(struct inherited){SOCK_STREAM, true, bad[i], NULL, false}), EX_CONFIG, "%s",
                     bad[i]);
    cr_assert_eq(activated(&(struct inherited){SOCK_STREAM, true, "1", "jobs:more", false}), EX_CONFIG);
}

/* A receiver at this address; what activate_notify sends arrives there. */
static void check_notify(const struct sockaddr_un *address, socklen_t n_address, const char *name)
{
    char text[64];
    struct activate a;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    cr_assert_eq(bind(fd, (const struct sockaddr *)address, n_address), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "30000000", 1);
    cr_assert_eq(activate_init(&a, NULL), 0);
    cr_assert_eq(a.watchdog_us, 30000000);
    cr_assert_null(getenv("NOTIFY_SOCKET"));
    activate_notify(&a, "READY=1\nSTATUS=%d jobs", 7);
    ssize_t n = recv(fd, text, sizeof text, MSG_DONTWAIT);
    cr_assert_eq(n, 21);
    cr_assert(!memcmp(text, "READY=1\nSTATUS=7 jobs", 21));
    activate_deinit(&a);
    activate_notify(&a, "WATCHDOG=1");
    cr_assert_lt(recv(fd, text, sizeof text, MSG_DONTWAIT), 0);
    close(fd);
}

Test(activate, the_manager_is_told_at_a_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char dir[SUPPORT_PATH];
    support_dir_make(dir);
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/notify", dir);
    check_notify(&address, sizeof address, address.sun_path);
    support_dir_remove(dir);
}

Test(activate, the_manager_is_told_at_an_abstract_name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[32];
    int n = snprintf(name, sizeof name, "@lorch-test-%d", (int)getpid());
    memcpy(address.sun_path + 1, name + 1, (size_t)n - 1);
    check_notify(&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n), name);
}

Test(activate, a_manager_that_does_not_read_stops_nobody, .timeout = 60)
{
    struct activate a;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[32];
    int n = snprintf(name, sizeof name, "@lorch-deaf-%d", (int)getpid());
    memcpy(address.sun_path + 1, name + 1, (size_t)n - 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)),
                 0);
    setenv("NOTIFY_SOCKET", name, 1);
    cr_assert_eq(activate_init(&a, NULL), 0);
    /* More than any queue of the kernel holds. */
    for (int i = 0; i < 100000; i++)
        activate_notify(&a, "STATUS=%d", i);
    activate_notify(&a, "STOPPING=1");
    activate_deinit(&a);
    close(fd);
}

Test(activate, an_address_that_is_none_is_refused)
{
    char long_path[200];
    memset(long_path, 'x', sizeof long_path);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    const char *const bad[] = {"", "@", "/", "relative", long_path};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct activate a;
        setenv("NOTIFY_SOCKET", bad[i], 1);
        cr_assert_eq(activate_init(&a, NULL), EX_CONFIG, "%s", bad[i]);
        activate_deinit(&a);
    }
}

Test(activate, a_watchdog_of_another_process_is_not_ours)
{
    struct activate a;
    setenv("WATCHDOG_USEC", "1000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    cr_assert_eq(activate_init(&a, NULL), 0);
    cr_assert_eq(a.watchdog_us, 0);
    activate_deinit(&a);
}
