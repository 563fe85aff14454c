/* Messages to standard error: see log.h. */
#include "config.h"
#include "src/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/err.h"

static atomic_int log_level = LOG_LEVEL_INFO;
static bool is_journal;

static const struct {
    const char *name;
    enum log_level level;
} levels[] = {
    {"err", LOG_LEVEL_ERR}, {"warn", LOG_LEVEL_WARN}, {"info", LOG_LEVEL_INFO}, {"debug", LOG_LEVEL_DEBUG}};

/* JOURNAL_STREAM is "device:inode" of the stream; it is inherited, so it may be about another one
 * (systemd.exec(5)). */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat st;
    return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
           st.st_dev == (dev_t)device && st.st_ino == (ino_t)inode;
}

void log_init(void)
{
    is_journal = stderr_is_journal();
}

void log_set_level(enum log_level level)
{
    atomic_store(&log_level, (int)level);
}

bool log_is_on(enum log_level level)
{
    return (int)level <= atomic_load(&log_level);
}

bool log_level_from_name(const char *name, enum log_level *ret_level)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(levels[i].name, name) == 0) {
            *ret_level = levels[i].level;
            return true;
        }
    }
    return false;
}

void log_write(enum log_level level, const char *format, ...)
{
    if (!log_is_on(level))
        return;
    int error = errno; /* a message must not change what it is about */
    char line[LOG_MAX_LINE];
    int n = is_journal ? snprintf(line, sizeof line, "<%d>", level)
                       : snprintf(line, sizeof line, "%.256s: ", program_invocation_short_name);
    va_list args;
    va_start(args, format);
    vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args); /* one byte stays for the newline */
    va_end(args);
    why_make_visible(line + n);
    size_t end = strlen(line);
    line[end++] = '\n';
    /* One call for the whole line, so that lines of several threads do not mix. */
    ssize_t r = write(STDERR_FILENO, line, end);
    (void)r; /* there is nobody to tell */
    errno = error;
}
