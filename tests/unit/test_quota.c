/* What each user has taken: src/server/quota.c. */
#include "config.h"
#include "src/server/quota.h"

#include <criterion/criterion.h>

static const struct quota_limits limits = {.max_connection = 2, .max_job = 3, .max_byte = 100};

Test(quota, connections_jobs_and_bytes_stop_at_their_limits)
{
    struct quota_table table;
    struct quota *user, *same;
    quota_init(&table, &limits);
    cr_assert_eq(quota_connect(&table, 1000, &user), 0);
    cr_assert_eq(quota_connect(&table, 1000, &same), 0);
    cr_assert_eq(user, same);
    cr_assert_eq(quota_connect(&table, 1000, &same), QUOTA_E_FULL);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(quota_take_job(&table, user), 0);
    cr_assert_eq(quota_take_job(&table, user), QUOTA_E_FULL);
    cr_assert_eq(quota_take_bytes(&table, user, 60), 0);
    cr_assert_eq(quota_take_bytes(&table, user, 41), QUOTA_E_FULL);
    cr_assert_eq(quota_take_bytes(&table, user, SIZE_MAX), QUOTA_E_FULL);
    cr_assert_eq(quota_take_bytes(&table, user, 40), 0);

    /* A refusal charged nothing, and what is given back can be taken again. */
    quota_give_bytes(user, 100);
    cr_assert_eq(quota_take_bytes(&table, user, 100), 0);
    quota_give_bytes(user, 100);
    for (int i = 0; i < 3; i++)
        quota_give_job(user);
    quota_disconnect(user);
    cr_assert_eq(quota_connect(&table, 1000, &same), 0);
    quota_disconnect(user);
    quota_disconnect(user);
    cr_assert(LIST_EMPTY(&table.users));
}

Test(quota, one_user_does_not_count_for_another)
{
    struct quota_table table;
    struct quota *a, *b;
    quota_init(&table, &limits);
    cr_assert_eq(quota_connect(&table, 1, &a), 0);
    cr_assert_eq(quota_connect(&table, 2, &b), 0);
    cr_assert_neq(a, b);
    cr_assert_eq(quota_take_bytes(&table, a, 100), 0);
    cr_assert_eq(quota_take_bytes(&table, b, 100), 0);
    quota_give_bytes(a, 100);
    quota_give_bytes(b, 100);
    quota_disconnect(a);
    cr_assert_eq(LIST_FIRST(&table.users), b);
    quota_disconnect(b);
}
