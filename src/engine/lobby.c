/* The jobs that were submitted and do not run yet: see lobby.h. */
#include "config.h"
#include "src/engine/lobby.h"

#include <errno.h>
#include <stdlib.h>

#include "src/base/mem.h"

int lobby_init(struct lobby *l, size_t capacity)
{
    *l = (struct lobby){.entries = mem_array(capacity, sizeof *l->entries), .capacity = capacity};
    return l->entries ? -pthread_mutex_init(&l->lock, NULL) : -ENOMEM;
}

void lobby_deinit(struct lobby *l)
{
    if (!l->entries)
        return;
    pthread_mutex_destroy(&l->lock);
    free(l->entries);
}

/* Room for one more. */
static bool grow(struct lobby *l)
{
    if (l->n < l->capacity)
        return true;
    size_t capacity = 2 * l->capacity + 1;
    struct lobby_entry *entries = mem_resize(l->entries, capacity, sizeof *entries);
    if (!entries)
        return false;
    l->entries = entries;
    l->capacity = capacity;
    return true;
}

static struct lobby_entry *find(const struct lobby *l, uint64_t job)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->entries[i].job == job)
            return &l->entries[i];
    return NULL;
}

int lobby_add(struct lobby *l, const struct lobby_entry *entry)
{
    pthread_mutex_lock(&l->lock);
    bool has_room = grow(l);
    if (has_room)
        l->entries[l->n++] = *entry;
    pthread_mutex_unlock(&l->lock);
    return has_room ? 0 : -ENOMEM;
}

void lobby_note(struct lobby *l, uint64_t job, int64_t n_prompt)
{
    pthread_mutex_lock(&l->lock);
    struct lobby_entry *entry = find(l, job);
    if (entry)
        entry->n_prompt = n_prompt;
    pthread_mutex_unlock(&l->lock);
}

bool lobby_take(struct lobby *l, uint64_t job, struct lobby_entry *ret_entry)
{
    pthread_mutex_lock(&l->lock);
    struct lobby_entry *entry = find(l, job);
    if (entry && ret_entry)
        *ret_entry = *entry;
    if (entry)
        *entry = l->entries[--l->n];
    pthread_mutex_unlock(&l->lock);
    return entry != NULL;
}
