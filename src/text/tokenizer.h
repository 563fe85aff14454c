/* Text to token ids and back: the face of this folder.
 *
 * A tokenizer is built once and read-only afterwards: any number of threads may use one at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/text/token_list.h"

struct gguf;
struct jinja_text;
struct tokenizer;

enum {
    TOKENIZER_ADD_SPECIAL = 1,   /* what the post-processor adds (a BOS, say) */
    TOKENIZER_PARSE_SPECIAL = 2, /* the text of a special token is that token; a leading BOS is not doubled */
};

/* Opens a tokenizer. Of a directory: tokenizer.json, or where there is none tokenizer.model with
 * tokenizer_config.json; of a file: whichever of these it is, a GGUF file (its vocabulary) or a list of ranks
 * (tiktoken's; only Llama-3's). EX_NOINPUT where there is none; EX_DATAERR with the place and the unknown or
 * broken part by name; -errno. */
int tokenizer_open(struct tokenizer **ret_tokenizer, const char *path, struct why *why);
/* The vocabulary of an open GGUF file, which may be closed afterwards. EX_DATAERR, -ENOMEM. */
int tokenizer_from_gguf(struct tokenizer **ret_tokenizer, const struct gguf *file, struct why *why);
struct tokenizer *tokenizer_free(struct tokenizer *t);

/* Ids of n bytes of UTF-8, appended to *ids. 0, EX_DATAERR (invalid UTF-8, with its byte offset), -ENOMEM.
 * Time is linear in n (n log n at worst); memory is bounded by a small multiple of n. */
int tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags,
                     struct token_list *ids, struct why *why);

/* Which added tokens control a conversation, by their number: the special ones, and those that occur in the
 * source of the template, but for white space, which templates write as text. (The rule of transformers'
 * sanitize_control_tokens.) *control is made where it is NULL, for free(), and added to where it is not. 0;
 * EX_DATAERR with the token that cannot be kept from clients, as it is found in normalized text; -ENOMEM. */
int tokenizer_find_control(const struct tokenizer *t, const char *source, size_t n, bool **control,
                           struct why *why);
/* Ids of a rendered template. Control tokens are made of the template's own bytes alone: where input has a
 * part in one it is plain text. All else is as in tokenizer_encode with TOKENIZER_PARSE_SPECIAL: a word is
 * cut and merged across the borders of input, and other added tokens are text that anybody may write. Codes
 * too. */
int tokenizer_encode_marked(const struct tokenizer *t, const bool *control, const struct jinja_text *text,
                            unsigned flags, struct token_list *ids, struct why *why);

/* Largest id + 1. */
int32_t tokenizer_n_vocab(const struct tokenizer *t);
/* Bytes of the longest piece: no text of n bytes has fewer than n / this many tokens. */
size_t tokenizer_max_piece(const struct tokenizer *t);
/* The id of a piece as tokenizer.json spells it, or -1. */
int32_t tokenizer_id(const struct tokenizer *t, const char *piece);
/* The ids at which a text ends, as far as the tokenizer's own file says: GGUF's eos, eot and eom, the eos of
 * tokenizer.model's configuration; none of a tokenizer.json. */
const int32_t *tokenizer_ends(const struct tokenizer *t, size_t *ret_n);
bool tokenizer_is_special(const struct tokenizer *t, int32_t id);
/* The bytes that one id stands for in the middle of a text (a special token's own spelling; nothing for an id
 * that is none). Not NUL-terminated. */
const char *tokenizer_bytes(const struct tokenizer *t, int32_t id, size_t *ret_n);
