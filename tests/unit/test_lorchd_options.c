/* The command line of lorchd: src/lorchd/options.c. */
#include "config.h"
#include "src/lorchd/options.h"

#include <getopt.h>
#include <sysexits.h>

#include <criterion/criterion.h>
#include <criterion/redirect.h>

static struct options options;

static int parse(const char *const *words)
{
    char *argv[16] = {"lorchd"};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    optind = 0;
    return options_parse(&options, argc, argv);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

Test(lorchd_options, values_and_defaults)
{
    cr_assert_eq(PARSE("-m", "dir", "--threads=3", "--check"), -1);
    cr_assert_str_eq(options.text[OPTION_MODEL], "dir");
    cr_assert_eq(options.number[OPTION_THREADS], 3);
    cr_assert(options.given[OPTION_CHECK]);
    cr_assert_not(options.given[OPTION_CONTEXT]);
    cr_assert_eq(options.number[OPTION_MAX_QUEUE], 100);
    cr_assert_str_eq(options.text[OPTION_DEVICE], "cpu");
    cr_assert_null(options.text[OPTION_LISTEN]);
}

static void redirect(void)
{
    cr_redirect_stdout();
    cr_redirect_stderr();
}

Test(lorchd_options, every_row_can_be_given, .init = redirect)
{
    for (int i = 0; i < N_OPTION; i++) {
        char name[64];
        snprintf(name, sizeof name, "--%s%s", options_rows[i].name, options_rows[i].argument ? "=65536" : "");
        int r = parse((const char *const[]){name, NULL});
        if (i == OPTION_HELP || i == OPTION_VERSION)
            cr_assert_eq(r, 0);
        else if (options_rows[i].kind == OPTIONS_COUNT && options_rows[i].max < 65536)
            cr_assert_eq(r, EX_USAGE);
        else
            cr_assert_eq(r, -1, "%s", name);
        cr_assert(options.given[i]);
    }
}

Test(lorchd_options, what_is_wrong_is_named, .init = cr_redirect_stderr)
{
    cr_assert_eq(PARSE("--max-queue=0"), EX_USAGE);
    fflush(stderr);
    cr_assert_stderr_eq_str("lorchd: --max-queue takes a whole number from 1 to 100000, not '0'\n"
                            "Try 'lorchd --help'.\n");
}

Test(lorchd_options, wrong_uses_are_refused, .init = cr_redirect_stderr)
{
    cr_assert_eq(PARSE("--nonsense"), EX_USAGE);
    cr_assert_eq(PARSE("-x"), EX_USAGE);
    cr_assert_eq(PARSE("dir"), EX_USAGE);
    cr_assert_eq(PARSE("--model"), EX_USAGE);
    cr_assert_eq(PARSE("--threads", "two"), EX_USAGE);
    cr_assert_eq(PARSE("--threads", "2x"), EX_USAGE);
    cr_assert_eq(PARSE("--threads", ""), EX_USAGE);
    cr_assert_eq(PARSE("--threads", "99999999999999999999"), EX_USAGE);
    cr_assert_eq(PARSE("--check=yes"), EX_USAGE);
}
