/* What the server remembers of a request that the engine works on: see ticket.h. */
#include "config.h"
#include "src/server/ticket.h"

#include <stdlib.h>

void ticket_init(struct ticket_table *table)
{
    *table = (struct ticket_table){0};
    TAILQ_INIT(&table->all);
}

struct ticket *ticket_new(struct ticket_table *table, struct peer *peer, struct ticket_list *of_peer,
                          int64_t id, enum job_kind kind)
{
    struct ticket *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->peer = peer;
    t->job = ++table->last_job;
    t->id = id;
    t->kind = kind;
    table->n_generate += kind == JOB_GENERATE;
    TAILQ_INSERT_TAIL(of_peer, t, of_peer);
    TAILQ_INSERT_TAIL(&table->all, t, in_order);
    LIST_INSERT_HEAD(&table->buckets[t->job % TICKET_N_BUCKET], t, in_bucket);
    return t;
}

struct ticket *ticket_free(struct ticket_table *table, struct ticket_list *of_peer, struct ticket *ticket)
{
    if (!ticket)
        return NULL;
    table->n_generate -= ticket->kind == JOB_GENERATE;
    TAILQ_REMOVE(of_peer, ticket, of_peer);
    TAILQ_REMOVE(&table->all, ticket, in_order);
    LIST_REMOVE(ticket, in_bucket);
    free(ticket);
    return NULL;
}

struct ticket *ticket_find(const struct ticket_table *table, uint64_t job)
{
    struct ticket *t;
    LIST_FOREACH(t, &table->buckets[job % TICKET_N_BUCKET], in_bucket)
    {
        if (t->job == job)
            return t;
    }
    return NULL;
}

struct ticket *ticket_find_id(const struct ticket_list *of_peer, int64_t id)
{
    struct ticket *t;
    TAILQ_FOREACH(t, of_peer, of_peer)
    {
        if (t->id == id)
            return t;
    }
    return NULL;
}
