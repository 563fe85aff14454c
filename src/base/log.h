/* Messages of a program to its standard error, one line each. For what owns a thread; libraries do not log.
 *
 * Where standard error is a stream of the journal (JOURNAL_STREAM names it), a line begins with "<n>", its
 * priority; elsewhere with the program's name. Any thread may log. */
#pragma once

#include <stdbool.h>

/* The numbers are those of <syslog.h>, which is what the journal reads. */
enum log_level {
    LOG_LEVEL_ERR = 3,
    LOG_LEVEL_WARN = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7,
};

enum { LOG_MAX_LINE = 2048 }; /* bytes, with prefix and newline; the rest is cut */

/* Looks at standard error and the environment; call it once, before there are threads. */
void log_init(void);
/* Messages above this level are dropped. LOG_LEVEL_INFO at first. */
void log_set_level(enum log_level level);
bool log_is_on(enum log_level level);
/* "err", "warn", "info", "debug": false for another name. */
bool log_level_from_name(const char *name, enum log_level *ret_level);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_err(...) log_write(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
