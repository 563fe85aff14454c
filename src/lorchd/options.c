/* The command line of lorchd: see options.h. */
#include "config.h"
#include "src/lorchd/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

enum { FIRST_LONG = 256 }; /* what getopt_long returns for row 0; below are letters */

const struct options_row options_rows[N_OPTION] = {
#define FLAG(tag, name_, letter_, help_) \
    [OPTION_##tag] = {.name = name_, .letter = letter_, .kind = OPTIONS_FLAG, .help = help_},
#define TEXT(tag, name_, letter_, argument_, fallback_, help_) \
    [OPTION_##tag] = {.name = name_,                           \
                      .letter = letter_,                       \
                      .kind = OPTIONS_TEXT,                    \
                      .argument = argument_,                   \
                      .text = fallback_,                       \
                      .help = help_},
#define COUNT(tag, name_, letter_, min_, max_, fallback_, help_) \
    [OPTION_##tag] = {.name = name_,                             \
                      .letter = letter_,                         \
                      .kind = OPTIONS_COUNT,                     \
                      .argument = "N",                           \
                      .min = min_,                               \
                      .max = max_,                               \
                      .number = fallback_,                       \
                      .help = help_},
#include "src/lorchd/options.def"
};

static void print_help(void)
{
    printf("Usage: lorchd [OPTION...]\nServes a language model on a Unix socket.\n\n");
    for (int i = 0; i < N_OPTION; i++) {
        const struct options_row *row = &options_rows[i];
        char name[64];
        snprintf(name, sizeof name, "--%s%s%s", row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        if (row->letter)
            printf("  -%c, %-24s %s", row->letter, name, row->help);
        else
            printf("      %-24s %s", name, row->help);
        if (row->text)
            printf(" (default: %s)", row->text);
        if (row->kind == OPTIONS_COUNT && row->number >= row->min)
            printf(" (default: %" PRId64 ")", row->number);
        putchar('\n');
    }
    printf("\nlorchd(8) says more. Exit statuses are those of sysexits.h.\n");
}

static int usage_error(void)
{
    fprintf(stderr, "Try 'lorchd --help'.\n");
    return EX_USAGE;
}

static bool take_number(struct options *options, int i)
{
    const struct options_row *row = &options_rows[i];
    const char *text = options->text[i];
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    options->number[i] = v;
    if (end != text && !*end && !errno && v >= row->min && v <= row->max)
        return true;
    fprintf(stderr, "lorchd: --%s takes a whole number from %" PRId64 " to %" PRId64 ", not '%s'\n",
            row->name, row->min, row->max, text);
    return false;
}

/* The row that getopt_long means by c, or N_OPTION. */
static int find_row(int c)
{
    if (c >= FIRST_LONG)
        return c - FIRST_LONG;
    for (int i = 0; i < N_OPTION; i++)
        if (options_rows[i].letter && options_rows[i].letter == c)
            return i;
    return N_OPTION;
}

static void make_tables(struct option longs[N_OPTION + 1], char shorts[2 * N_OPTION + 1])
{
    for (int i = 0; i < N_OPTION; i++) {
        const struct options_row *row = &options_rows[i];
        longs[i] = (struct option){.name = row->name,
                                   .has_arg = row->argument ? required_argument : no_argument,
                                   .val = FIRST_LONG + i};
        if (row->letter)
            *shorts++ = row->letter;
        if (row->letter && row->argument)
            *shorts++ = ':';
    }
    longs[N_OPTION] = (struct option){0};
    *shorts = '\0';
}

int options_parse(struct options *ret_options, int argc, char **argv)
{
    struct option longs[N_OPTION + 1];
    char shorts[2 * N_OPTION + 1];
    make_tables(longs, shorts);
    *ret_options = (struct options){0};
    for (int i = 0; i < N_OPTION; i++) {
        ret_options->text[i] = options_rows[i].text;
        ret_options->number[i] = options_rows[i].number;
    }
    for (int c; (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        int i = find_row(c);
        if (i == N_OPTION)
            return usage_error();
        ret_options->given[i] = true;
        if (options_rows[i].argument)
            ret_options->text[i] = optarg;
        if (options_rows[i].kind == OPTIONS_COUNT && !take_number(ret_options, i))
            return usage_error();
    }
    if (optind < argc) {
        fprintf(stderr, "lorchd: '%s' is no option; a model is named with --model\n", argv[optind]);
        return usage_error();
    }
    if (ret_options->given[OPTION_HELP]) {
        print_help();
        return 0;
    }
    if (ret_options->given[OPTION_VERSION]) {
        puts("lorchd (lorch) " VERSION);
        return 0;
    }
    return -1;
}
