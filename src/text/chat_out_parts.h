/* What the parts of chat_out.c share. */
#pragma once

#include "src/text/chat_out.h"

/* Marks to look for, as masks of struct chat_out. */
enum {
    CHAT_OUT_ANSWER = 1U << CHAT_MARK_ANSWER | 1U << CHAT_MARK_ANSWER_TOO,
    CHAT_OUT_CALLS = 1U << CHAT_MARK_CALL | 1U << CHAT_MARK_CALL_TOO,
    CHAT_OUT_CLOSE_CALL = 1U << CHAT_MARK_CLOSE_CALL,
};

/* What is being read. */
enum chat_out_stage {
    CHAT_OUT_AT_MARK,  /* the beginning, or behind a mark: another may stand here */
    CHAT_OUT_THINKING, /* between the marks of thoughts */
    CHAT_OUT_TEXT,
    /* chat_call.c: */
    CHAT_OUT_CALL_BEGIN,     /* behind the mark of a call */
    CHAT_OUT_CALL_ELEMENT,   /* where an element of the array of calls must begin */
    CHAT_OUT_CALL_OBJECT,    /* {"name": ..., "arguments": up to the arguments */
    CHAT_OUT_CALL_NAME,      /* a name that is not in quotes */
    CHAT_OUT_CALL_INNER,     /* Mistral: a mark behind the name */
    CHAT_OUT_CALL_ID,        /* Mistral: what follows the mark of an id */
    CHAT_OUT_CALL_OPEN,      /* Mistral: where the object of arguments must begin */
    CHAT_OUT_CALL_ARGUMENTS, /* the object of arguments */
    CHAT_OUT_CALL_TAIL,      /* the rest of the object of the call */
    CHAT_OUT_CALL_NEXT,      /* behind an element of the array of calls */
    /* chat_python.c: */
    CHAT_OUT_PYTHON_KEY,    /* where an argument, or the end of all, must begin */
    CHAT_OUT_PYTHON_EQUALS, /* in an argument's name or behind it */
    CHAT_OUT_PYTHON_VALUE,
    CHAT_OUT_PYTHON_WORD, /* in a literal */
    CHAT_OUT_PYTHON_STRING,
    CHAT_OUT_PYTHON_ESCAPE,
    CHAT_OUT_N_STAGE,
};

/* Takes the byte that was just added to what is undecided; false: it is to be taken once more, by the stage
 * that is set now. */
typedef bool (*chat_out_step)(struct chat_out *c, char byte);

/* Delivers all that is pending but the last `back` bytes, which become the undecided ones. */
void chat_out_settle(struct chat_out *c, enum chat_out_kind kind, size_t back);
/* Delivers text that is not out of what was pushed, as more arguments. */
void chat_out_make(struct chat_out *c, const char *text, size_t n);
/* What was undecided is text after all; the last byte is to be taken again: returns false. */
bool chat_out_refuse(struct chat_out *c);
/* A call is complete, or a mark was found: from here on the marks of the mask may come, at once or later. */
void chat_out_expect(struct chat_out *c, unsigned mask);
/* Announces call.name[n_name]; all that is undecided but the last `back` bytes was its markup. */
void chat_out_announce(struct chat_out *c, size_t back);
/* Begins a call, before its mark is settled; unmarked: there was none. */
void chat_call_start(struct chat_out *c, bool unmarked);
/* The call is over with the last byte. */
void chat_call_end(struct chat_out *c);
/* Adds a byte to text[CHAT_OUT_MAX_NAME + 1], of which n are set; false: it is full. */
bool chat_call_append(char *text, size_t *n, char byte);
/* Begins the arguments of the call call.name, behind its parenthesis. */
void chat_python_start(struct chat_out *c);

bool chat_call_begin(struct chat_out *c, char byte);
bool chat_call_element(struct chat_out *c, char byte);
bool chat_call_object(struct chat_out *c, char byte);
bool chat_call_name(struct chat_out *c, char byte);
bool chat_call_inner(struct chat_out *c, char byte);
bool chat_call_id(struct chat_out *c, char byte);
bool chat_call_open(struct chat_out *c, char byte);
bool chat_call_arguments(struct chat_out *c, char byte);
bool chat_call_tail(struct chat_out *c, char byte);
bool chat_call_next(struct chat_out *c, char byte);
bool chat_python_key(struct chat_out *c, char byte);
bool chat_python_equals(struct chat_out *c, char byte);
bool chat_python_value(struct chat_out *c, char byte);
bool chat_python_word(struct chat_out *c, char byte);
bool chat_python_string(struct chat_out *c, char byte);
bool chat_python_escape(struct chat_out *c, char byte);
