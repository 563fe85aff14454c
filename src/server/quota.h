/* What each user of the machine has taken: connections, jobs, bytes. One user's excess is refused, others
 * notice nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct quota_limits {
    int32_t max_connection, max_job;
    size_t max_byte; /* of unfinished frames and of the prompts of jobs, together */
};

/* One user. Lives as long as it has a connection; what a connection was charged is given back before it ends.
 */
struct quota {
    LIST_ENTRY(quota) entry;
    uid_t uid;
    int32_t n_connection, n_job;
    size_t n_byte;
};

struct quota_table {
    LIST_HEAD(, quota) users;
    struct quota_limits limits;
};

enum { QUOTA_E_FULL = 1 };

void quota_init(struct quota_table *table, const struct quota_limits *limits);

/* One more connection of a user. 0, QUOTA_E_FULL, -ENOMEM. */
int quota_connect(struct quota_table *table, uid_t uid, struct quota **ret_user);
/* One less; user is not valid afterwards. */
void quota_disconnect(struct quota *user);

/* Charges; 0 or QUOTA_E_FULL, which charges nothing. */
int quota_take_job(const struct quota_table *table, struct quota *user);
void quota_give_job(struct quota *user);
int quota_take_bytes(const struct quota_table *table, struct quota *user, size_t n);
void quota_give_bytes(struct quota *user, size_t n);
