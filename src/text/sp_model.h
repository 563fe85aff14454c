/* SentencePiece's tokenizer.model: a protocol buffer (sentencepiece_model.proto), read by a small bounded
 * reader of our own. Strings stay where they are in the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

enum {
    SP_MODEL_MAX_BYTES = 256 << 20,
};

/* The numbers are the format's, and those of GGUF's token types. */
enum sp_type {
    SP_NORMAL = 1,
    SP_UNKNOWN = 2,
    SP_CONTROL = 3,
    SP_USER_DEFINED = 4,
    SP_UNUSED = 5,
    SP_BYTE = 6,
};

enum sp_algorithm { SP_UNIGRAM = 1, SP_BPE = 2, SP_WORD = 3, SP_CHAR = 4 };

struct sp_string {
    const char *s; /* not NUL-terminated */
    size_t n;
};

struct sp_piece {
    struct sp_string text;
    float score;
    enum sp_type type;
};

struct sp_model {
    struct sp_piece *pieces; /* [n_piece], the index is the id */
    size_t n_piece, capacity;
    enum sp_algorithm algorithm;
    bool byte_fallback;
    struct sp_string bos, eos; /* how these control pieces are spelled */
    struct sp_string charsmap;
    bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
    bool whitespace_as_suffix;
    /* What no file says, but who makes a model from elsewhere: */
    int32_t unk;     /* the id for what has no piece, or -1: the piece of type unknown */
    bool user_added; /* user-defined pieces are found before the text is normalized, like special tokens */
    bool lenient;    /* unknown and byte pieces may be missing, unused pieces are normal ones, and a piece may
                        be empty: GGUF */
};

/* What the format says of a model that says nothing. */
#define SP_MODEL_NULL                                                                             \
    {                                                                                             \
        .algorithm = SP_UNIGRAM, .bos = {"<s>", 3}, .eos = {"</s>", 4}, .add_dummy_prefix = true, \
        .remove_extra_whitespaces = true, .escape_whitespaces = true, .unk = -1                   \
    }

/* Reads n bytes, which must stay, into a model that is SP_MODEL_NULL. 0, EX_DATAERR with the place, -ENOMEM;
 * the caller calls sp_model_deinit in any case. */
int sp_model_read(struct sp_model *m, const void *data, size_t n, struct why *why);
void sp_model_deinit(struct sp_model *m);
/* Appends a piece. 0, EX_DATAERR (too many), -ENOMEM. */
int sp_model_push(struct sp_model *m, const struct sp_piece *piece, struct why *why);
