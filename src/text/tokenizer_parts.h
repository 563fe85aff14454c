/* What a tokenizer is made of, and what its readers (tokenizer_file.h, tokenizer_sp.h, tokenizer_gguf.h,
 * tokenizer_ranks.h) share. The face is tokenizer.h. */
#pragma once

#include <stdbool.h>

#include "src/base/arena.h"
#include "src/text/added.h"
#include "src/text/bpe.h"
#include "src/text/decode.h"
#include "src/text/normalize.h"
#include "src/text/post.h"
#include "src/text/pretok.h"
#include "src/text/sp_merge.h"
#include "src/text/sp_normalize.h"
#include "src/text/tokenizer.h"
#include "src/text/unigram.h"
#include "src/text/vocab.h"

enum tokenizer_model { TOKENIZER_BPE, TOKENIZER_UNIGRAM, TOKENIZER_SP_MERGE };

enum { TOKENIZER_MAX_ENDS = 8 };

/* What only SentencePiece models have. */
struct tokenizer_sp {
    struct sp_normalize normalize; /* comes before `normalize` of the tokenizer, which then has no steps */
    struct added_index kept;       /* user-defined pieces */
    struct sp_merge merge;
    float *scores; /* [vocab.n_id] */
    bool *unused;  /* [vocab.n_id] */
    /* transformers' `legacy: false`: only the beginning of the whole text is a beginning, and it gets a
     * space mark where `prefix` says so; else each text between special tokens is a text of its own. */
    bool modern, prefix;     /* prefix only with modern */
    int32_t mark;            /* the piece that is a space mark, or VOCAB_NONE */
    struct token_list named; /* special tokens that the configuration has a name for */
};

struct tokenizer {
    struct arena arena;        /* strings of the components */
    struct vocab vocab;        /* those added tokens that the model does not know are hidden in it */
    struct added_token *added; /* [n_added] */
    size_t n_added, added_capacity;
    struct added_index raw, normalized; /* of the added tokens */
    bool *special;                      /* [vocab.n_id] */
    struct normalize normalize;
    struct pretok pretok;
    bool is_sp; /* `sp` is in use */
    struct tokenizer_sp sp;
    enum tokenizer_model model;
    struct bpe bpe;
    struct unigram unigram;
    struct post post;
    struct decode decode;
    int32_t ends[TOKENIZER_MAX_ENDS]; /* [n_end] */
    size_t n_end;
};

/* Appends a copy of an added token whose content is n > 0 bytes that stay; an empty one is dropped, for it is
 * never found. 0, EX_DATAERR (too many, too long), -ENOMEM. */
int tokenizer_parts_push_added(struct tokenizer *t, const struct added_token *token, struct why *why);
/* Gives the added tokens that are no pieces their ids, checks and indexes all of them. The normalizer and the
 * vocabulary must be there. 0, EX_DATAERR, -ENOMEM. */
int tokenizer_parts_seal_added(struct tokenizer *t, struct why *why);
/* Bytes of a name in a sentence: all, or those that fit. */
int tokenizer_parts_shown(size_t n);
/* Adds an id at which a text ends; one that is there already, or VOCAB_NONE, changes nothing. */
void tokenizer_parts_add_end(struct tokenizer *t, int32_t id);
