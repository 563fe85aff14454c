/* A one-way queue between two threads, with a descriptor that becomes readable when there is mail.
 *
 * Letters are intrusive: a struct that travels has a `struct mail` as a member. Pushing moves the letter to
 * the other thread; nobody touches it afterwards. Any thread may push, one thread pops. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct mail {
    struct mail *next;
};

struct mailbox {
    pthread_mutex_t lock;
    struct mail *first, **last;
    int fd; /* eventfd, non-blocking: for a poller; mailbox_wait for a thread that only waits */
};

int mailbox_init(struct mailbox *box);    /* 0 or -errno; a box in use is never moved */
void mailbox_deinit(struct mailbox *box); /* letters left inside are the caller's to pop first; {0} is fine */
void mailbox_push(struct mailbox *box, struct mail *letter);
/* The oldest letter, or NULL. Resets the descriptor once the box is empty. */
struct mail *mailbox_pop(struct mailbox *box);
/* Blocks until there is mail. */
void mailbox_wait(struct mailbox *box);
