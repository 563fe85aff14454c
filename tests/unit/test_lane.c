/* Tests of src/engine/lane.c. */
#include "config.h"
#include "src/engine/lane.h"

#include <criterion/criterion.h>
#include <semaphore.h>

/* What the worker has been given, and its permission to go on. */
struct bench {
    sem_t begun, may_end;
    uint64_t jobs[8];
    int n;
};

static void work(void *ctx, struct job_ask *ask)
{
    struct bench *b = ctx;
    b->jobs[b->n++] = ask->job;
    sem_post(&b->begun);
    sem_wait(&b->may_end);
    job_ask_free(ask);
}

static void push(struct lane *lane, uint64_t job)
{
    struct job_ask *ask = job_ask_new(JOB_COUNT);
    cr_assert(ask);
    ask->job = job;
    lane_push(lane, ask);
}

static void set_up(struct bench *b, struct lane *lane)
{
    *b = (struct bench){0};
    cr_assert(sem_init(&b->begun, 0, 0) == 0 && sem_init(&b->may_end, 0, 0) == 0);
    cr_assert(lane_init(lane) == 0);
}

static void tear_down(struct bench *b)
{
    sem_destroy(&b->begun);
    sem_destroy(&b->may_end);
}

Test(lane, what_is_dropped_is_not_worked_on)
{
    struct bench b;
    struct lane lane;
    set_up(&b, &lane);
    for (uint64_t job = 1; job <= 4; job++)
        push(&lane, job);
    cr_expect(lane_drop(&lane, 2), "before the start");
    cr_expect(!lane_drop(&lane, 2) && !lane_drop(&lane, 9));
    cr_assert(lane_start(&lane, work, &b) == 0);
    sem_wait(&b.begun);
    cr_expect(!lane_drop(&lane, 1), "it is being worked on");
    cr_expect(lane_drop(&lane, 3));
    sem_post(&b.may_end);
    sem_wait(&b.begun);
    sem_post(&b.may_end);
    lane_deinit(&lane);
    cr_expect(b.n == 2 && b.jobs[0] == 1 && b.jobs[1] == 4);
    tear_down(&b);
}

static void *post_once_it_ends(void *arg)
{
    struct lane *lane = ((void **)arg)[0];
    struct bench *b = ((void **)arg)[1];
    bool quits = false;
    while (!quits) {
        pthread_mutex_lock(&lane->lock);
        quits = lane->quits;
        pthread_mutex_unlock(&lane->lock);
    }
    sem_post(&b->may_end);
    return NULL;
}

Test(lane, the_end_waits_for_what_is_worked_on_and_for_nothing_else)
{
    struct bench b;
    struct lane lane;
    pthread_t helper;
    set_up(&b, &lane);
    cr_assert(lane_start(&lane, work, &b) == 0);
    for (uint64_t job = 1; job <= 5; job++)
        push(&lane, job);
    sem_wait(&b.begun);
    void *both[] = {&lane, &b};
    cr_assert(pthread_create(&helper, NULL, post_once_it_ends, both) == 0);
    lane_deinit(&lane);
    pthread_join(helper, NULL);
    cr_expect(b.n == 1, "%d were begun", b.n);
    tear_down(&b);
}

Test(lane, one_that_was_never_started)
{
    struct lane lane = {0};
    lane_deinit(&lane);
    cr_assert(lane_init(&lane) == 0);
    push(&lane, 1);
    lane_deinit(&lane);
}
