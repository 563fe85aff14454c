/* Messages to standard error: src/base/log.c. */
#include "config.h"
#include "src/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

static int read_end = -1, saved = -1;

/* Standard error becomes a pipe of the test's own. */
static void redirect(void)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    read_end = ends[0];
    unsetenv("JOURNAL_STREAM");
    log_init();
}

static const char *written(void)
{
    static char text[8192];
    dup2(saved, STDERR_FILENO); /* the last writer goes, so that reading ends */
    size_t n = 0;
    for (ssize_t r; n < sizeof text - 1 && (r = read(read_end, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)r;
    text[n] = '\0';
    return text;
}

TestSuite(log, .init = redirect);

Test(log, one_line_with_the_program_name)
{
    log_info("model '%s' has %d layers", "tiny", 2);
    log_err("two\nlines\x1b");
    const char *text = written();
    char want[1024];
    snprintf(want, sizeof want, "%s: model 'tiny' has 2 layers\n%s: two?lines?\n",
             program_invocation_short_name, program_invocation_short_name);
    cr_assert_str_eq(text, want);
}

Test(log, levels_select)
{
    log_debug("hidden");
    log_set_level(LOG_LEVEL_WARN);
    log_info("hidden");
    log_warn("w");
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("d");
    cr_assert(log_is_on(LOG_LEVEL_DEBUG));
    log_set_level(LOG_LEVEL_ERR);
    cr_assert(log_is_on(LOG_LEVEL_ERR) && !log_is_on(LOG_LEVEL_WARN));
    const char *text = written();
    cr_assert(strstr(text, ": w\n") && strstr(text, ": d\n") && !strstr(text, "hidden"), "got '%s'", text);
}

Test(log, names_of_levels)
{
    enum log_level level = LOG_LEVEL_ERR;
    cr_assert(log_level_from_name("debug", &level) && level == LOG_LEVEL_DEBUG);
    cr_assert(log_level_from_name("warn", &level) && level == LOG_LEVEL_WARN);
    cr_assert(!log_level_from_name("Warn", &level) && !log_level_from_name("", &level));
    cr_assert_eq(level, LOG_LEVEL_WARN);
}

static void set_journal_stream(uintmax_t inode_offset)
{
    struct stat st;
    cr_assert_eq(fstat(STDERR_FILENO, &st), 0);
    char stream[64];
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + inode_offset);
    setenv("JOURNAL_STREAM", stream, 1);
    log_init();
}

Test(log, the_journal_gets_priorities)
{
    set_journal_stream(0);
    log_warn("careful");
    log_err("broken");
    cr_assert_str_eq(written(), "<4>careful\n<3>broken\n");
}

Test(log, a_journal_elsewhere_does_not_count)
{
    set_journal_stream(1);
    log_warn("careful");
    cr_assert_null(strchr(written(), '<'));
}

Test(log, a_long_message_is_cut_and_errno_survives)
{
    char message[2 * LOG_MAX_LINE];
    memset(message, 'm', sizeof message);
    message[sizeof message - 1] = '\0';
    errno = EPIPE;
    log_info("%s", message);
    cr_assert_eq(errno, EPIPE);
    const char *text = written();
    cr_assert_eq(strlen(text), LOG_MAX_LINE - 1);
    cr_assert_eq(text[LOG_MAX_LINE - 2], '\n');
}
