/* The command line of one command: its own options, and the fields of its request as options.
 *
 * A field `max_tokens` is the option --max-tokens. A field that is true by default becomes --no-<name>. Lists
 * are separated by commas; `stop` and `logit_bias` may be given several times. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/msg.h"
#include "src/lorchctl/ctl.h"

enum {
    OPTIONS_MAX_FIELD = 64,               /* field options given */
    OPTIONS_MAX_NAME = PROTO_MAX_KEY + 4, /* "no-" and a key */
    OPTIONS_MAX_ROW = CTL_N_OPTION + PROTO_N_FIELD,
};

/* One option of a command, whichever table it came from. */
struct options_row {
    char name[OPTIONS_MAX_NAME];
    char letter;
    const char *argument, *help;
    const char *fallback; /* NULL: none to speak of */
    int own;              /* enum ctl_option, or -1 */
    enum proto_field field;
};

/* All options of a command, of CTL_ALL those that every command has; returns how many. */
size_t options_collect(enum ctl_command command, struct options_row rows[OPTIONS_MAX_ROW]);

struct options {
    enum ctl_command command;
    const char *values[CTL_N_OPTION]; /* NULL: not given; a flag: "" */
    struct {
        enum proto_field field;
        const char *value;
        char *owned; /* the value, where chat_set.c has made it */
    } fields[OPTIONS_MAX_FIELD];
    size_t n_field;
    char **arguments; /* what is no option */
    int n_argument;
};

/* Parses argv (argv[0] is the command's name). Returns -1 to go on, else the exit status: after --help (0) or
 * a usage error (EX_USAGE), which have been printed. */
int options_parse(struct options *ret_options, enum ctl_command command, int argc, char **argv);

bool options_has(const struct options *options, enum ctl_option option);
bool options_has_field(const struct options *options, enum proto_field field);
/* The value of a field option that was given last; NULL: not given. */
const char *options_field(const struct options *options, enum proto_field field);
/* A whole number of an own option within [min, max]; prints and returns false where it is none. */
bool options_int(const struct options *options, enum ctl_option option, long min, long max, long *ret);

/* Writes every field that was given into a request. False: a value is not of the field's type; printed. */
bool options_write_fields(const struct options *options, struct msg_out *out);

/* Prints help: of the program, of a command. */
void options_help(void);
void options_help_command(enum ctl_command command);
