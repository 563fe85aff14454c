/* Tests of src/engine/notice.c. */
#include "config.h"
#include "src/engine/notice.h"

#include <criterion/criterion.h>
#include <string.h>

Test(notice, room_is_there_and_apart)
{
    const struct notice_room room = {.n_content = 5,
                                     .n_token = 3,
                                     .n_logprob = 2,
                                     .n_top = 4,
                                     .n_piece = 3,
                                     .n_prompt_logprob = 7,
                                     .n_stop_word = 6};
    struct notice *e = notice_new_room(NOTICE_DONE, 11, &room);
    cr_assert(e);
    cr_expect(e->kind == NOTICE_DONE && e->job == 11 && e->got == -1 && e->limit == -1);
    memset(e->content, 'c', 5);
    memset(e->tokens, 1, 3 * sizeof *e->tokens);
    memset(e->pieces, 2, 3 * sizeof *e->pieces);
    memset(e->prompt_logprobs, 3, 7 * sizeof *e->prompt_logprobs);
    memset(e->stop_word, 's', 6);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            e->logprobs[i].top[j].id = 10 * i + j;
    cr_expect(memcmp(e->content, "ccccc", 5) == 0 && memcmp(e->stop_word, "ssssss", 7) == 0);
    cr_expect(e->tokens[2] == 0x01010101 && e->logprobs[0].top[3].id == 3 && e->logprobs[1].top[0].id == 10);
    notice_free(e);
}

Test(notice, what_has_no_room_is_null)
{
    struct notice *e = notice_new(NOTICE_TOKEN, 1);
    cr_assert(e);
    cr_expect(!e->content && !e->tokens && !e->logprobs && !e->pieces && !e->prompt_logprobs &&
              !e->stop_word);
    notice_free(e);
}

Test(notice, room_that_cannot_be_counted_is_refused)
{
    cr_expect(notice_new_room(NOTICE_DONE, 1, &(struct notice_room){.n_content = SIZE_MAX}) == NULL);
    cr_expect(notice_new_room(NOTICE_DONE, 1, &(struct notice_room){.n_token = SIZE_MAX / 4}) == NULL);
    cr_expect(notice_new_room(NOTICE_DONE, 1,
                              &(struct notice_room){.n_logprob = SIZE_MAX / 8, .n_top = 20}) == NULL);
    const struct notice_room sum = {
        .n_content = SIZE_MAX / 2 - 64, .n_stop_word = SIZE_MAX / 2 - 64, .n_token = 1000};
    cr_expect(notice_new_room(NOTICE_DONE, 1, &sum) == NULL);
}

Test(notice, failures_have_a_sentence)
{
    struct notice *e =
        notice_new_failed(3, "context_overflow", "prompt", 20, 10, "%d tokens, %d fit", 20, 10);
    cr_assert(e);
    cr_expect(e->kind == NOTICE_FAILED && e->got == 20 && e->limit == 10);
    cr_expect_str_eq(e->message, "20 tokens, 10 fit");
    notice_free(e);
    e = notice_new(NOTICE_DONE, 4);
    notice_fail(e, "internal", NULL, -1, -1, "%600d", 1);
    cr_expect(e->kind == NOTICE_FAILED && strlen(e->message) == sizeof e->message - 1);
    notice_free(e);
}
