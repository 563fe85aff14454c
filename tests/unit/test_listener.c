/* A socket of our own at a path: src/server/listener.c, through the server that makes it. */
#include "config.h"
#include "src/server/listener.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "src/server/activate.h"
#include "src/server/server.h"
#include "tests/support.h"

static char dir[SUPPORT_PATH], path[SUPPORT_PATH + 8];
static struct why why;

static void set_up(void)
{
    support_dir_make(dir);
    snprintf(path, sizeof path, "%s/sock", dir);
}

static void tear_down(void)
{
    support_dir_remove(dir);
}

TestSuite(listener, .init = set_up, .fini = tear_down);

/* A server that listens at a path (NULL: nowhere), and what came of it. */
static int listen_at(const char *at, struct server **ret_server)
{
    static const struct activate alone = ACTIVATE_NULL;
    const struct server_options options = {.listen = at,
                                           .model_id = "m",
                                           .max_queue = 1,
                                           .max_user_jobs = 1,
                                           .max_connections = 2,
                                           .max_output = 65536};
    why.text[0] = '\0';
    return server_new(ret_server, &options, &alone, &why);
}

static int open_socket(bool connects, bool listens)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    int r = connects ? connect(fd, (struct sockaddr *)&address, sizeof address)
                     : bind(fd, (struct sockaddr *)&address, sizeof address);
    if (r == 0 && listens)
        r = listen(fd, 1);
    if (r == 0)
        return fd;
    close(fd);
    return -1;
}

static mode_t mode(void)
{
    struct stat st;
    return lstat(path, &st) == 0 ? st.st_mode : 0;
}

Test(listener, makes_a_socket_for_its_user_alone_and_removes_it)
{
    struct server *server;
    mode_t mask = umask(0);
    cr_assert_eq(listen_at(path, &server), 0, "%s", why.text);
    cr_assert_eq(mode(), S_IFSOCK | 0600);
    cr_assert_eq(umask(mask), 0);
    int fd = open_socket(true, false);
    cr_assert_geq(fd, 0);
    close(fd);
    server_free(server);
    cr_assert_eq(mode(), 0);
}

Test(listener, never_replaces_a_live_socket)
{
    struct server *server = NULL;
    int fd = open_socket(false, true);
    cr_assert_geq(fd, 0);
    cr_assert_eq(listen_at(path, &server), EX_CANTCREAT);
    cr_assert_null(server);
    cr_assert(strstr(why.text, "another process listens there"), "%s", why.text);
    /* Also while its queue is full, so that a connection would have to wait. */
    int client[4];
    for (int i = 0; i < 4; i++)
        client[i] = open_socket(true, false);
    cr_assert_lt(client[3], 0);
    cr_assert_eq(listen_at(path, &server), EX_CANTCREAT);
    cr_assert(strstr(why.text, "another process listens there"), "%s", why.text);
    for (int i = 0; i < 3; i++)
        close(client[i]);
    cr_assert_eq(mode() & S_IFMT, S_IFSOCK);
    close(fd);
}

Test(listener, replaces_a_dead_socket)
{
    struct server *server;
    close(open_socket(false, true));
    cr_assert_eq(mode() & S_IFMT, S_IFSOCK);
    cr_assert_lt(open_socket(true, false), 0);
    cr_assert_eq(listen_at(path, &server), 0, "%s", why.text);
    int fd = open_socket(true, false);
    cr_assert_geq(fd, 0);
    close(fd);
    server_free(server);
}

Test(listener, does_not_touch_what_is_no_socket)
{
    struct server *server;
    support_write(dir, "sock", "x", 1);
    cr_assert_eq(listen_at(path, &server), EX_CANTCREAT);
    cr_assert(strstr(why.text, "is not a socket"), "%s", why.text);
    cr_assert_eq(mode() & S_IFMT, S_IFREG);
}

Test(listener, leaves_a_socket_that_has_taken_its_place)
{
    struct server *server;
    cr_assert_eq(listen_at(path, &server), 0, "%s", why.text);
    unlink(path);
    int fd = open_socket(false, true);
    cr_assert_geq(fd, 0);
    server_free(server);
    cr_assert_eq(mode() & S_IFMT, S_IFSOCK);
    close(fd);
}

Test(listener, says_what_is_wrong_with_a_path)
{
    struct server *server;
    char long_path[200];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    cr_assert_eq(listen_at(long_path, &server), EX_CANTCREAT);
    cr_assert(strstr(why.text, "107 bytes") && strstr(why.text, "has 199"), "%s", why.text);
    cr_assert_eq(listen_at("", &server), EX_CANTCREAT);
    cr_assert_eq(listen_at("/nowhere/at/all/sock", &server), EX_CANTCREAT);
    cr_assert_eq(listen_at(NULL, &server), EX_USAGE);
    cr_assert(strstr(why.text, "--listen"), "%s", why.text);
}

Test(listener, says_that_a_directory_is_not_ours)
{
    struct server *server;
    chmod(dir, 0555);
    support_user_drop();
    cr_assert_eq(listen_at(path, &server), EX_NOPERM, "%s", why.text);
    support_user_back();
    chmod(dir, 0755);
}
