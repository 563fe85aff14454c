/* What the user enters: see chat_line.h. */
#include "config.h"
#include "src/lorchctl/chat_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "proto/frame.h"
#include "src/base/utf8.h"
#include "src/lorchctl/chat_history.h"

static const char quotes[] = "\"\"\"";
enum { N_QUOTES = sizeof quotes - 1 };

struct chat_line {
    struct chat_input input;
    struct chat_edit *edit; /* NULL: not interactive */
};

struct chat_line *chat_line_open(chat_edit_candidate candidate, bool keep_history)
{
    struct chat_line *line = calloc(1, sizeof *line);
    if (!line)
        return NULL;
    chat_input_init(&line->input);
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return line;
    char path[CHAT_HISTORY_PATH];
    line->edit =
        chat_edit_open(&line->input, candidate, keep_history && chat_history_path(path) ? path : NULL);
    return line->edit ? line : chat_line_close(line);
}

struct chat_line *chat_line_close(struct chat_line *line)
{
    if (line) {
        chat_edit_close(line->edit);
        chat_input_deinit(&line->input);
        free(line);
    }
    return NULL;
}

bool chat_line_is_interactive(const struct chat_line *line)
{
    return line->edit;
}

static int refuse_length(void)
{
    fprintf(
        stderr,
        "lorchctl: what was entered is longer than the %d bytes that a request may have, or memory ran out\n",
        FRAME_MAX_IN);
    return EX_DATAERR;
}

static int read_plain(struct chat_line *line, struct buf *ret)
{
    for (bool any = false;; any = true) {
        char byte;
        int r = chat_input_byte(&line->input, &byte);
        if (r == CHAT_INPUT_SIGNALLED)
            continue;
        if (r == CHAT_INPUT_END && any)
            return 0;
        if (r != 0)
            return r;
        if (byte == '\n')
            return 0;
        if (buf_push(ret, &byte, 1) != 0)
            return refuse_length();
    }
}

static int read_line(struct chat_line *line, const char *prompt, struct buf *ret)
{
    return line->edit ? chat_edit_read(line->edit, prompt, ret) : read_plain(line, ret);
}

static bool is_at(const struct buf *text, size_t at, const char *what)
{
    size_t n = strlen(what);
    return at <= text->n && text->n - at >= n && memcmp(text->data + at, what, n) == 0;
}

/* Where text in quotes begins: at once, or as what a command is given. Returns text->n where there is none.
 */
static size_t find_quotes(const struct buf *text)
{
    if (is_at(text, 0, quotes))
        return 0;
    const char *space = text->n > 0 && text->data[0] == '/' ? memchr(text->data, ' ', text->n) : NULL;
    size_t at = space ? (size_t)(space + 1 - (const char *)text->data) : text->n;
    return is_at(text, at, quotes) ? at : text->n;
}

static void cut(struct buf *text, size_t at, size_t n)
{
    memmove(text->data + at, text->data + at + n, text->n - at - n);
    text->n -= n;
}

/* Reads on until a line ends with quotes, or the input does. */
static int read_quoted(struct chat_line *line, struct buf *text, size_t at)
{
    cut(text, at, N_QUOTES);
    int r = 0;
    while (r == 0 && !(text->n >= at + N_QUOTES && is_at(text, text->n - N_QUOTES, quotes))) {
        if (buf_push(text, "\n", 1) != 0)
            return refuse_length();
        r = read_line(line, "... ", text);
    }
    if (line->edit && (r == CHAT_EDIT_CLEARED || r == CHAT_INPUT_INTERRUPTED)) {
        text->n = 0; /* an empty entry says nothing */
        return 0;
    }
    if (r == 0)
        text->n -= N_QUOTES;
    /* The line ends next to the quotes are not part of the text. */
    if (text->n > at && text->data[at] == '\n')
        cut(text, at, 1);
    if (text->n > at && text->data[text->n - 1] == '\n')
        text->n--;
    return r == CHAT_INPUT_END ? 0 : r;
}

int chat_line_read(struct chat_line *line, struct buf *ret_entry, bool *ret_command)
{
    buf_init(ret_entry, FRAME_MAX_IN);
    int r = read_line(line, "> ", ret_entry);
    *ret_command = false;
    if (r != 0)
        return r == CHAT_EDIT_CLEARED ? 0 : r;
    *ret_command = ret_entry->n > 0 && ret_entry->data[0] == '/';
    size_t at = find_quotes(ret_entry);
    if (at < ret_entry->n)
        r = read_quoted(line, ret_entry, at);
    *ret_command = *ret_command && ret_entry->n > 0;
    size_t n_valid = utf8_check(ret_entry->data, ret_entry->n);
    if (r == 0 && n_valid != ret_entry->n) {
        fprintf(stderr, "lorchctl: what was entered is no UTF-8 at byte %zu\n", n_valid);
        r = EX_DATAERR;
    }
    return r;
}
