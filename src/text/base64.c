/* Base64: see base64.h. */
#include "config.h"
#include "src/text/base64.h"

static int sextet(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

bool base64_decode(const char *s, size_t n, uint8_t *out, size_t *ret_n)
{
    size_t n_code = n, n_byte = 0;
    uint32_t bits = 0;
    while (n_code > 0 && n - n_code < 2 && s[n_code - 1] == '=')
        n_code--;
    if (n % 4 != 0)
        return false;
    for (size_t i = 0; i < n_code; i++) {
        int six = sextet(s[i]);
        if (six < 0)
            return false;
        bits = bits << 6 | (uint32_t)six;
        if (i % 4 != 0)
            out[n_byte++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *ret_n = n_byte;
    return true;
}
