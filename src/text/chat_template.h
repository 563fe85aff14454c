/* The chat template of a model: how a conversation becomes a prompt.
 *
 * Templates see what Hugging Face's apply_chat_template gives them: messages, tools, documents,
 * add_generation_prompt, the model's special tokens by name (bos_token and so on), and the caller's own
 * variables. Read-only once it is open: any number of threads may render it. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "src/base/err.h"
#include "src/text/jinja.h"

struct chat_template;

struct chat_template_input {
    struct jinja_value messages; /* a list of dicts; changed: those with thoughts get them under every name in
                                    use, the final one a mark where it is continued */
    struct jinja_value tools;    /* a list, or none */
    struct jinja_value kwargs;   /* a dict of further variables, or none */
    const struct tm *now;        /* what strftime_now shows; NULL: the local time */
    bool add_generation_prompt;
    bool continue_final_message; /* the text ends where that of the last message ends */
};

/* Opens the template of a model, whose directory or GGUF file this is (src/text/chat_source.h). EX_NOINPUT:
 * there is none; EX_DATAERR with the file, line and column; other codes as in src/base/err.h; -errno. */
int chat_template_open(struct chat_template **ret_template, const char *path, struct why *why);
/* Opens a file that is a template and nothing else: there are no special tokens then. */
int chat_template_open_file(struct chat_template **ret_template, const char *path, struct why *why);
struct chat_template *chat_template_free(struct chat_template *t);

/* The text that is rendered with or without tools; valid as long as the template. */
const char *chat_template_source(const struct chat_template *t, bool has_tools);

/* Renders in the run that has the values; kwargs replace what the model gives. 0; JINJA_E_... with a sentence
 * that has line and column; JINJA_E_FAILED too where the final message that shall be continued is not in the
 * text; -ENOMEM. */
int chat_template_render(const struct chat_template *t, struct jinja_run *run,
                         const struct chat_template_input *input, struct jinja_text *ret_text,
                         struct why *why);
