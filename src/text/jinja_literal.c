/* Literals of strings and numbers: see jinja_literal.h. */
#include "config.h"
#include "src/text/jinja_literal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/utf8.h"
#include "src/text/jinja_char.h"

enum { MAX_FLOAT = 400 /* characters of a float that is read */ };

/* ---- strings ---- */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

/* Reads up to max digits of a base. */
static size_t read_digits(const char *text, size_t n, size_t max, int base, uint32_t *ret_code)
{
    size_t i = 0;
    *ret_code = 0;
    for (; i < n && i < max && digit(text[i]) < base; i++)
        *ret_code = *ret_code * (uint32_t)base + (uint32_t)digit(text[i]);
    return i;
}

static size_t put(char *out, uint32_t code)
{
    return utf8_encode(code, (uint8_t *)out);
}

/* A code given in hexadecimal digits, after the backslash and its letter. */
static size_t unescape_hex(const char *text, size_t n, char *out, size_t *n_out, const char **ret_wrong)
{
    size_t wanted = text[0] == 'x' ? 2 : text[0] == 'u' ? 4 : 8;
    uint32_t code;
    if (read_digits(text + 1, n - 1, wanted, 16, &code) != wanted) {
        *ret_wrong = "truncated \\x, \\u or \\U escape";
        return 0;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        *ret_wrong = "an escape of no character";
        return 0;
    }
    *n_out += put(out + *n_out, code);
    return 1 + wanted;
}

/* What stands after a backslash. The forms are Python's; what is none of them stays as it is. */
static size_t unescape(const char *text, size_t n, char *out, size_t *n_out, const char **ret_wrong)
{
    static const char letters[] = "\\'\"abfnrtv", codes[] = "\\'\"\a\b\f\n\r\t\v";
    uint32_t code;
    const char *letter = text[0] ? strchr(letters, text[0]) : NULL;
    if (letter) {
        out[(*n_out)++] = codes[letter - letters];
        return 1;
    }
    if (text[0] == '\n')
        return 1;
    if (text[0] == 'x' || text[0] == 'u' || text[0] == 'U')
        return unescape_hex(text, n, out, n_out, ret_wrong);
    if (text[0] >= '0' && text[0] <= '7') {
        size_t n_digit = read_digits(text, n, 3, 8, &code);
        *n_out += put(out + *n_out, code);
        return n_digit;
    }
    if (text[0] == 'N') {
        *ret_wrong = "\\N{...} escapes are not supported";
        return 0;
    }
    out[(*n_out)++] = '\\';
    if ((uint8_t)text[0] < 0x80)
        return out[(*n_out)++] = text[0], 1;
    /* Jinja turns what is not ASCII into escapes before it reads them, so that this backslash takes the first
     * letter of one: the escape stays. It is not longer than the 12 bytes reserved for a character. */
    code = utf8_decode((const uint8_t *)text);
    *n_out += (size_t)sprintf(out + *n_out,
                              code < 0x100     ? "x%02x"
                              : code < 0x10000 ? "u%04x"
                                               : "U%08x",
                              (unsigned)code);
    return utf8_length((uint8_t)text[0]);
}

size_t jinja_literal_string(const char *text, size_t n, struct arena *arena, const char **ret_text,
                            size_t *ret_n, const char **ret_wrong)
{
    enum { LONGEST = 6 }; /* bytes that one byte may become */
    size_t end = 1;
    *ret_wrong = NULL;
    while (end < n && text[end] != text[0])
        end += text[end] == '\\' ? 2 : 1;
    if (end >= n) {
        *ret_wrong = "unexpected char: a string has no end";
        return 0;
    }
    bool has_escape = memchr(text, '\\', end);
    char *out = arena_array(arena, end * (has_escape ? LONGEST : 1), 1);
    if (!out)
        return 0;
    size_t n_out = 0;
    for (size_t i = 1; i < end;) {
        if (text[i] != '\\') {
            out[n_out++] = text[i++];
            continue;
        }
        size_t taken = unescape(text + i + 1, end - i - 1, out, &n_out, ret_wrong);
        if (taken == 0)
            return 0;
        i += 1 + taken;
    }
    *ret_text = out;
    *ret_n = n_out;
    return end + 1;
}

/* ---- numbers ---- */

/* Digits of a base with single underscores between them, from text[0] on. */
static size_t digits_end(const char *text, size_t n, int base)
{
    size_t i = 0;
    while (i < n &&
           (digit(text[i]) < base || (i > 0 && text[i] == '_' && i + 1 < n && digit(text[i + 1]) < base)))
        i++;
    return i;
}

static bool accumulate(const char *text, size_t n, int base, bool negative, int64_t *ret_integer)
{
    int64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '_')
            continue;
        int64_t d = digit(text[i]);
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, negative ? -d : d, &value))
            return false;
    }
    *ret_integer = value;
    return true;
}

static double to_float(const char *text, size_t n)
{
    char copy[MAX_FLOAT + 1];
    size_t n_copy = 0;
    for (size_t i = 0; i < n && n_copy < MAX_FLOAT; i++)
        if (text[i] != '_')
            copy[n_copy++] = text[i];
    copy[n_copy] = '\0';
    return strtod(copy, NULL);
}

