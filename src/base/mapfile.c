/* A file mapped read-only, and what happens when it shrinks: see mapfile.h. */
#include "config.h"
#include "src/base/mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/base/cleanup.h"

/* What the signal handler may look at. An entry is valid while its path is not NULL; path is written last and
 * cleared first. A thread that faults inside a map is using it, so nobody closes that one meanwhile. */
static struct guard {
    atomic_bool taken;
    _Atomic(const char *) path;
    atomic_uintptr_t start;
    atomic_size_t n;
} guards[MAPFILE_MAX_GUARDED];

static void guard_add(const struct mapfile *map)
{
    for (size_t i = 0; i < MAPFILE_MAX_GUARDED; i++) {
        if (atomic_exchange(&guards[i].taken, true))
            continue;
        atomic_store(&guards[i].start, (uintptr_t)map->data);
        atomic_store(&guards[i].n, map->n);
        atomic_store(&guards[i].path, map->path);
        return;
    }
}

static void guard_remove(const struct mapfile *map)
{
    for (size_t i = 0; i < MAPFILE_MAX_GUARDED; i++) {
        if (atomic_load(&guards[i].path) != map->path)
            continue;
        atomic_store(&guards[i].path, NULL);
        atomic_store(&guards[i].taken, false);
        return;
    }
}

static const char *guard_find(uintptr_t address)
{
    for (size_t i = 0; i < MAPFILE_MAX_GUARDED; i++) {
        const char *path = atomic_load(&guards[i].path);
        if (path && address - atomic_load(&guards[i].start) < atomic_load(&guards[i].n))
            return path;
    }
    return NULL;
}

/* Appends s, cut at the end of the line buffer. */
static size_t line_add(char *line, size_t n, size_t size, const char *s)
{
    while (*s && n < size)
        line[n++] = *s++;
    return n;
}

/* Only async-signal-safe calls: the fault may have come from anywhere. */
static void on_sigbus(int number, siginfo_t *info, void *context)
{
    (void)context;
    const char *path = guard_find((uintptr_t)info->si_addr);
    if (!path) {
        signal(number, SIG_DFL);
        raise(number); /* delivered when this handler returns */
        return;
    }
    char line[4096 + 256];
    size_t n = line_add(line, 0, sizeof line - 1, program_invocation_short_name);
    n = line_add(line, n, sizeof line - 1, ": ");
    n = line_add(line, n, sizeof line - 1, path);
    n = line_add(line, n, sizeof line - 1,
                 ": the file became shorter, or could not be read, while it was in use");
    line[n++] = '\n';
    ssize_t r = write(STDERR_FILENO, line, n);
    (void)r; /* there is nobody else to tell */
    _exit(EX_IOERR);
}

void mapfile_guard_install(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

int mapfile_open(struct mapfile *map, const char *path, struct why *why)
{
    /* Non-blocking, so that a FIFO is refused instead of waited for. */
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return why_errno(why, errno, path);
    if (!S_ISREG(st.st_mode))
        return why_set(why, EX_DATAERR, "%s: %s, not a regular file", path,
                       S_ISDIR(st.st_mode) ? "a directory" : "a device, pipe or socket");
    if ((uintmax_t)st.st_size > SIZE_MAX)
        return why_set(why, EX_CONFIG, "%s: %ju bytes are more than this machine can address", path,
                       (uintmax_t)st.st_size);
    struct mapfile opened = {.n = (size_t)st.st_size, .path = strdup(path)};
    if (!opened.path)
        return why_errno(why, ENOMEM, path);
    if (opened.n > 0) {
        void *data = mmap(NULL, opened.n, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED) {
            int error = errno;
            free(opened.path);
            return why_errno(why, error, path);
        }
        opened.data = data;
        guard_add(&opened);
    }
    *map = opened;
    return 0;
}

void mapfile_close(struct mapfile *map)
{
    if (map->data) {
        guard_remove(map);
        munmap((void *)map->data, map->n);
    }
    free(map->path);
    *map = (struct mapfile)MAPFILE_NULL;
}
