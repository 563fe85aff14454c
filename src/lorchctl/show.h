/* Ask one question and show the reply, as a table or as JSON. */
#pragma once

#include "src/lorchctl/ctl.h"
#include "src/lorchctl/options.h"

/* Sends a request without fields; prints its result; returns the exit status. Refuses arguments. */
int show_result(const struct options *options, enum proto_message verb, enum ctl_option json);
/* Prints and returns EX_USAGE where arguments were given to a command that takes none; else 0. */
int show_no_arguments(const struct options *options);
