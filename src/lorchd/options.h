/* The command line of lorchd, by the rows of options.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum options_key {
#define FLAG(tag, ...) OPTION_##tag,
#define TEXT(tag, ...) OPTION_##tag,
#define COUNT(tag, ...) OPTION_##tag,
#include "src/lorchd/options.def"
    N_OPTION,
};

enum options_kind { OPTIONS_FLAG, OPTIONS_TEXT, OPTIONS_COUNT };

struct options_row {
    const char *name;
    char letter;
    enum options_kind kind;
    const char *argument; /* NULL: a flag */
    int64_t min, max, number;
    const char *text;
    const char *help;
};

extern const struct options_row options_rows[N_OPTION];

struct options {
    bool given[N_OPTION];
    const char *text[N_OPTION]; /* of argv, or the fallback */
    int64_t number[N_OPTION];
};

/* Parses the command line. Returns -1 to go on, else the exit status: after --help and --version (0) or a
 * usage error (EX_USAGE), which have been printed. */
int options_parse(struct options *ret_options, int argc, char **argv);
