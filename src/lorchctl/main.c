/* lorchctl: finds the command and runs it. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/lorchctl/ctl.h"
#include "src/lorchctl/options.h"

/* Edits (insert, delete, replace) that turn a into b; b has at most 31 bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[32], n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t replace = diagonal + (a[i] != b[j]), least = row[j] < row[j + 1] ? row[j] : row[j + 1];
            diagonal = row[j + 1];
            row[j + 1] = replace < least + 1 ? replace : least + 1;
        }
    }
    return row[n];
}

static int unknown_command(const char *name)
{
    size_t best = 3; /* further away it is another word, not a slip */
    const char *nearest = NULL;
    for (int i = 0; i < CTL_N_COMMAND; i++) {
        size_t d = distance(name, ctl_commands[i].name);
        if (d < best) {
            best = d;
            nearest = ctl_commands[i].name;
        }
    }
    fprintf(stderr, "lorchctl: no command '%s'", name);
    if (nearest)
        fprintf(stderr, "; did you mean '%s'?", nearest);
    fprintf(stderr, "\nTry 'lorchctl --help'.\n");
    return EX_USAGE;
}

/* Standard output may be a full disk or a closed pipe: what was not written is a failure. */
static int finish(int status)
{
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "lorchctl: cannot write standard output\n");
        return status ? status : EX_IOERR;
    }
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    const char *socket = NULL;
    int i = 1;
    /* Before the command: only what every command takes. */
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            options_help();
            return finish(0);
        }
        if (!strcmp(argv[i], "--version")) {
            puts("lorchctl (lorch) " VERSION);
            return finish(0);
        }
        if ((!strcmp(argv[i], "-H") || !strcmp(argv[i], "--socket")) && i + 1 < argc) {
            socket = argv[++i];
        } else if (!strncmp(argv[i], "--socket=", 9)) {
            socket = argv[i] + 9;
        } else {
            fprintf(stderr, "lorchctl: no option '%s' before the command\nTry 'lorchctl --help'.\n", argv[i]);
            return EX_USAGE;
        }
    }
    if (i == argc) {
        fprintf(stderr, "lorchctl: which command?\nTry 'lorchctl --help'.\n");
        return EX_USAGE;
    }
    for (int command = 0; command < CTL_N_COMMAND; command++) {
        if (strcmp(argv[i], ctl_commands[command].name))
            continue;
        int status = options_parse(&options, command, argc - i, argv + i);
        if (status >= 0)
            return finish(status);
        if (!options.values[CTL_OPTION_SOCKET])
            options.values[CTL_OPTION_SOCKET] = socket;
        return finish(ctl_commands[command].run(&options));
    }
    return unknown_command(argv[i]);
}
