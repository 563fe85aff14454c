/* The byte-level alphabet: each byte is spelled as a printable character (GPT-2's bytes_to_unicode).
 *
 * The 188 bytes that are printable in Latin-1 stand for themselves, the other 68 become U+0100 to U+0143 in
 * ascending order. A spelled byte takes two bytes of UTF-8 at most. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Spells n bytes into out (room for 2 * n) and returns the length. */
size_t bytelevel_spell(const uint8_t *bytes, size_t n, uint8_t *out);
/* The bytes behind a spelling of n bytes of valid UTF-8, into out (room for n; may be the spelling itself).
 * False where a character is not of the alphabet. */
bool bytelevel_unspell(const uint8_t *spelling, size_t n, uint8_t *out, size_t *ret_n);
/* The byte that a code point spells, or -1. */
int bytelevel_byte(uint32_t code);
