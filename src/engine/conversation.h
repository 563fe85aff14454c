/* A conversation on its way to a prompt: what a chat job, apply_template or count brings along instead of
 * text.
 *
 * The server makes the values in the conversation's own run, with every string that the client sent marked as
 * input; a helper thread renders them with the model's chat template. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/text/jinja.h"

struct chat_template;
struct notice;
struct served;

/* Of one rendering. The values of the largest frame, where they are small, take less than half of the memory.
 */
enum {
    CONVERSATION_MEMORY = 512 << 20, /* bytes of values */
    CONVERSATION_OUTPUT = 64 << 20,  /* bytes of prompt: what a frame may have */
    CONVERSATION_STEPS = 20000000,   /* of the template's evaluation */
};

struct conversation {
    struct jinja_run *run;       /* owned: the memory of the values and of the text */
    struct jinja_value messages; /* a list of dicts */
    struct jinja_value tools;    /* a list of dicts, or none */
    struct jinja_value kwargs;   /* a dict of variables */
    bool add_generation_prompt, continue_final_message;
    size_t n_byte;          /* about so many bytes of request */
    struct jinja_text text; /* once it is rendered; in the run */
};

struct conversation *conversation_new(void); /* NULL: out of memory */
struct conversation *conversation_free(struct conversation *c);

/* Whether a template reads text that comes in parts, found by trying. 0 or -ENOMEM. */
int conversation_try_parts(const struct chat_template *t, bool *ret_takes_parts);

/* Renders it; arguments of calls that are JSON text are read first, and text in parts is joined where the
 * template would not read it. 0; CHECK_E_REFUSED with a NOTICE_FAILED for this job, owned by the caller:
 * there is no template, arguments are no JSON object, or the template failed, with its line and column;
 * -ENOMEM. */
int conversation_render(const struct served *served, struct conversation *c, uint64_t job,
                        struct notice **ret_refusal);
