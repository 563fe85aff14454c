/* The splitting patterns of GPT-2, Llama-3 and Qwen2, written by hand.
 *
 * Each pattern covers every text: what the function gives is the length of the match at the start of s, and
 * the next match begins where it ends. Equal to the regular expressions, and linear in the text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* n is at least 1 and s[0, n) valid UTF-8. */
typedef size_t (*splitter_fn)(const uint8_t *s, size_t n);

size_t splitter_gpt2(const uint8_t *s, size_t n);
size_t splitter_llama3(const uint8_t *s, size_t n);
size_t splitter_qwen2(const uint8_t *s, size_t n);

/* The function for a regular expression, or NULL. */
splitter_fn splitter_find(const char *pattern, size_t n);
