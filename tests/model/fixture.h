/* What the model tests share: writing and opening models, feeding sequences, comparing rows.
 *
 * Failures end the calling Criterion test. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/json.h"
#include "src/model/model.h"
#include "src/weights/safetensors.h"
#include "tests/support.h"

/* Gates on max |a - b| over max(1, max |b|), a row at a time. */
#define FIXTURE_GATE_HIDDEN 1e-4
#define FIXTURE_GATE_LOGITS 1e-3

/* Links all files of model into dir; of its configurations only config_name (NULL: none), as config.json. */
void fixture_link(const char *dir, const char *model, const char *config_name);

/* Writes model.safetensors of these tensors, in this order. */
struct fixture_tensor {
    const char *name, *type; /* "F32", "F16", "BF16", "I32", "U8" */
    int n_dim;
    int dim[4];
    const void *data; /* NULL: zeros */
};
void fixture_safetensors(const char *dir, const struct fixture_tensor *tensors, size_t n);

/* Opens with room for steps of max_row rows, at a level (NULL: the best). */
struct model *fixture_open(const char *dir, const char *level, int32_t n_thread, int32_t max_row);
/* Likewise with a context of n_ctx positions; 0: the default rule. */
struct model *fixture_open_context(const char *dir, const char *level, int32_t n_thread, int32_t max_row,
                                   int32_t n_ctx);
struct json *fixture_json(const char *dir, const char *name);
/* Whole numbers of a JSON array; *ret_n of them, to be freed. */
int32_t *fixture_ids(const struct json *array, int32_t *ret_n);

/* A sequence on pages of its own, which lie in the pool from the last one down or from the first one up. */
struct sequence {
    struct model *model;
    int32_t *pages, *window_pages; /* the latter in turn */
    int32_t n_tok;                 /* fed so far */
    int32_t length;                /* that it may reach: the model's, unless changed before the first token */
    float *logits;                 /* of the last row fed */
    /* After sequence_record, of each row fed from record_from on; chunks may then have MODEL_MAX_LOGIT_ROW
     * rows: */
    int32_t record_from; /* position */
    float *all_logits;   /* [rows][n_vocab] */
    float **hidden;      /* [n_layer + 1][rows][dim]: what enters each block; after the final norm */
};

struct sequence *sequence_new(struct model *model, bool from_first);
struct sequence *sequence_free(struct sequence *s);
/* Makes room for all logits and hidden states of n_row positions. */
void sequence_record(struct sequence *s, int32_t n_row);
/* Feeds n tokens, at most chunk a step. */
void sequence_feed(struct sequence *s, const int32_t *tokens, int32_t n, int32_t chunk);
/* The best token of the last row; ties to the lowest id. */
int32_t sequence_best(const struct sequence *s);
/* Feeds the best token again and again: n ids. */
void sequence_greedy(struct sequence *s, int32_t *ret_ids, int32_t n);

/* max |a - b| / max(1, max |b|) over n values. Fails on NaN. */
double fixture_deviation(const float *a, const float *b, size_t n);
/* log softmax of a row at id, in double. */
double fixture_logprob(const float *logits, int32_t n_vocab, int32_t id);
