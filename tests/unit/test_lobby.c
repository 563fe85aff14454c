/* Tests of src/engine/lobby.c. */
#include "config.h"
#include "src/engine/lobby.h"

#include <criterion/criterion.h>

Test(lobby, each_job_is_taken_once)
{
    enum { N = 100 };
    struct lobby l;
    struct lobby_entry entry;
    cr_assert(lobby_init(&l, 0) == 0);
    for (uint64_t job = 1; job <= N; job++)
        cr_assert(lobby_add(&l, &(struct lobby_entry){.job = job, .seed = 2 * job}) == 0);
    lobby_note(&l, 7, 33);
    lobby_note(&l, N + 1, 44); /* not there */
    cr_expect(lobby_take(&l, 7, &entry) && entry.seed == 14 && entry.n_prompt == 33);
    cr_expect(!lobby_take(&l, 7, &entry) && !lobby_take(&l, N + 1, NULL));
    for (uint64_t job = 1; job <= N; job++)
        cr_expect(lobby_take(&l, job, NULL) == (job != 7));
    lobby_deinit(&l);
}
