/* The splitting patterns of GPT-2, Llama-3 and Qwen2: see splitter.h. */
#include "config.h"
#include "src/text/splitter.h"

#include <stdbool.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/text/unicode.h"

enum { NOT_OTHER = UNICODE_SPACE | UNICODE_LETTER | UNICODE_NUMBER };

/* The character at `at`: its classes and, in *ret_next, where it ends. Nothing, with no class, at the end. */
static inline uint8_t classify(const uint8_t *s, size_t n, size_t at, size_t *ret_next)
{
    if (at == n) {
        *ret_next = n;
        return UNICODE_SPACE; /* belongs to no run of letters, numbers or others */
    }
    *ret_next = at + utf8_length(s[at]);
    return unicode_flags(utf8_decode(s + at));
}

/* The end of the run of characters c with (classes(c) & mask) == want. */
static inline size_t run(const uint8_t *s, size_t n, size_t at, uint8_t mask, uint8_t want)
{
    for (size_t next; at < n; at = next)
        if ((classify(s, n, at, &next) & mask) != want)
            break;
    return at;
}

static size_t letters(const uint8_t *s, size_t n, size_t at)
{
    return run(s, n, at, UNICODE_LETTER, UNICODE_LETTER);
}

static bool is_newline(uint8_t c)
{
    return c == '\n' || c == '\r';
}

/* '(s|t|re|ve|m|ll|d) at s, or 0. With any_case also capitals, and U+017F, which folds to s. */
static size_t contraction(const uint8_t *s, size_t n, bool any_case)
{
    if (n < 2 || s[0] != '\'')
        return 0;
    uint8_t fold = any_case ? 0x20 : 0, a = s[1] | fold;
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    if (n < 3)
        return 0;
    uint8_t b = s[2] | fold;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l'))
        return 3;
    return any_case && s[1] == 0xc5 && s[2] == 0xbf ? 3 : 0;
}

/* \s+(?!\S)|\s+ at s, which begins with white space that ends at `end`: all of it at the end of the text,
 * else all but the last character, which goes with what follows; a single one is taken as it is. */
static size_t spaces(const uint8_t *s, size_t n, size_t end)
{
    if (end == n)
        return end;
    size_t last = (size_t)(utf8_previous(s + end) - s);
    return last ? last : end;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
size_t splitter_gpt2(const uint8_t *s, size_t n)
{
    size_t next, length = contraction(s, n, false);
    if (length)
        return length;
    size_t start = s[0] == ' ';
    uint8_t flags = classify(s, n, start, &next);
    if (flags & UNICODE_LETTER)
        return letters(s, n, next);
    if (flags & UNICODE_NUMBER)
        return run(s, n, next, UNICODE_NUMBER, UNICODE_NUMBER);
    if (!(flags & UNICODE_SPACE))
        return run(s, n, next, NOT_OTHER, 0);
    return spaces(s, n, run(s, n, 0, UNICODE_SPACE, UNICODE_SPACE));
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ at s, which begins with white space: up to the last line end of the run, if any.
 */
static size_t lines_or_spaces(const uint8_t *s, size_t n)
{
    size_t end = run(s, n, 0, UNICODE_SPACE, UNICODE_SPACE);
    for (size_t i = end; i > 0; i--)
        if (is_newline(s[i - 1]))
            return i;
    return spaces(s, n, end);
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,D}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
 * \s+(?!\S)|\s+ with D = max_digits. */
static inline size_t split(const uint8_t *s, size_t n, unsigned max_digits)
{
    size_t next, after, length = contraction(s, n, true);
    if (length)
        return length;
    uint8_t flags = classify(s, n, 0, &next);
    if (flags & UNICODE_LETTER)
        return letters(s, n, next);
    if (flags & UNICODE_NUMBER) {
        for (unsigned i = 1; i < max_digits && (classify(s, n, next, &after) & UNICODE_NUMBER); i++)
            next = after;
        return next;
    }
    uint8_t following = classify(s, n, next, &after);
    if (!is_newline(s[0]) && (following & UNICODE_LETTER))
        return letters(s, n, after);
    if ((flags & UNICODE_SPACE) && (s[0] != ' ' || (following & NOT_OTHER)))
        return lines_or_spaces(s, n);
    size_t end = run(s, n, next, NOT_OTHER, 0);
    while (end < n && is_newline(s[end]))
        end++;
    return end;
}

size_t splitter_llama3(const uint8_t *s, size_t n)
{
    return split(s, n, 3);
}

size_t splitter_qwen2(const uint8_t *s, size_t n)
{
    return split(s, n, 1);
}

splitter_fn splitter_find(const char *pattern, size_t n)
{
    static const struct {
        const char *pattern;
        splitter_fn split;
    } known[] = {
        {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", splitter_gpt2},
        {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
         "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
         "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
         splitter_llama3},
        {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
         "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
         splitter_qwen2},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n == strlen(known[i].pattern) && memcmp(pattern, known[i].pattern, n) == 0)
            return known[i].split;
    return NULL;
}
