/* What chat models write, taken apart as it comes: thoughts, text, calls of tools.
 *
 * Text is pushed in pieces of any size and leaves in parts, in order; how it was cut never changes what
 * comes. Every byte that is pushed leaves exactly once, as CONTENT, REASONING, ARGUMENTS or MARKUP, in order;
 * only arguments that had to be rewritten (Python to JSON) are `made`: their source leaves as MARKUP before
 * them.
 *
 * - Thoughts come first or not at all: marks after the first word of the answer are text.
 * - Calls are looked for where tools were given, after the thoughts. What is no call is content, byte for
 *   byte. A call is announced (CALL) when its name is known and its arguments begin; its arguments leave as
 *   they come and are not kept. Where arguments go wrong, the call ends and the rest is content.
 * - White space next to a mark belongs to the mark.
 * - Where pushes end between characters, all parts of one push end there together; a single part of made
 *   arguments may be a byte of a character.
 *
 * The state is of fixed size and owns nothing. A byte costs O(1), at most CHAT_OUT_MAX_HELD are held back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/jsonscan.h"
#include "src/text/chat_format.h"
#include "src/text/chat_mark.h"

enum {
    CHAT_OUT_MAX_HELD = 1024, /* bytes that may precede a call's arguments, from its mark on */
    CHAT_OUT_MAX_NAME = 128,  /* bytes of a tool's name, or of an argument's in a Python call */
    CHAT_OUT_MAX_SPACE = 64,  /* white space before a mark that may belong to it */
    CHAT_OUT_N_ID = 9,       /* letters and digits of a call's id; Mistral's templates take no other length */
    CHAT_OUT_MAX_GROWTH = 6, /* a push of n bytes delivers at most this times (n + CHAT_OUT_MAX_HELD) */
};

enum chat_out_kind {
    CHAT_OUT_CONTENT,
    CHAT_OUT_REASONING,
    CHAT_OUT_CALL,      /* a call begins: text is the tool's name, call and id are set */
    CHAT_OUT_ARGUMENTS, /* more of the JSON text of the last call's arguments */
    CHAT_OUT_MARKUP,    /* marks and punctuation: nobody's text */
};

struct chat_out_part {
    enum chat_out_kind kind;
    const char *text; /* n bytes, valid during the call */
    size_t n;
    bool made;      /* not out of what was pushed */
    int32_t call;   /* CALL, ARGUMENTS: its index, from 0 */
    const char *id; /* CALL: CHAT_OUT_N_ID characters and NUL */
};

typedef void (*chat_out_take)(void *ctx, const struct chat_out_part *part);

struct chat_out_options {
    const struct chat_format *format; /* outlives the state */
    bool tools;                       /* calls are looked for */
    bool in_reasoning;                /* the prompt has opened them: chat_format_opens */
    uint64_t id_seed;                 /* ids of calls are a function of it and of the call's index */
    chat_out_take take;
    void *ctx;
};

/* A call that is being read: chat_call.c, chat_python.c. */
struct chat_call {
    struct jsonscan json;
    bool listed;    /* in an array of calls */
    bool unmarked;  /* no mark stands before it */
    bool announced; /* Python: the name has been delivered */
    uint32_t depth; /* of json, where the arguments are over */
    size_t n_name, n_word;
    char name[CHAT_OUT_MAX_NAME + 1];
    char word[CHAT_OUT_MAX_NAME + 1]; /* the name of a member or of an argument, a literal, an inner mark */
    char quote;                       /* Python: of the string that is being read */
    unsigned n_digit, code;           /* Python: of an escape: digits to come, value so far */
};

/* Private to chat_out.c and its parts (chat_out_parts.h). */
struct chat_out {
    struct chat_out_options options;
    int stage;
    unsigned searched; /* marks[i] may come: bit i */
    bool skip;         /* white space belongs to the mark before it */
    struct chat_mark marks[CHAT_MARK_N];
    size_t n_matched; /* bytes of the longest beginning of a mark that the text ends with */
    size_t n_space;   /* white space before it */

    /* Pushed and not delivered: held[n_held], then text[from, at). Of these the last n_back are undecided. */
    const char *text;
    size_t from, at;
    size_t n_held, n_back;
    char held[CHAT_OUT_MAX_HELD];

    int32_t n_call;
    char id[CHAT_OUT_N_ID + 1];
    struct chat_call call;
};

void chat_out_start(struct chat_out *c, const struct chat_out_options *options);
/* Takes n bytes and delivers what is decided. */
void chat_out_push(struct chat_out *c, const char *text, size_t n);
/* The end: delivers what was held back, which is no mark and no call any more. */
void chat_out_finish(struct chat_out *c);
/* Calls that were announced. */
int32_t chat_out_n_call(const struct chat_out *c);
