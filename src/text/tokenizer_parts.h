/* What a tokenizer is made of; for the files of this folder. The face is tokenizer.h. */
#pragma once

#include <stdbool.h>

#include "src/base/arena.h"
#include "src/text/added.h"
#include "src/text/bpe.h"
#include "src/text/decode.h"
#include "src/text/normalize.h"
#include "src/text/post.h"
#include "src/text/pretok.h"
#include "src/text/tokenizer.h"
#include "src/text/vocab.h"

struct tokenizer {
    struct arena arena;        /* strings of the components */
    struct vocab vocab;        /* those added tokens that the model does not know are hidden in it */
    struct added_token *added; /* [n_added] */
    size_t n_added;
    struct added_index raw, normalized; /* of the added tokens */
    bool *special;                      /* [vocab.n_id] */
    struct normalize normalize;
    struct pretok pretok;
    struct bpe bpe;
    struct post post;
    struct decode decode;
};