/* The end of a float's digits, or 0 where neither a fraction nor an exponent follows the first of them. */
static size_t float_end(const char *text, size_t n, size_t whole)
{
    size_t end = whole;
    if (end < n && text[end] == '.') {
        size_t fraction = digits_end(text + end + 1, n - end - 1, 10);
        end += fraction ? 1 + fraction : 0;
    }
    if (end < n && (text[end] == 'e' || text[end] == 'E')) {
        size_t sign = end + 1 < n && (text[end + 1] == '+' || text[end + 1] == '-');
        size_t exponent = digits_end(text + end + 1 + sign, n - end - 1 - sign, 10);
        end += exponent ? 1 + sign + exponent : 0;
    }
    return end > whole ? end : 0;
}

static int base_of(const char *text, size_t n)
{
    if (n < 2 || text[0] != '0')
        return 10;
    char c = (char)(text[1] | 0x20);
    return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
}

size_t jinja_literal_number(const char *text, size_t n, bool may_float, bool *ret_float, int64_t *ret_integer,
                            double *ret_real, const char **ret_wrong)
{
    size_t whole = digits_end(text, n, 10), end = may_float ? float_end(text, n, whole) : 0;
    *ret_float = end > 0;
    *ret_wrong = NULL;
    if (end > MAX_FLOAT) {
        *ret_wrong = "a number with too many digits";
        return 0;
    }
    if (end) {
        *ret_real = to_float(text, end);
        return end;
    }
    int base = base_of(text, n);
    size_t first = base == 10 ? 0 : 2;
    first += base != 10 && first < n && text[first] == '_';
    size_t n_digit = digits_end(text + first, n - first, base);
    if (n_digit == 0) { /* 0x without a digit is a zero and a name */
        first = 0;
        n_digit = 1;
    }
    if (base == 10 && text[0] == '0') /* a number does not begin with zeros: 007 are two of them */
        for (n_digit = 1; n_digit < n && (text[n_digit] == '0' || (text[n_digit] == '_' && n_digit + 1 < n &&
                                                                   text[n_digit + 1] == '0'));)
            n_digit++;
    if (!accumulate(text + first, n_digit, base, false, ret_integer)) {
        *ret_wrong = "an integer beyond 64 bits";
        return 0;
    }
    return first + n_digit;
}

/* ---- what the filters int and float read ---- */

/* What C calls white space, which is what Python takes off here. */
static bool is_blank(char c)
{
    return c == ' ' || (c >= 9 && c <= 13);
}

/* The text with decimal digits of all scripts as ASCII ones, white space around it left out; 0 for one that
 * is too long or has something else. */
static size_t normalize(const char *text, size_t n, char out[MAX_FLOAT])
{
    size_t n_out = 0;
    for (size_t i = 0; i < n; i += utf8_length((uint8_t)text[i])) {
        uint32_t c = utf8_decode((const uint8_t *)text + i);
        if (c >= 0x80 && jinja_char_is_decimal(c))
            c = (uint32_t)('0' + jinja_char_decimal(c));
        else if (c >= 0x80)
            c = jinja_char_is_space(c) ? ' ' : '?';
        if (c == ' ' && n_out == 0)
            continue;
        if (n_out == MAX_FLOAT)
            return 0;
        out[n_out++] = (char)c;
    }
    size_t from = 0;
    while (from < n_out && is_blank(out[from]))
        from++;
    while (n_out > from && is_blank(out[n_out - 1]))
        n_out--;
    memmove(out, out + from, n_out - from);
    return n_out - from;
}

bool jinja_literal_parse_int(const char *text, size_t n, int base, int64_t *ret_integer, bool *ret_large)
{
    char copy[MAX_FLOAT];
    *ret_large = false;
    n = normalize(text, n, copy);
    text = copy;
    bool negative = n && text[0] == '-';
    if (n && (negative || text[0] == '+')) {
        text++;
        n--;
    }
    int written = base_of(text, n);
    if (written != 10 && (base == 0 || base == written)) {
        text += 2;
        n -= 2;
        base = written;
        if (n && text[0] == '_') {
            text++;
            n--;
        }
    } else if (base == 0) {
        base = 10;
        if (n > 1 && text[0] == '0' && digits_end(text, n, 1) != n)
            return false; /* no zeros before other digits */
    }
    if (n == 0 || digits_end(text, n, base) != n)
        return false;
    *ret_large = !accumulate(text, n, base, negative, ret_integer);
    return true;
}

bool jinja_literal_parse_float(const char *text, size_t n, double *ret_real)
{
    char copy[MAX_FLOAT];
    n = normalize(text, n, copy);
    text = copy;
    size_t sign = n && (text[0] == '-' || text[0] == '+');
    const char *body = text + sign;
    size_t n_body = n - sign;
    bool is_word = (n_body == 3 && (strncasecmp(body, "inf", 3) == 0 || strncasecmp(body, "nan", 3) == 0)) ||
                   (n_body == 8 && strncasecmp(body, "infinity", 8) == 0);
    if (!is_word) {
        size_t whole = digits_end(body, n_body, 10), end = float_end(body, n_body, whole);
        if (whole == 0 && !(n_body > 1 && body[0] == '.' && end))
            return false;
        if (end == 0)
            end = whole;
        if (end < n_body && body[end] == '.') { /* 1. and 1.e5 */
            size_t exponent = float_end(body + end + 1, n_body - end - 1, 0);
            end += 1 + (end == whole && end + 1 < n_body && body[end + 1] != '.' ? exponent : 0);
        }
        if (end != n_body || n > MAX_FLOAT)
            return false;
    }
    *ret_real = to_float(text, n);
    return true;
}
