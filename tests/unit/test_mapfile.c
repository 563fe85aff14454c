/* Mapped files and the SIGBUS guard: src/base/mapfile.c. */
#include "config.h"
#include "src/base/mapfile.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/support.h"

static char dir[SUPPORT_PATH];

static void setup(void)
{
    support_dir_make(dir);
}

static void teardown(void)
{
    support_dir_remove(dir);
}

TestSuite(mapfile, .init = setup, .fini = teardown);

static const char *path_of(const char *name)
{
    static char path[SUPPORT_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

Test(mapfile, shows_the_bytes_of_the_file)
{
    support_write(dir, "file", "hello", 5);
    struct mapfile map;
    struct why why;
    cr_assert_eq(mapfile_open(&map, path_of("file"), &why), 0);
    cr_assert(map.n == 5 && memcmp(map.data, "hello", 5) == 0);
    cr_assert_str_eq(map.path, path_of("file"));
    mapfile_close(&map);
    cr_assert(map.data == NULL && map.n == 0 && map.path == NULL);
    mapfile_close(&map);
}

Test(mapfile, an_empty_file_is_empty)
{
    support_write(dir, "empty", NULL, 0);
    struct mapfile map;
    cr_assert_eq(mapfile_open(&map, path_of("empty"), NULL), 0);
    cr_assert(map.n == 0 && map.data == NULL);
    mapfile_close(&map);
}

Test(mapfile, what_is_no_file_has_its_sentence)
{
    struct mapfile map;
    struct why why;
    cr_assert_eq(mapfile_open(&map, path_of("missing"), &why), EX_NOINPUT);
    cr_assert_not_null(strstr(why.text, "/missing: No such file"));
    cr_assert_eq(mapfile_open(&map, dir, &why), EX_DATAERR);
    cr_assert_not_null(strstr(why.text, ": a directory, not a regular file"));
    cr_assert_eq(mkfifo(path_of("fifo"), 0600), 0);
    cr_assert_eq(mapfile_open(&map, path_of("fifo"), &why), EX_DATAERR, "and does not wait for a writer");
    cr_assert_not_null(strstr(why.text, "/fifo: a device, pipe or socket"));
    cr_assert_eq(mapfile_open(&map, "/dev/null", &why), EX_DATAERR);
}

Test(mapfile, a_file_that_may_not_be_read)
{
    support_write(dir, "secret", "x", 1);
    cr_assert_eq(chmod(path_of("secret"), 0), 0);
    struct mapfile map;
    struct why why;
    support_user_drop();
    int r = mapfile_open(&map, path_of("secret"), &why);
    support_user_back();
    cr_assert_eq(r, EX_NOPERM);
    cr_assert_not_null(strstr(why.text, "/secret: Permission denied"));
}

/* Runs f in a child whose standard error is read into text; returns the wait status. */
static int run_child(void (*f)(void), char *text, size_t size)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        f();
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t r; n < size - 1 && (r = read(ends[0], text + n, size - 1 - n)) > 0;)
        n += (size_t)r;
    text[n] = '\0';
    close(ends[0]);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

static void read_beyond_the_end(void)
{
    struct mapfile other, map;
    mapfile_guard_install();
    if (mapfile_open(&other, path_of("other"), NULL) != 0 ||
        mapfile_open(&map, path_of("shrinks"), NULL) != 0)
        _exit(1);
    if (truncate(path_of("shrinks"), 10) != 0)
        _exit(2);
    volatile uint8_t last = map.data[map.n - 1];
    (void)last;
}

Test(mapfile, a_file_that_shrinks_is_named)
{
    static const char zeros[3 * 4096];
    support_write(dir, "shrinks", zeros, sizeof zeros);
    support_write(dir, "other", zeros, sizeof zeros);
    char text[1024];
    int status = run_child(read_beyond_the_end, text, sizeof text);
    cr_assert(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
    cr_assert_eq(WEXITSTATUS(status), EX_IOERR);
    cr_assert_not_null(strstr(text, "/shrinks: the file became shorter"), "it says '%s'", text);
    cr_assert_eq(text[strlen(text) - 1], '\n');
    cr_assert_null(strstr(text, "/other"));
}

static void raise_another(void)
{
    mapfile_guard_install();
    struct mapfile map;
    if (mapfile_open(&map, path_of("other"), NULL) == 0)
        raise(SIGBUS);
}

Test(mapfile, another_sigbus_keeps_its_meaning)
{
    support_write(dir, "other", "x", 1);
    char text[64];
    int status = run_child(raise_another, text, sizeof text);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    cr_assert_str_empty(text);
}

Test(mapfile, more_maps_than_the_guard_can_name)
{
    support_write(dir, "file", "x", 1);
    static struct mapfile maps[MAPFILE_MAX_GUARDED + 2];
    for (size_t i = 0; i < MAPFILE_MAX_GUARDED + 2; i++)
        cr_assert_eq(mapfile_open(&maps[i], path_of("file"), NULL), 0);
    for (size_t i = 0; i < MAPFILE_MAX_GUARDED + 2; i++)
        mapfile_close(&maps[i]);
}
