/* A one-way queue between two threads: see mailbox.h. */
#include "config.h"
#include "src/base/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int mailbox_init(struct mailbox *box)
{
    *box = (struct mailbox){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (box->fd < 0)
        return -errno;
    int error = pthread_mutex_init(&box->lock, NULL);
    if (error != 0) {
        close(box->fd);
        return -error;
    }
    box->last = &box->first; /* also marks the box as usable */
    return 0;
}

void mailbox_deinit(struct mailbox *box)
{
    if (!box->last)
        return;
    pthread_mutex_destroy(&box->lock);
    close(box->fd);
    *box = (struct mailbox){.fd = -1};
}

/* The counter is 1 while there is mail and 0 otherwise; it changes under the lock, so neither call can block.
 */
static void raise_flag(struct mailbox *box)
{
    uint64_t one = 1;
    while (write(box->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void lower_flag(struct mailbox *box)
{
    uint64_t count;
    while (read(box->fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

void mailbox_push(struct mailbox *box, struct mail *letter)
{
    letter->next = NULL;
    pthread_mutex_lock(&box->lock);
    if (!box->first)
        raise_flag(box);
    *box->last = letter;
    box->last = &letter->next;
    pthread_mutex_unlock(&box->lock);
}

struct mail *mailbox_pop(struct mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    struct mail *letter = box->first;
    if (letter) {
        box->first = letter->next;
        if (!box->first) {
            box->last = &box->first;
            lower_flag(box);
        }
        letter->next = NULL;
    }
    pthread_mutex_unlock(&box->lock);
    return letter;
}

void mailbox_wait(struct mailbox *box)
{
    struct pollfd wanted = {.fd = box->fd, .events = POLLIN};
    while (poll(&wanted, 1, -1) < 0 && errno == EINTR)
        ;
}
