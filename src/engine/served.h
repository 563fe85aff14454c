/* What is served: the model, its tokenizer, its chat template, the ids that end an answer, the sampling
 * defaults. Written once while it is loaded, read by all threads afterwards (the model computes on the
 * engine's thread alone). */
#pragma once

#include "src/base/err.h"
#include "src/model/model.h"
#include "src/sample/sampler.h"
#include "src/text/chat_format.h"
#include "src/text/chat_template.h"
#include "src/text/tokenizer.h"

enum { SERVED_MAX_END = MODEL_MAX_END + 1 };

struct served {
    struct model *model;
    const struct model_info *info;
    struct tokenizer *tokenizer; /* NULL: the model has none, it is served by ids */
    struct chat_template *chat;  /* NULL: it has none that could be used, as no_chat says */
    struct why no_chat;
    bool *control;                  /* tokens that only the template may write (tokenizer_find_control) */
    struct chat_format chat_format; /* how it marks thoughts and calls */
    bool takes_parts;               /* the template reads text that comes in parts */
    size_t max_piece, max_out;      /* bytes of the longest piece; that one token may add to a text */
    int32_t end[SERVED_MAX_END];
    int32_t n_end;
    struct sampler_params defaults;
};

#define SERVED_NULL \
    {               \
        0           \
    }

/* Loads the model, and its tokenizer on a thread of its own meanwhile. Codes as model_open; EX_DATAERR too
 * where the tokenizer is broken or has more tokens than the model has embedding rows. */
int served_load(struct served *served, const struct model_options *options, model_progress_fn progress,
                void *ctx, struct why *why);
/* The same for a look at it: everything is checked, nothing is computed or committed (see model_check). */
int served_check(struct served *served, const struct model_options *options, struct why *why);
void served_deinit(struct served *served);
