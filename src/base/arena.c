/* Memory of objects that die together: see arena.h. */
#include "config.h"
#include "src/base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

enum {
    ALIGNMENT = _Alignof(max_align_t),
    BLOCK_BYTES = 64 * 1024,       /* picked, not measured */
    LARGE_BYTES = BLOCK_BYTES / 4, /* an object above this has a block of its own */
};

/* Blocks of calloc, so that what is handed out is zero. The first in the list is the one being filled. */
struct arena_block {
    struct arena_block *next;
    size_t n, capacity; /* bytes of data */
    max_align_t data[];
};

static struct arena_block *block_new(size_t capacity)
{
    if (capacity > SIZE_MAX - sizeof(struct arena_block))
        return NULL;
    struct arena_block *block = calloc(1, sizeof *block + capacity);
    if (block)
        block->capacity = capacity;
    return block;
}

static void *block_take(struct arena_block *block, size_t bytes)
{
    char *p = (char *)block->data + block->n;
    block->n += bytes;
    return p;
}

/* A block for one object, put behind the one being filled. */
static void *take_large(struct arena *arena, size_t bytes)
{
    struct arena_block *block = block_new(bytes);
    if (!block)
        return NULL;
    struct arena_block **place = arena->blocks ? &arena->blocks->next : &arena->blocks;
    block->next = *place;
    *place = block;
    return block_take(block, bytes);
}

void *arena_array(struct arena *arena, size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes) || bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (bytes == 0)
        bytes = ALIGNMENT; /* distinct objects have distinct addresses */
    if (bytes > LARGE_BYTES)
        return take_large(arena, bytes);
    if (!arena->blocks || bytes > arena->blocks->capacity - arena->blocks->n) {
        struct arena_block *block = block_new(BLOCK_BYTES);
        if (!block)
            return NULL;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block_take(arena->blocks, bytes);
}

char *arena_strdup(struct arena *arena, const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = arena_array(arena, n, 1);
    return copy ? memcpy(copy, s, n) : NULL;
}

void arena_deinit(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->blocks = NULL;
}
