/* How a model marks its thoughts and its calls of tools: found once, from its template and its vocabulary.
 *
 * Calls: the first row of chat_marks.def whose sign occurs in the text of the chat template. Thoughts: the
 * first row of which either mark occurs there; where there is none, the first of which both are pieces of the
 * vocabulary. A model has at most one way of each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tokenizer;

enum { CHAT_FORMAT_MAX_IDS = 8, CHAT_FORMAT_MAX_MARK = 64 /* bytes of a mark, with NUL */ };

/* What may come after the mark of a call, or instead of it. */
enum chat_grammar {
    CHAT_GRAMMAR_TAGGED,  /* an object, or an array of them; then perhaps the closing mark */
    CHAT_GRAMMAR_MISTRAL, /* the same; since version 11 a name, inner marks, the object of its arguments */
    CHAT_GRAMMAR_LLAMA,   /* the same, and Python calls; at the very beginning without a mark */
};

struct chat_thoughts {
    const char *sign, *open, *close;
    const char *answer[2]; /* may stand before the answer; NULL: there is none */
};

struct chat_calls {
    enum chat_grammar grammar;
    const char *sign;
    const char *open[2]; /* either begins a call; NULL: there is none */
    const char *close;
    const char *inner[2];
};

struct chat_format {
    const struct chat_thoughts *thoughts; /* NULL: the model has no marks for them */
    const struct chat_calls *calls;       /* likewise */
    int32_t ids[CHAT_FORMAT_MAX_IDS];     /* special tokens that are part of these marks */
    int32_t n_id;
};

/* text: the source of the chat template, of several the one for tools; t may be NULL. Never fails: a model of
 * which nothing is known has neither. What is found lives as long as the program. */
void chat_format_find(struct chat_format *ret, const char *text, size_t n, const struct tokenizer *t);
/* A special token that must reach chat_out_push as text though special tokens are left out of an answer. */
bool chat_format_is_mark(const struct chat_format *f, int32_t id);
/* True where a prompt ends with the mark that opens thoughts (and white space): the template has written it.
 */
bool chat_format_opens(const struct chat_format *f, const char *prompt, size_t n);
