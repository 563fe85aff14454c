/* What needs a tokenizer and no server: text to ids and back, for one text or for JSON objects, one a line.
 *
 * Lines are answered in their order, each as soon as it was read; what is wrong with one is its answer,
 * {"error": "..."}. Failures are printed where they happen; functions return 0 or the exit status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct offline_encoding {
    const char *tokenizer;           /* directory or file */
    const char *text;                /* NULL: standard input */
    bool add_special, parse_special; /* of lines: where the line does not say */
    const char *invalid_utf8;        /* NULL: "error" */
    bool pieces, count;              /* print what each id stands for; only how many there are */
    bool json, jsonl;
};

int offline_encode(const struct offline_encoding *e);

struct offline_decoding {
    const char *tokenizer;
    const int32_t *ids; /* [n]; without jsonl */
    size_t n;
    bool return_special; /* of lines: where the line does not say */
    bool json, jsonl;
};

int offline_decode(const struct offline_decoding *d);

/* A usage error: --jsonl without --tokenizer. */
int offline_needs_tokenizer(void);
