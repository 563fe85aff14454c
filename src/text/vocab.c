/* The pieces of a vocabulary: see vocab.h. */
#include "config.h"
#include "src/text/vocab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

enum { FIRST_SLOTS = 1024 };

void vocab_deinit(struct vocab *v)
{
    buf_deinit(&v->pool);
    free(v->pieces);
    free(v->slots);
    *v = (struct vocab)VOCAB_NULL;
}

/* Eight bytes at a time through a multiplication (the finaliser of MurmurHash3 mixes alike). A hash of two
 * parts must equal that of the whole, so bytes are gathered into words across the border. */
struct hasher {
    uint64_t state, word;
    unsigned n;
};

static uint64_t mix(uint64_t state, uint64_t word)
{
    state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ state >> 29;
}

static void hasher_push(struct hasher *h, const uint8_t *data, size_t n)
{
    if (h->n == 0) {
        for (uint64_t word; n >= sizeof word; data += sizeof word, n -= sizeof word) {
            memcpy(&word, data, sizeof word);
            h->state = mix(h->state, word);
        }
    }
    for (size_t i = 0; i < n; i++) {
        h->word |= (uint64_t)data[i] << 8 * h->n;
        if (++h->n == 8) {
            h->state = mix(h->state, h->word);
            h->word = 0;
            h->n = 0;
        }
    }
}

static uint32_t hasher_end(const struct hasher *h)
{
    uint64_t state = mix(h->state, h->word | (uint64_t)h->n << 60);
    return (uint32_t)(state >> 32);
}

static bool is_spelled(const struct vocab *v, int32_t id, const void *left, size_t n_left, const void *right,
                       size_t n_right)
{
    const struct vocab_piece *p = &v->pieces[id];
    const uint8_t *spelling = v->pool.data + p->at;
    return p->n == n_left + n_right && memcmp(spelling, left, n_left) == 0 &&
           memcmp(spelling + n_left, right, n_right) == 0;
}

static uint32_t hash_pair(const void *left, size_t n_left, const void *right, size_t n_right)
{
    struct hasher h = {0};
    hasher_push(&h, left, n_left);
    hasher_push(&h, right, n_right);
    return hasher_end(&h);
}

static int32_t find_hashed(const struct vocab *v, uint32_t hash, const void *left, size_t n_left,
                           const void *right, size_t n_right)
{
    if (!v->slots)
        return VOCAB_NONE;
    for (size_t i = hash & v->mask; v->slots[i].id != VOCAB_NONE; i = (i + 1) & v->mask)
        if (v->slots[i].hash == hash && is_spelled(v, v->slots[i].id, left, n_left, right, n_right))
            return v->slots[i].id;
    return VOCAB_NONE;
}

int32_t vocab_find_pair(const struct vocab *v, const void *left, size_t n_left, const void *right,
                        size_t n_right)
{
    if (n_left > v->longest || n_right > v->longest - n_left)
        return VOCAB_NONE;
    return find_hashed(v, hash_pair(left, n_left, right, n_right), left, n_left, right, n_right);
}

bool vocab_is_found(const struct vocab *v, int32_t id)
{
    return id >= 0 && (size_t)id < v->n_id && v->pieces[id].found;
}

int32_t vocab_find_near(const struct vocab *v, int32_t id, const void *left, size_t n_left, const void *right,
                        size_t n_right)
{
    for (int32_t near = id; near <= id + 1; near++)
        if (vocab_is_found(v, near) && is_spelled(v, near, left, n_left, right, n_right))
            return near;
    return vocab_find_pair(v, left, n_left, right, n_right);
}

int32_t vocab_find(const struct vocab *v, const void *piece, size_t n)
{
    return vocab_find_pair(v, piece, n, "", 0);
}

static void put_slot(struct vocab_slot *slots, size_t mask, struct vocab_slot slot)
{
    size_t i = slot.hash & mask;
    while (slots[i].id != VOCAB_NONE)
        i = (i + 1) & mask;
    slots[i] = slot;
}

static int grow_slots(struct vocab *v)
{
    size_t n = v->slots ? 2 * (v->mask + 1) : FIRST_SLOTS;
    struct vocab_slot *slots = mem_resize(NULL, n, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        slots[i].id = VOCAB_NONE;
    for (size_t i = 0; v->slots && i <= v->mask; i++)
        if (v->slots[i].id != VOCAB_NONE)
            put_slot(slots, n - 1, v->slots[i]);
    free(v->slots);
    v->slots = slots;
    v->mask = n - 1;
    return 0;
}

static int grow_ids(struct vocab *v, size_t n_id)
{
    if (n_id > v->capacity) {
        size_t capacity = v->capacity ? v->capacity : FIRST_SLOTS;
        while (capacity < n_id)
            capacity *= 2;
        struct vocab_piece *pieces = realloc(v->pieces, capacity * sizeof *pieces);
        if (!pieces)
            return -ENOMEM;
        v->pieces = pieces;
        v->capacity = capacity;
    }
    for (; v->n_id < n_id; v->n_id++)
        v->pieces[v->n_id] = (struct vocab_piece){.n = UINT16_MAX};
    return 0;
}

/* Copies a piece without making it known by its spelling. */
int vocab_add_hidden(struct vocab *v, const void *piece, size_t n, int64_t id)
{
    if (id < 0 || id >= VOCAB_MAX_IDS)
        return VOCAB_E_ID;
    if (n > VOCAB_MAX_PIECE || n > VOCAB_MAX_POOL - v->pool.n)
        return VOCAB_E_TOO_LONG;
    if ((size_t)id < v->n_id && v->pieces[id].n != UINT16_MAX)
        return VOCAB_E_ID_TAKEN;
    uint32_t at = (uint32_t)v->pool.n;
    int r = grow_ids(v, (size_t)id + 1);
    if (r == 0)
        r = buf_reserve(&v->pool, n + 1); /* an empty piece, too, has an address */
    if (r == 0)
        r = buf_push(&v->pool, piece, n);
    if (r)
        return r;
    v->pieces[id] = (struct vocab_piece){.at = at, .n = (uint16_t)n};
    if (n > v->longest)
        v->longest = n;
    return 0;
}

int vocab_add(struct vocab *v, const void *piece, size_t n, int64_t id)
{
    uint32_t hash = hash_pair(piece, n, "", 0);
    if (find_hashed(v, hash, piece, n, "", 0) != VOCAB_NONE)
        return VOCAB_E_SPELLING;
    int r = 2 * (v->n_piece + 1) > v->mask + 1 ? grow_slots(v) : 0;
    if (r == 0)
        r = vocab_add_hidden(v, piece, n, id);
    if (r)
        return r;
    put_slot(v->slots, v->mask, (struct vocab_slot){.hash = hash, .id = (int32_t)id});
    v->pieces[id].found = true;
    v->n_piece++;
    return 0;
}

const char *vocab_error(int code)
{
    return code == VOCAB_E_ID         ? "its id is out of range"
           : code == VOCAB_E_ID_TAKEN ? "another piece has its id"
           : code == VOCAB_E_SPELLING ? "it is there twice"
           : code == VOCAB_E_TOO_LONG ? "it is too long"
                                      : "out of memory";
}

const uint8_t *vocab_piece(const struct vocab *v, int32_t id, size_t *ret_n)
{
    *ret_n = 0;
    if (id < 0 || (size_t)id >= v->n_id || v->pieces[id].n == UINT16_MAX)
        return NULL;
    *ret_n = v->pieces[id].n;
    return v->pool.data + v->pieces[id].at;
}
