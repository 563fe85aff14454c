/* How a model marks thoughts and calls: see chat_format.h. */
#include "config.h"
#include "src/text/chat_format.h"

#include <string.h>

#include "src/text/chat_mark.h"
#include "src/text/tokenizer.h"

static const struct chat_thoughts thoughts_rows[] = {
#define THOUGHTS(sign, open, close, answer, answer_too) {sign, open, close, {answer, answer_too}},
#include "src/text/chat_marks.def"
};

static const struct chat_calls calls_rows[] = {
#define CALLS(grammar, sign, open, open_too, close, inner, inner_too) \
    {CHAT_GRAMMAR_##grammar, sign, {open, open_too}, close, {inner, inner_too}},
#include "src/text/chat_marks.def"
};

enum {
    N_THOUGHTS = sizeof thoughts_rows / sizeof thoughts_rows[0],
    N_CALLS = sizeof calls_rows / sizeof calls_rows[0],
    MIN_TOKEN = 3, /* bytes of a special token that is part of a mark */
};

static bool has(const char *text, size_t n, const char *sign)
{
    return memmem(text, n, sign, strlen(sign)) != NULL;
}

static const struct chat_thoughts *find_thoughts(const char *text, size_t n, const struct tokenizer *t)
{
    for (int i = 0; i < N_THOUGHTS; i++)
        if (has(text, n, thoughts_rows[i].sign))
            return &thoughts_rows[i];
    for (int i = 0; t && i < N_THOUGHTS; i++)
        if (tokenizer_id(t, thoughts_rows[i].open) >= 0 && tokenizer_id(t, thoughts_rows[i].close) >= 0)
            return &thoughts_rows[i];
    return NULL;
}

static const struct chat_calls *find_calls(const char *text, size_t n)
{
    for (int i = 0; i < N_CALLS; i++)
        if (has(text, n, calls_rows[i].sign))
            return &calls_rows[i];
    return NULL;
}

static void add_id(struct chat_format *f, int32_t id)
{
    if (!chat_format_is_mark(f, id) && f->n_id < CHAT_FORMAT_MAX_IDS)
        f->ids[f->n_id++] = id;
}

/* Notes each part of a mark that is a special token. */
static void add_ids(struct chat_format *f, const struct tokenizer *t, const char *mark)
{
    size_t n = mark ? strlen(mark) : 0;
    for (size_t from = 0; from < n; from++)
        for (size_t length = MIN_TOKEN; length <= n - from; length++) {
            char part[CHAT_FORMAT_MAX_MARK];
            memcpy(part, mark + from, length);
            part[length] = '\0';
            int32_t id = tokenizer_id(t, part);
            if (id >= 0 && tokenizer_is_special(t, id))
                add_id(f, id);
        }
}

static void find_ids(struct chat_format *f, const struct tokenizer *t)
{
    if (f->thoughts) {
        add_ids(f, t, f->thoughts->open);
        add_ids(f, t, f->thoughts->close);
        add_ids(f, t, f->thoughts->answer[0]);
        add_ids(f, t, f->thoughts->answer[1]);
    }
    if (f->calls) {
        add_ids(f, t, f->calls->open[0]);
        add_ids(f, t, f->calls->open[1]);
        add_ids(f, t, f->calls->close);
        add_ids(f, t, f->calls->inner[0]);
        add_ids(f, t, f->calls->inner[1]);
    }
}

void chat_format_find(struct chat_format *ret, const char *text, size_t n, const struct tokenizer *t)
{
    *ret = (struct chat_format){.thoughts = find_thoughts(text, n, t), .calls = find_calls(text, n)};
    if (t)
        find_ids(ret, t);
}

bool chat_format_is_mark(const struct chat_format *f, int32_t id)
{
    for (int32_t i = 0; i < f->n_id; i++)
        if (f->ids[i] == id)
            return true;
    return false;
}

bool chat_format_opens(const struct chat_format *f, const char *prompt, size_t n)
{
    if (!f->thoughts)
        return false;
    while (n > 0 && chat_mark_is_space(prompt[n - 1]))
        n--;
    size_t n_mark = strlen(f->thoughts->open);
    return n >= n_mark && memcmp(prompt + n - n_mark, f->thoughts->open, n_mark) == 0;
}
