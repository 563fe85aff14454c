/* The tables of commands and options: see ctl.h. */
#include "config.h"
#include "src/lorchctl/ctl.h"

#include <stddef.h>

const struct ctl_command_row ctl_commands[CTL_N_COMMAND] = {
#define PROTO_NONE PROTO_N_MESSAGE
#define COMMAND(name, function, message, arguments, help) \
    {#name, ctl_##function, PROTO_##message, arguments, help},
#include "src/lorchctl/commands.def"
#undef PROTO_NONE
};

const struct ctl_option_row ctl_options[CTL_N_OPTION] = {
#define OPTION(tag, command, name, letter, argument, help) {CTL_##command, name, letter, argument, help},
#include "src/lorchctl/options.def"
};
