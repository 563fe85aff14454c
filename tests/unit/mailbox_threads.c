/* Many threads push into one mailbox while one pops: for ThreadSanitizer too, under which Criterion does not
 * start. Speaks TAP. */
#include "config.h"
#include "src/base/mailbox.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_SENDER = 4, N_LETTER = 5000 };

struct letter {
    struct mail mail;
    int sender, number;
};

struct sender {
    pthread_t thread;
    struct mailbox *box;
    int id;
};

static int n_point, n_bad;

static void point(int is_good, const char *what)
{
    printf("%s %d - %s\n", is_good ? "ok" : "not ok", ++n_point, what);
    n_bad += !is_good;
}

static struct letter *letter_of(struct mail *mail)
{
    return mail ? (struct letter *)((char *)mail - offsetof(struct letter, mail)) : NULL;
}

static void *send_all(void *arg)
{
    const struct sender *sender = arg;
    for (int i = 0; i < N_LETTER; i++) {
        struct letter *letter = malloc(sizeof *letter);
        if (!letter)
            abort();
        *letter = (struct letter){.sender = sender->id, .number = i};
        mailbox_push(sender->box, &letter->mail); /* moved: another thread frees it */
    }
    return NULL;
}

static void wait_with_poll(struct mailbox *box)
{
    struct pollfd wanted = {.fd = box->fd, .events = POLLIN};
    poll(&wanted, 1, -1);
}

/* Pops everything that the senders push, waiting in the way of the engine or in that of the server. */
static void receive_all(void (*wait)(struct mailbox *), const char *what)
{
    struct mailbox box;
    struct sender senders[N_SENDER];
    int next[N_SENDER] = {0}, n_received = 0, is_ordered = 1;
    if (mailbox_init(&box) != 0)
        abort();
    for (int i = 0; i < N_SENDER; i++) {
        senders[i] = (struct sender){.box = &box, .id = i};
        if (pthread_create(&senders[i].thread, NULL, send_all, &senders[i]) != 0)
            abort();
    }
    while (n_received < N_SENDER * N_LETTER) {
        wait(&box);
        for (struct letter *letter; (letter = letter_of(mailbox_pop(&box))); free(letter)) {
            is_ordered &= letter->number == next[letter->sender]++;
            n_received++;
        }
    }
    for (int i = 0; i < N_SENDER; i++)
        pthread_join(senders[i].thread, NULL);
    struct pollfd wanted = {.fd = box.fd, .events = POLLIN};
    int is_quiet = !mailbox_pop(&box) && poll(&wanted, 1, 0) == 0;
    mailbox_deinit(&box);
    printf("# %s: %d letters\n", what, n_received);
    point(is_ordered, "each sender's letters arrive in their order");
    point(is_quiet, "the empty box is not readable");
}

/* Two threads hand one letter to and fro, so that each push meets a thread that is about to wait. */
struct pair {
    struct mailbox there, back;
};

static void *return_all(void *arg)
{
    struct pair *pair = arg;
    for (int i = 0; i < N_LETTER; i++) {
        struct mail *mail;
        while (!(mail = mailbox_pop(&pair->there)))
            mailbox_wait(&pair->there);
        letter_of(mail)->number++;
        mailbox_push(&pair->back, mail);
    }
    return NULL;
}

static void to_and_fro(void)
{
    struct pair pair;
    struct letter letter = {.number = 0};
    pthread_t thread;
    if (mailbox_init(&pair.there) != 0 || mailbox_init(&pair.back) != 0 ||
        pthread_create(&thread, NULL, return_all, &pair) != 0)
        abort();
    for (int i = 0; i < N_LETTER; i++) {
        mailbox_push(&pair.there, &letter.mail);
        while (!mailbox_pop(&pair.back))
            mailbox_wait(&pair.back);
    }
    pthread_join(thread, NULL);
    point(letter.number == N_LETTER, "no wake-up is lost");
    mailbox_deinit(&pair.there);
    mailbox_deinit(&pair.back);
}

int main(void)
{
    printf("1..5\n");
    receive_all(mailbox_wait, "mailbox_wait");
    receive_all(wait_with_poll, "poll");
    to_and_fro();
    return n_bad > 0;
}
