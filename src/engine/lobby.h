/* The jobs that were submitted and do not run yet. Shared by the server's thread and the engine's.
 *
 * Whoever takes a job out of it says how it goes on: the engine, which admits or refuses it, or the server's
 * thread, which cancels it. So it ends once, and one that waits can be cancelled at once, though the engine
 * be in the middle of a step or of the load. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lobby_entry {
    uint64_t job;
    int64_t submitted_us;
    int64_t n_prompt; /* 0: not known yet */
    uint64_t seed;    /* 0: none was given */
};

struct lobby {
    pthread_mutex_t lock;
    struct lobby_entry *entries;
    size_t n, capacity;
};

int lobby_init(struct lobby *l, size_t capacity); /* of jobs, at first. 0 or -errno */
void lobby_deinit(struct lobby *l);
int lobby_add(struct lobby *l, const struct lobby_entry *entry); /* 0 or -ENOMEM */
/* Notes the length of a job's prompt, if it is still there. */
void lobby_note(struct lobby *l, uint64_t job, int64_t n_prompt);
/* Takes a job out. False: it is not there any more. ret_entry may be NULL. */
bool lobby_take(struct lobby *l, uint64_t job, struct lobby_entry *ret_entry);
