/* A set of byte strings: see trie.h. */
#include "config.h"
#include "src/text/trie.h"

#include <errno.h>
#include <stdlib.h>

#include "src/base/mem.h"

enum { FIRST_EDGES = 1024, FIRST_NODES = 256 };

void trie_deinit(struct trie *t)
{
    free(t->edges);
    free(t->values);
    *t = (struct trie)TRIE_NULL;
}

static void put(struct trie *t, struct trie_edge edge)
{
    uint64_t key = ((uint64_t)edge.parent << 8 | edge.byte) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(key >> 32) & t->mask;
    while (t->edges[i].child != TRIE_ROOT)
        i = (i + 1) & t->mask;
    t->edges[i] = edge;
}

static int grow_edges(struct trie *t)
{
    struct trie old = *t;
    size_t n = old.edges ? 2 * (old.mask + 1) : FIRST_EDGES;
    struct trie_edge *edges = mem_array(n, sizeof *edges);
    if (!edges)
        return -ENOMEM;
    t->edges = edges;
    t->mask = n - 1;
    for (size_t i = 0; old.edges && i <= old.mask; i++)
        if (old.edges[i].child != TRIE_ROOT)
            put(t, old.edges[i]);
    free(old.edges);
    return 0;
}

static int new_node(struct trie *t, uint32_t *ret)
{
    if (t->n_node == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : FIRST_NODES;
        int32_t *values = t->n_node < TRIE_MAX_NODES ? mem_resize(t->values, capacity, sizeof *values) : NULL;
        if (!values)
            return -ENOMEM;
        t->values = values;
        t->capacity = capacity;
    }
    *ret = (uint32_t)t->n_node;
    t->values[t->n_node++] = TRIE_NONE;
    return 0;
}

int trie_add(struct trie *t, const uint8_t *s, size_t n, int32_t value)
{
    uint32_t node = TRIE_ROOT;
    int r = t->n_node ? 0 : new_node(t, &node);
    for (size_t i = 0; i < n && r == 0; i++) {
        uint32_t next = trie_step(t, node, s[i]);
        if (next == TRIE_ROOT) {
            if (!t->edges || 2 * t->n_node > t->mask)
                r = grow_edges(t);
            if (r == 0)
                r = new_node(t, &next);
            if (r == 0)
                put(t, (struct trie_edge){.parent = node, .child = next, .byte = s[i]});
        }
        node = next;
    }
    if (r == 0 && t->values[node] == TRIE_NONE)
        t->values[node] = value;
    return r;
}
