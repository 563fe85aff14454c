/* The pieces of a vocabulary, by id and by spelling. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"

enum {
    VOCAB_MAX_IDS = 1 << 22,    /* the largest vocabularies have 262,144 pieces */
    VOCAB_MAX_PIECE = 1 << 14,  /* bytes of one piece */
    VOCAB_MAX_POOL = 256 << 20, /* bytes of all pieces */
    VOCAB_NONE = -1,
};

/* What vocab_add refuses. */
enum {
    VOCAB_E_ID = 1,       /* the id is negative or beyond VOCAB_MAX_IDS */
    VOCAB_E_ID_TAKEN = 2, /* another piece has this id */
    VOCAB_E_SPELLING = 3, /* another id has this spelling */
    VOCAB_E_TOO_LONG = 4, /* over VOCAB_MAX_PIECE, or all together over VOCAB_MAX_POOL */
};

struct vocab_piece {
    uint32_t at; /* in the pool */
    uint16_t n;  /* UINT16_MAX where no piece has this id */
    bool found;  /* by its spelling */
};

struct vocab_slot {
    uint32_t hash;
    int32_t id; /* VOCAB_NONE: free */
};

struct vocab {
    struct buf pool;
    struct vocab_piece *pieces; /* [capacity], those below n_id are set */
    size_t n_id, capacity;      /* n_id: largest id + 1 */
    size_t n_piece, longest;    /* pieces that are found; bytes of the longest of all */
    struct vocab_slot *slots;   /* [mask + 1], open addressing, at most half full */
    size_t mask;
};

#define VOCAB_NULL \
    {              \
        0          \
    }

void vocab_deinit(struct vocab *v);
/* Copies a piece. 0, a VOCAB_E_ code, -ENOMEM. */
int vocab_add(struct vocab *v, const void *piece, size_t n, int64_t id);
/* The same for a piece that vocab_find does not find: the model does not know it. */
int vocab_add_hidden(struct vocab *v, const void *piece, size_t n, int64_t id);
/* What a VOCAB_E_ code says: "another piece has this id". */
const char *vocab_error(int code);
/* The id of a spelling, or VOCAB_NONE. */
int32_t vocab_find(const struct vocab *v, const void *piece, size_t n);
/* The same for two parts written one after the other. */
int32_t vocab_find_pair(const struct vocab *v, const void *left, size_t n_left, const void *right,
                        size_t n_right);
/* The same where the answer is often this id or the one behind it, which are looked at first. */
int32_t vocab_find_near(const struct vocab *v, int32_t id, const void *left, size_t n_left, const void *right,
                        size_t n_right);
/* Whether vocab_find leads to this id. */
bool vocab_is_found(const struct vocab *v, int32_t id);
/* The spelling of an id (not NUL-terminated), or NULL. */
const uint8_t *vocab_piece(const struct vocab *v, int32_t id, size_t *ret_n);
