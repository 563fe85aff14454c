/* Where a model keeps its chat template, and the texts of its special tokens.
 *
 * The template of a directory is chat_template.jinja (with additional_chat_templates/tool_use.jinja), else
 * `chat_template` of tokenizer_config.json, a text or a list of named ones; the special tokens are those of
 * tokenizer_config.json, then special_tokens_map.json. A GGUF file has tokenizer.chat_template and
 * tokenizer.chat_template.tool_use. A template named tool_use is for conversations with tools. */
#pragma once

#include <stddef.h>

#include "src/base/err.h"

enum { CHAT_SOURCE_MAX_CONFIG = 16 << 20 /* bytes of tokenizer_config.json: some name every added token */ };

/* Special tokens by the name that templates use. */
enum chat_special {
    CHAT_BOS,
    CHAT_EOS,
    CHAT_UNK,
    CHAT_PAD,
    CHAT_SEP,
    CHAT_CLS,
    CHAT_MASK,
    CHAT_N_SPECIAL,
};
extern const char *const chat_special_names[CHAT_N_SPECIAL]; /* "bos_token", ... */

/* NUL-terminated texts, each for free(), NULL where there is none. */
struct chat_source {
    char *text, *path;             /* the template, and where it is (for sentences) */
    char *tools_text, *tools_path; /* the one for conversations with tools */
    char *special[CHAT_N_SPECIAL];
};

/* Of a model's directory or GGUF file; a model without a template is all right. 0; <sysexits.h> codes as in
 * src/base/err.h; -errno. On failure nothing is left to free. */
int chat_source_read(struct chat_source *ret_source, const char *path, struct why *why);
/* A file that is the template. EX_NOINPUT where there is no such file. */
int chat_source_read_file(struct chat_source *ret_source, const char *path, struct why *why);
void chat_source_deinit(struct chat_source *source);
