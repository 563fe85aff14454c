/* A queue between two threads: src/base/mailbox.c. Its races are the subject of mailbox_threads.c. */
#include "config.h"
#include "src/base/mailbox.h"

#include <poll.h>

#include <criterion/criterion.h>

struct letter {
    int number;
    struct mail mail;
};

static int number_of(struct mail *mail)
{
    return ((struct letter *)((char *)mail - offsetof(struct letter, mail)))->number;
}

static bool is_readable(const struct mailbox *box)
{
    struct pollfd wanted = {.fd = box->fd, .events = POLLIN};
    return poll(&wanted, 1, 0) == 1;
}

Test(mailbox, oldest_first_and_readable_while_there_is_mail)
{
    struct mailbox box;
    cr_assert_eq(mailbox_init(&box), 0);
    cr_assert_null(mailbox_pop(&box));
    cr_assert_not(is_readable(&box));

    struct letter letters[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    for (int i = 0; i < 3; i++)
        mailbox_push(&box, &letters[i].mail);
    mailbox_wait(&box);
    for (int i = 0; i < 3; i++) {
        cr_assert(is_readable(&box));
        cr_assert_eq(number_of(mailbox_pop(&box)), i);
    }
    cr_assert_not(is_readable(&box));
    cr_assert_null(mailbox_pop(&box));
    mailbox_deinit(&box);
}

Test(mailbox, works_again_after_it_was_empty)
{
    struct mailbox box;
    cr_assert_eq(mailbox_init(&box), 0);
    struct letter letter = {.number = 5};
    for (int i = 0; i < 100; i++) {
        mailbox_push(&box, &letter.mail);
        cr_assert(is_readable(&box));
        cr_assert_eq(mailbox_pop(&box), &letter.mail);
        cr_assert_not(is_readable(&box));
    }
    mailbox_deinit(&box);
}

Test(mailbox, deinit_of_what_was_never_there)
{
    struct mailbox box = {0};
    mailbox_deinit(&box); /* must not close descriptor 0 */
    struct pollfd standard_input = {.fd = 0};
    cr_assert(poll(&standard_input, 1, 0) >= 0 && !(standard_input.revents & POLLNVAL));

    cr_assert_eq(mailbox_init(&box), 0);
    mailbox_deinit(&box);
    mailbox_deinit(&box);
}
