/* What the server remembers of a request that the engine works on.
 *
 * The engine names a job by number; here the number leads to the connection that asked and to the id by which
 * it asked. A connection owns its tickets and takes them along when it ends, so that what the engine still
 * says about them finds nobody. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "proto/proto.h"
#include "src/engine/job.h"

struct peer;

struct ticket {
    TAILQ_ENTRY(ticket) of_peer, in_order;
    LIST_ENTRY(ticket) in_bucket;
    struct peer *peer;
    uint64_t job;
    int64_t id;
    enum job_kind kind;
    bool runs;           /* its prompt is being computed, or more */
    bool shows_progress; /* the client wants progress frames */
    bool shows_pieces;   /* of tokenize: it wants the bytes of each token */
    size_t n_byte;       /* charged to the user */
    size_t n_trace_id;
    char trace_id[PROTO_MAX_TRACE_ID];
};

TAILQ_HEAD(ticket_list, ticket);

enum { TICKET_N_BUCKET = 1024 }; /* numbers are handed out in a row, so they spread evenly */

struct ticket_table {
    LIST_HEAD(, ticket) buckets[TICKET_N_BUCKET];
    struct ticket_list all; /* the oldest first */
    uint64_t last_job;
    int32_t n_generate;
};

void ticket_init(struct ticket_table *table);
/* A ticket with a new number, in the table and in the peer's list. NULL: out of memory. */
struct ticket *ticket_new(struct ticket_table *table, struct peer *peer, struct ticket_list *of_peer,
                          int64_t id, enum job_kind kind);
/* Takes it out of both lists. */
struct ticket *ticket_free(struct ticket_table *table, struct ticket_list *of_peer, struct ticket *ticket);

/* NULL: there is none. */
struct ticket *ticket_find(const struct ticket_table *table, uint64_t job);
struct ticket *ticket_find_id(const struct ticket_list *of_peer, int64_t id);
