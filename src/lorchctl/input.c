/* Text that a command works on: see input.h. */
#include "config.h"
#include "src/lorchctl/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/base/utf8.h"

enum { READ_SIZE = 65536, FRAME_ROOM = 65536 /* for the other fields of the request */ };

static int read_all(struct buf *text, int fd, const char *name)
{
    for (;;) {
        if (buf_reserve(text, READ_SIZE)) {
            fprintf(stderr, "lorchctl: %s is longer than the %d bytes that a request may have\n", name,
                    FRAME_MAX_IN);
            return EX_DATAERR;
        }
        ssize_t n = read(fd, text->data + text->n, READ_SIZE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fprintf(stderr, "lorchctl: cannot read %s: %s\n", name, strerror(errno));
            return EX_IOERR;
        }
        if (n == 0)
            return 0;
        text->n += (size_t)n;
    }
}

int input_read(struct buf *ret_text, const char *file, const char *argument)
{
    buf_init(ret_text, FRAME_MAX_IN - FRAME_ROOM);
    if (file) {
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            fprintf(stderr, "lorchctl: cannot open %s: %s\n", file, strerror(errno));
            return errno == EACCES ? EX_NOPERM : EX_NOINPUT;
        }
        int r = read_all(ret_text, fd, file);
        close(fd);
        return r;
    }
    if (argument && strcmp(argument, "-")) {
        if (!buf_push(ret_text, argument, strlen(argument)))
            return 0;
        fprintf(stderr, "lorchctl: the text has %zu bytes, a request has room for %d\n", strlen(argument),
                FRAME_MAX_IN - FRAME_ROOM);
        return EX_DATAERR;
    }
    if (!argument && isatty(STDIN_FILENO)) {
        fprintf(stderr, "lorchctl: no text: give it as an argument, with --file, or through a pipe ('-' "
                        "reads the terminal)\n");
        return EX_USAGE;
    }
    return read_all(ret_text, STDIN_FILENO, "standard input");
}

void input_write(struct msg_out *out, enum proto_field field, const struct buf *text)
{
    if (utf8_check(text->data, text->n) == text->n)
        msg_put_text(out, field, (const char *)text->data, text->n);
    else
        msg_put_bin(out, field, text->data, text->n);
}
