/* Sentences of failures: src/base/err.c. */
#include "config.h"
#include "src/base/err.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

Test(err, set_writes_the_sentence_and_returns_the_code)
{
    struct why why = {"old"};
    cr_assert_eq(why_set(&why, EX_DATAERR, "tensor '%s' has %d, want %d", "a.b", 3, 4), EX_DATAERR);
    cr_assert_str_eq(why.text, "tensor 'a.b' has 3, want 4");
    cr_assert_eq(why_set(NULL, -ENOMEM, "nobody reads this"), -ENOMEM);
    cr_assert_eq(why_prefix(NULL, 7, "nor this"), 7);
    cr_assert_eq(why_errno(NULL, ENOENT, "x"), EX_NOINPUT);
}

Test(err, control_characters_are_visible)
{
    struct why why;
    why_set(&why, 1, "a\nb\x1b[31m\x7f");
    cr_assert_str_eq(why.text, "a?b?[31m?");
    why_set(&why, 1,
            "\xc2\x9b"
            "1m \xc2\xa0 \xc3\xa9");
    cr_assert_str_eq(why.text, "??1m \xc2\xa0 \xc3\xa9", "C1 controls go, other characters stay");
}

Test(err, bytes_that_are_no_text_are_visible)
{
    struct why why;
    why_set(&why, 1, "a\xe9z \xf0\x9f\x99 \xc3\xa9%.*s", 2, "\xe2\x82\xac");
    cr_assert_str_eq(why.text, "a?z ??? \xc3\xa9??");
}

Test(err, a_long_sentence_is_cut_between_characters)
{
    struct why why;
    char text[2 * sizeof why.text];
    /* For each length of a character, every place where the cut may fall. */
    const char *const characters[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x99\x82"};
    for (size_t c = 0; c < 4; c++) {
        size_t n = strlen(characters[c]);
        for (size_t shift = 0; shift < n; shift++) {
            memset(text, 'a', shift);
            for (size_t at = shift; at < sizeof text; at++)
                text[at] = characters[c][(at - shift) % n];
            text[sizeof text - 1] = '\0';
            why_set(&why, 1, "%s", text);
            size_t want = shift + (sizeof why.text - 1 - shift) / n * n;
            cr_assert_eq(strlen(why.text), want, "%zu bytes a character, shift %zu", n, shift);
            cr_assert_eq(memcmp(why.text, text, want), 0);
        }
    }
}

Test(err, prefix_goes_before_what_is_there)
{
    struct why why;
    why_set(&why, 1, "'dim' is missing");
    cr_assert_eq(why_prefix(&why, EX_DATAERR, "%s/config.json", "model"), EX_DATAERR);
    cr_assert_str_eq(why.text, "model/config.json: 'dim' is missing");

    char name[1000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    why_prefix(&why, 1, "%s", name);
    cr_assert_not_null(strstr(why.text, "nnn: model/config.json: 'dim' is missing"), "a long prefix is cut");
}

Test(err, errno_becomes_an_exit_code)
{
    static const struct {
        int error, code;
    } rows[] = {
        {ENOENT, EX_NOINPUT}, {ENOTDIR, EX_NOINPUT}, {EACCES, EX_NOPERM}, {EPERM, EX_NOPERM},
        {EIO, EX_IOERR},      {EISDIR, EX_IOERR},    {ENOMEM, -ENOMEM},   {EMFILE, -EMFILE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct why why;
        cr_assert_eq(why_errno(&why, rows[i].error, "dir/file"), rows[i].code, "errno %d", rows[i].error);
        cr_assert_eq(strncmp(why.text, "dir/file: ", 10), 0);
        cr_assert_not_null(strstr(why.text, strerror(rows[i].error)));
    }
}
