/* What the tests of src/text share: JSON files as trees, a generator of random texts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/buf.h"
#include "src/text/part.h"
#include "src/text/tokenizer.h"

/* A JSON file in the arena; fails the test where it cannot be read. */
const struct part *text_util_json(struct arena *arena, const char *path);
/* The string of a member; fails the test where there is none. */
const char *text_util_string(const struct part *p, const char *key, size_t *ret_n);

/* A tokenizer; fails the test where it cannot be opened. */
struct tokenizer *text_util_open(const char *path);
/* The same from the text of a tokenizer.json. */
struct tokenizer *text_util_parse(const char *json);

/* The ids of a text, with TOKENIZER_ flags; fails the test where it is refused. */
struct token_list text_util_encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags);
/* All ids at once through the detokenizer. */
struct buf text_util_decode(const struct tokenizer *t, const struct token_list *ids, bool special);

/* The next number of a fixed sequence (xorshift64*), below n. */
uint32_t text_util_random(uint64_t *state, uint32_t n);
/* A random code point that is no surrogate, from all planes but mostly from the lower ones. */
uint32_t text_util_code(uint64_t *state);
