/* Tests of src/engine/board.c. */
#include "config.h"
#include "src/engine/board.h"

#include <criterion/criterion.h>

static struct board board;

static void start(void)
{
    cr_assert(board_init(&board) == 0);
}

static void stop(void)
{
    board_deinit(&board);
}

TestSuite(board, .init = start, .fini = stop);

Test(board, a_step_is_aborted_once_nobody_wants_it)
{
    const uint64_t jobs[] = {5, 6};
    cr_expect(board_step_begin(&board, jobs, 2, 0));
    board_unwant(&board, 9);
    cr_expect(!atomic_load(&board.abort));
    board_unwant(&board, 5);
    cr_expect(!atomic_load(&board.abort));
    board_unwant(&board, 5); /* twice is once */
    cr_expect(!atomic_load(&board.abort));
    board_unwant(&board, 6);
    cr_expect(atomic_load(&board.abort));
}

Test(board, a_step_does_not_begin_before_all_mail_is_read)
{
    const uint64_t job = 5;
    board_unwant(&board, 5);
    cr_expect(!board_step_begin(&board, &job, 1, 0));
    cr_expect(board_step_begin(&board, &job, 1, 1));
    cr_expect(!atomic_load(&board.abort));
    board_step_end(&board);
    board_unwant(&board, 5); /* between steps there is nothing to abort */
    cr_expect(!atomic_load(&board.abort));
}

Test(board, quitting_aborts_and_no_step_begins)
{
    const uint64_t job = 5;
    cr_expect(board_step_begin(&board, &job, 1, 0));
    board_quit(&board);
    cr_expect(atomic_load(&board.abort));
    board_step_end(&board);
    cr_expect(!board_step_begin(&board, &job, 1, 0));
    cr_expect(atomic_load(&board.abort));
}

Test(board, idle_time_counts_while_there_is_work)
{
    struct engine_status counts = {.n_waiting = 3}, status;
    board_set_counts(&board, &counts, true);
    board.progress_us -= 5000000;
    board_status(&board, &status);
    cr_expect(status.idle_us >= 5000000 && status.n_waiting == 3);
    board_set_counts(&board, &counts, false);
    board.progress_us -= 5000000;
    board_status(&board, &status);
    cr_expect(status.idle_us == 0);
}
