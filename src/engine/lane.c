/* A helper thread and the jobs that wait for it: see lane.h. */
#include "config.h"
#include "src/engine/lane.h"

/* The next ask; NULL: the thread shall end. */
static struct job_ask *next(struct lane *lane)
{
    struct job_ask *ask = NULL;
    pthread_mutex_lock(&lane->lock);
    while (!lane->quits && TAILQ_EMPTY(&lane->waiting))
        pthread_cond_wait(&lane->changed, &lane->lock);
    if (!lane->quits) {
        ask = TAILQ_FIRST(&lane->waiting);
        TAILQ_REMOVE(&lane->waiting, ask, in_lane);
    }
    pthread_mutex_unlock(&lane->lock);
    return ask;
}

static void *run(void *arg)
{
    struct lane *lane = arg;
    for (struct job_ask *ask; (ask = next(lane));)
        lane->work(lane->ctx, ask);
    return NULL;
}

int lane_init(struct lane *lane)
{
    *lane = (struct lane){0};
    TAILQ_INIT(&lane->waiting);
    int error = pthread_mutex_init(&lane->lock, NULL);
    if (error != 0)
        return -error;
    error = pthread_cond_init(&lane->changed, NULL);
    if (error != 0)
        pthread_mutex_destroy(&lane->lock);
    lane->is_init = error == 0;
    return -error;
}

int lane_start(struct lane *lane, lane_work work, void *ctx)
{
    lane->work = work;
    lane->ctx = ctx;
    int error = pthread_create(&lane->thread, NULL, run, lane);
    lane->runs = error == 0;
    return -error;
}

void lane_deinit(struct lane *lane)
{
    if (!lane->is_init)
        return;
    if (lane->runs) {
        pthread_mutex_lock(&lane->lock);
        lane->quits = true;
        pthread_cond_signal(&lane->changed);
        pthread_mutex_unlock(&lane->lock);
        pthread_join(lane->thread, NULL);
    }
    for (struct job_ask *ask; (ask = TAILQ_FIRST(&lane->waiting));) {
        TAILQ_REMOVE(&lane->waiting, ask, in_lane);
        job_ask_free(ask);
    }
    pthread_cond_destroy(&lane->changed);
    pthread_mutex_destroy(&lane->lock);
    lane->is_init = false;
}

void lane_push(struct lane *lane, struct job_ask *ask)
{
    pthread_mutex_lock(&lane->lock);
    TAILQ_INSERT_TAIL(&lane->waiting, ask, in_lane);
    pthread_cond_signal(&lane->changed);
    pthread_mutex_unlock(&lane->lock);
}

bool lane_drop(struct lane *lane, uint64_t job)
{
    struct job_ask *ask;
    pthread_mutex_lock(&lane->lock);
    TAILQ_FOREACH(ask, &lane->waiting, in_lane)
    {
        if (ask->job == job)
            break;
    }
    if (ask)
        TAILQ_REMOVE(&lane->waiting, ask, in_lane);
    pthread_mutex_unlock(&lane->lock);
    job_ask_free(ask); /* megabytes, perhaps: not under the lock */
    return ask != NULL;
}
