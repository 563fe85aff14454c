/* The commands of lorchctl, and what each is given. */
#pragma once

#include "proto/proto.h"

enum ctl_command {
#define COMMAND(name, ...) CTL_##name,
#include "src/lorchctl/commands.def"
    CTL_N_COMMAND,
    CTL_ALL = CTL_N_COMMAND,
};

enum ctl_option {
#define OPTION(tag, ...) CTL_OPTION_##tag,
#include "src/lorchctl/options.def"
    CTL_N_OPTION,
};

struct options;

/* Runs a command and returns the exit status. */
typedef int (*ctl_fn)(struct options *options);

struct ctl_command_row {
    const char *name;
    ctl_fn run;
    enum proto_message message; /* whose fields are options too; PROTO_N_MESSAGE: none */
    const char *arguments, *help;
};

struct ctl_option_row {
    enum ctl_command command; /* CTL_ALL: every one */
    const char *name;
    char letter;
    const char *argument, *help;
};

extern const struct ctl_command_row ctl_commands[CTL_N_COMMAND];
extern const struct ctl_option_row ctl_options[CTL_N_OPTION];

#define COMMAND(name, function, ...) int ctl_##function(struct options *options);
#include "src/lorchctl/commands.def"
