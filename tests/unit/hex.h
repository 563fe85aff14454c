/* Bytes written as hexadecimal digits, for tests of the wire. */
#pragma once

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hex {
    uint8_t *data;
    size_t n;
};

/* Digits in pairs, white space anywhere between them; 'text' stands for its own bytes. Freed by the caller.
 * An exact allocation, so that a sanitizer sees a read beyond the end. */
static inline struct hex hex_parse(const char *s)
{
    struct hex hex = {malloc(strlen(s) + 1), 0};
    while (*s) {
        if (isspace((unsigned char)*s)) {
            s++;
        } else if (*s == '\'') {
            for (s++; *s != '\''; s++)
                hex.data[hex.n++] = (uint8_t)*s;
            s++;
        } else {
            unsigned byte;
            int taken = 0;
            int r = sscanf(s, "%2x%n", &byte, &taken);
            assert(r == 1 && taken == 2);
            (void)r;
            hex.data[hex.n++] = (uint8_t)byte;
            s += 2;
        }
    }
    uint8_t *exact = malloc(hex.n ? hex.n : 1);
    memcpy(exact, hex.data, hex.n);
    free(hex.data);
    hex.data = exact;
    return hex;
}

/* A file of such digits below tests/data/golden-frames, "name" without its ending; n is 0 if there is none.
 */
static inline struct hex hex_golden(const char *name)
{
    const char *srcdir = getenv("srcdir");
    char path[512], text[65536];
    snprintf(path, sizeof path, "%s/tests/data/golden-frames/%s.hex", srcdir ? srcdir : ".", name);
    FILE *f = fopen(path, "r");
    if (!f)
        return (struct hex){calloc(1, 1), 0};
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return hex_parse(text);
}
