/* Which connection asked for which job: src/server/ticket.c. */
#include "config.h"
#include "src/server/ticket.h"

#include <criterion/criterion.h>

Test(ticket, is_found_by_number_and_by_id_until_it_is_gone)
{
    struct ticket_table *table = calloc(1, sizeof *table);
    struct ticket_list one, two;
    ticket_init(table);
    TAILQ_INIT(&one);
    TAILQ_INIT(&two);
    struct ticket *a = ticket_new(table, NULL, &one, 7, JOB_GENERATE);
    struct ticket *b = ticket_new(table, NULL, &two, 7, JOB_TOKENIZE);
    cr_assert_neq(a->job, 0);
    cr_assert_neq(a->job, b->job);
    cr_assert_eq(table->n_generate, 1);
    cr_assert_eq(ticket_find(table, a->job), a);
    cr_assert_eq(ticket_find(table, b->job), b);
    cr_assert_eq(ticket_find_id(&one, 7), a);
    cr_assert_eq(ticket_find_id(&two, 7), b);
    cr_assert_null(ticket_find_id(&one, 8));
    cr_assert_null(ticket_find(table, b->job + 1));

    uint64_t job = a->job;
    ticket_free(table, &one, a);
    cr_assert_null(ticket_find(table, job));
    cr_assert_null(ticket_find_id(&one, 7));
    cr_assert_eq(table->n_generate, 0);
    cr_assert_eq(TAILQ_FIRST(&table->all), b);
    ticket_free(table, &two, b);
    free(table);
}

Test(ticket, numbers_that_share_a_bucket_are_kept_apart)
{
    struct ticket_table *table = calloc(1, sizeof *table);
    struct ticket_list list;
    ticket_init(table);
    TAILQ_INIT(&list);
    enum { N = 3 * TICKET_N_BUCKET };
    for (int i = 0; i < N; i++)
        cr_assert_not_null(ticket_new(table, NULL, &list, i + 1, JOB_GENERATE));
    for (uint64_t job = 1; job <= N; job++)
        cr_assert_eq(ticket_find(table, job)->job, job);
    struct ticket *t;
    int64_t last = 0;
    TAILQ_FOREACH(t, &table->all, in_order)
    {
        cr_assert_eq(t->id, last + 1);
        last = t->id;
    }
    while ((t = TAILQ_FIRST(&list)))
        ticket_free(table, &list, t);
    cr_assert(TAILQ_EMPTY(&table->all));
    cr_assert_eq(table->n_generate, 0);
    free(table);
}
