/* A set of byte strings that is walked byte by byte: which of them does a text begin with?
 *
 * One hash table holds all edges, so that building takes time linear in the bytes and a step is one look-up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    TRIE_ROOT = 0,
    TRIE_NONE = -1,
    TRIE_MAX_NODES = 1 << 28,
};

struct trie_edge {
    uint32_t parent, child; /* child is TRIE_ROOT in a free slot: no edge leads there */
    uint8_t byte;
};

struct trie {
    struct trie_edge *edges; /* [mask + 1], open addressing, at most half full */
    size_t mask;
    int32_t *values; /* [capacity] of the nodes, TRIE_NONE where no string ends */
    size_t n_node, capacity;
};

#define TRIE_NULL \
    {             \
        0         \
    }

void trie_deinit(struct trie *t);
/* Adds a string (not empty) with a value of 0 or more; of equal strings the first one stays. 0, -ENOMEM (also
 * for more than TRIE_MAX_NODES nodes). */
int trie_add(struct trie *t, const uint8_t *s, size_t n, int32_t value);

/* The node that a byte leads to, or TRIE_ROOT where none does. */
static inline uint32_t trie_step(const struct trie *t, uint32_t node, uint8_t byte)
{
    if (!t->edges)
        return TRIE_ROOT;
    uint64_t key = ((uint64_t)node << 8 | byte) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = (size_t)(key >> 32) & t->mask;; i = (i + 1) & t->mask) {
        const struct trie_edge *e = &t->edges[i];
        if (e->child == TRIE_ROOT || (e->parent == node && e->byte == byte))
            return e->child;
    }
}
