/* Lines typed at a terminal: see chat_edit.h. */
#include "config.h"
#include "src/lorchctl/chat_edit.h"

#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "src/base/utf8.h"
#include "src/lorchctl/conn.h"

enum { HISTORY_LINES = 1000 };

struct chat_edit {
    EditLine *el;
    History *history;
    char *history_path; /* NULL: none */
    const char *prompt;
    struct chat_input *input;
    chat_edit_candidate candidate;
    int ended; /* why the last line ended early: what chat_edit_read returns */
};

static volatile sig_atomic_t was_continued;

static void on_continue(int signal)
{
    (void)signal;
    was_continued = 1;
}

static void on_resize(int signal)
{
    (void)signal; /* it only ends a wait */
}

static struct chat_edit *self(EditLine *el)
{
    void *edit = NULL;
    el_get(el, EL_CLIENTDATA, &edit);
    return edit;
}

static char *show_prompt(EditLine *el)
{
    return (char *)self(el)->prompt;
}

/* The terminal has another size, or another program had it in between. */
static void adapt(EditLine *el)
{
    if (was_continued) {
        el_set(el, EL_PREP_TERM, 0); /* or it believes that nothing has changed */
        el_set(el, EL_PREP_TERM, 1);
    }
    was_continued = 0;
    el_resize(el);
    el_set(el, EL_REFRESH);
}

static int next_byte(struct chat_edit *edit, char *ret)
{
    int r;
    while ((r = chat_input_byte(edit->input, ret)) == CHAT_INPUT_SIGNALLED)
        adapt(edit->el);
    const LineInfo *line = el_line(edit->el);
    edit->ended = r == CHAT_INPUT_INTERRUPTED && line->lastchar > line->buffer ? CHAT_EDIT_CLEARED : r;
    return r;
}

/* A whole character. What is no UTF-8 reads as U+FFFD. 1, or -1 at the end of all and at Ctrl-C. */
static int read_character(EditLine *el, wchar_t *ret)
{
    struct chat_edit *edit = self(el);
    uint8_t bytes[UTF8_MAX];
    unsigned n = 0;
    int step = 0;
    do {
        char byte;
        if (next_byte(edit, &byte) != 0)
            return -1;
        bytes[n++] = (uint8_t)byte;
        step = utf8_step(bytes, n);
    } while (step == 0);
    *ret = step < 0 ? UTF8_REPLACEMENT : (wchar_t)utf8_decode(bytes);
    return 1;
}

/* Bytes that all candidates share, and how many candidates there are. */
static size_t common(struct chat_edit *edit, const char *line, size_t n, char *ret, size_t size,
                     size_t *ret_from)
{
    size_t i = 0;
    for (const char *word; (word = edit->candidate(line, n, i, ret_from)); i++) {
        if (i == 0)
            snprintf(ret, size, "%s", word);
        size_t same = 0;
        while (ret[same] && ret[same] == word[same])
            same++;
        ret[same] = '\0';
    }
    return i;
}

static void list(struct chat_edit *edit, const char *line, size_t n)
{
    size_t from;
    fputs("\n", stdout);
    for (size_t i = 0;; i++) {
        const char *word = edit->candidate(line, n, i, &from);
        if (!word)
            break;
        printf("%s  ", word);
    }
    fputs("\n", stdout);
}

/* What the tabulator does. */
static unsigned char complete(EditLine *el, int key)
{
    (void)key;
    struct chat_edit *edit = self(el);
    const LineInfo *info = el_line(el);
    size_t n = (size_t)(info->cursor - info->buffer), from = 0;
    char word[256];
    size_t n_candidate = common(edit, info->buffer, n, word, sizeof word - 1, &from);
    if (n_candidate == 0)
        return CC_ERROR;
    if (n_candidate == 1)
        strcat(word, " ");
    if (strlen(word) == n - from) {
        list(edit, info->buffer, n);
        return CC_REDISPLAY;
    }
    return el_insertstr(el, word + (n - from)) == 0 ? CC_REFRESH : CC_ERROR;
}

/* libedit writes characters as the locale says; one without UTF-8 could not show what a model writes. */
static void set_locale(void)
{
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static bool prepare(struct chat_edit *edit, const char *path)
{
    HistEvent event;
    set_locale();
    edit->history_path = path ? strdup(path) : NULL;
    edit->history = history_init();
    edit->el = el_init("lorchctl", stdin, stdout, stderr);
    if (!edit->el || !edit->history || (path && !edit->history_path))
        return false;
    history(edit->history, &event, H_SETSIZE, HISTORY_LINES);
    history(edit->history, &event, H_SETUNIQUE, 1);
    if (path)
        history(edit->history, &event, H_LOAD, path);
    el_set(edit->el, EL_CLIENTDATA, edit);
    el_set(edit->el, EL_PROMPT, show_prompt);
    el_set(edit->el, EL_EDITOR, "emacs");
    el_set(edit->el, EL_HIST, history, edit->history);
    el_set(edit->el, EL_GETCFN, read_character);
    el_wset(edit->el, EL_ADDFN, L"lorch-complete", L"complete a command",
            complete); /* el_set leaks the names */
    el_set(edit->el, EL_BIND, "^I", "lorch-complete", NULL);
    el_source(edit->el, NULL);
    conn_catch(SIGWINCH, on_resize);
    conn_catch(SIGCONT, on_continue);
    return true;
}

struct chat_edit *chat_edit_open(struct chat_input *input, chat_edit_candidate candidate, const char *path)
{
    struct chat_edit *edit = calloc(1, sizeof *edit);
    if (!edit)
        return NULL;
    edit->input = input;
    edit->candidate = candidate;
    edit->prompt = "";
    return prepare(edit, path) ? edit : chat_edit_close(edit);
}

struct chat_edit *chat_edit_close(struct chat_edit *edit)
{
    HistEvent event;
    if (edit) {
        if (edit->history && edit->history_path)
            history(edit->history, &event, H_SAVE, edit->history_path);
        if (edit->el)
            el_end(edit->el);
        if (edit->history)
            history_end(edit->history);
        free(edit->history_path);
        free(edit);
    }
    return NULL;
}

int chat_edit_read(struct chat_edit *edit, const char *prompt, struct buf *ret_line)
{
    HistEvent event;
    int n = 0;
    edit->prompt = prompt;
    edit->ended = 0;
    el_set(edit->el, EL_PREP_TERM,
           1); /* before the prompt is there: else what is typed at once shows twice */
    const char *line = el_gets(edit->el, &n);
    if (!line || n <= 0) {
        putchar('\n'); /* libedit leaves the cursor behind the line */
        return edit->ended ? edit->ended : CHAT_INPUT_END;
    }
    size_t length = strcspn(line, "\n");
    if (length > 0)
        history(edit->history, &event, H_ENTER, line);
    return buf_push(ret_line, line, length) == 0 ? 0 : CHAT_INPUT_END;
}
