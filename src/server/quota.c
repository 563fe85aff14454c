/* What each user of the machine has taken: see quota.h. */
#include "config.h"
#include "src/server/quota.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void quota_init(struct quota_table *table, const struct quota_limits *limits)
{
    LIST_INIT(&table->users);
    table->limits = *limits;
}

int quota_connect(struct quota_table *table, uid_t uid, struct quota **ret_user)
{
    struct quota *user;
    LIST_FOREACH(user, &table->users, entry)
    {
        if (user->uid == uid)
            break;
    }
    if (!user) {
        user = calloc(1, sizeof *user);
        if (!user)
            return -ENOMEM;
        user->uid = uid;
        LIST_INSERT_HEAD(&table->users, user, entry);
    } else if (user->n_connection >= table->limits.max_connection) {
        return QUOTA_E_FULL;
    }
    user->n_connection++;
    *ret_user = user;
    return 0;
}

void quota_disconnect(struct quota *user)
{
    if (--user->n_connection > 0)
        return;
    assert(user->n_job == 0 && user->n_byte == 0);
    LIST_REMOVE(user, entry);
    free(user);
}

int quota_take_job(const struct quota_table *table, struct quota *user)
{
    if (user->n_job >= table->limits.max_job)
        return QUOTA_E_FULL;
    user->n_job++;
    return 0;
}

void quota_give_job(struct quota *user)
{
    assert(user->n_job > 0);
    user->n_job--;
}

int quota_take_bytes(const struct quota_table *table, struct quota *user, size_t n)
{
    if (n > table->limits.max_byte - user->n_byte)
        return QUOTA_E_FULL;
    user->n_byte += n;
    return 0;
}

void quota_give_bytes(struct quota *user, size_t n)
{
    assert(user->n_byte >= n);
    user->n_byte -= n;
}
