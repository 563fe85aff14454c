/* The chat template of a model: how a conversation becomes a prompt.
 *
 * Read-only once it is open: any number of threads may render it. */
#pragma once

#include <stdbool.h>

#include "src/base/err.h"
#include "src/text/jinja.h"

struct chat_template;

enum {
    CHAT_TEMPLATE_MAX_CONFIG = 16 << 20 /* bytes of tokenizer_config.json: some name every added token */
};

struct chat_template_input {
    struct jinja_value messages; /* a list of dicts; changed where the final message is continued */
    struct jinja_value tools;    /* a list, or none */
    struct jinja_value kwargs;   /* a dict of further variables, or none */
    bool add_generation_prompt;
    bool continue_final_message; /* the text ends where that of the last message ends */
};

/* Opens the template of a model's directory: chat_template.jinja, or else what tokenizer_config.json has as
 * chat_template, a text or a list of named ones: `tool_use` is for conversations with tools, `default` for
 * the others. EX_NOINPUT where there is none; EX_DATAERR with the file's name, line and column; other codes
 * of mapfile_open; -errno. */
int chat_template_open(struct chat_template **ret_template, const char *dir, struct why *why);
struct chat_template *chat_template_free(struct chat_template *t);

/* The text that is rendered where there are tools, or none. Valid as long as the template. */
const char *chat_template_source(const struct chat_template *t, bool has_tools, size_t *ret_n);

/* Renders in the run that has the values, with the names of the model's special tokens (bos_token, ...) as
 * variables, which kwargs may replace, and the local time. 0; JINJA_E_... with a sentence that has line and
 * column; JINJA_E_FAILED too where the final message that shall be continued is not in the text; -ENOMEM. */
int chat_template_render(const struct chat_template *t, struct jinja_run *run,
                         const struct chat_template_input *input, struct jinja_text *ret_text,
                         struct why *why);
