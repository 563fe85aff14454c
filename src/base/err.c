/* How failures travel: see err.h. */
#include "config.h"
#include "src/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/utf8.h"

/* A name out of a file may hold anything; a terminal, a journal or a frame should not have to take it. */
char *why_make_visible(char *s)
{
    size_t n = strlen(s);
    for (size_t at = utf8_check(s, n); at < n; at += utf8_check(s + at, n - at))
        s[at] = '?';
    for (unsigned char *c = (unsigned char *)s; *c; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
        else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 to U+009F, in UTF-8 */
            c[0] = c[1] = '?';
    }
    return s;
}

/* Where a sentence was cut inside a character, drops that character's first bytes. */
static void drop_cut_character(char *s, size_t n)
{
    size_t i = n, n_tail = 0;
    while (i > 0 && n_tail < 3 && ((unsigned char)s[i - 1] & 0xc0) == 0x80)
        i--, n_tail++;
    if (i == 0)
        return;
    unsigned char lead = (unsigned char)s[i - 1];
    size_t n_want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (n_tail < n_want)
        s[i - 1] = '\0';
}

static void format_into(char *s, size_t size, const char *format, va_list args)
{
    int n = vsnprintf(s, size, format, args);
    if (n < 0)
        s[0] = '\0';
    else if ((size_t)n >= size)
        drop_cut_character(s, size - 1);
    why_make_visible(s);
}

int why_set(struct why *why, int code, const char *format, ...)
{
    if (!why)
        return code;
    va_list args;
    va_start(args, format);
    format_into(why->text, sizeof why->text, format, args);
    va_end(args);
    return code;
}

int why_prefix(struct why *why, int code, const char *format, ...)
{
    if (!why)
        return code;
    struct why rest = *why;
    char prefix[sizeof why->text / 2];
    va_list args;
    va_start(args, format);
    format_into(prefix, sizeof prefix, format, args);
    va_end(args);
    return why_set(why, code, "%s: %s", prefix, rest.text);
}

int why_errno(struct why *why, int error, const char *path)
{
    int code = EX_IOERR;
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        code = EX_NOINPUT;
        break;
    case EACCES:
    case EPERM:
        code = EX_NOPERM;
        break;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        code = -error;
        break;
    }
    char text[128];
    return why_set(why, code, "%s: %s", path, strerror_r(error, text, sizeof text));
}
