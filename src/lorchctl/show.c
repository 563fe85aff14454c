/* Ask one question and show the reply: see show.h. */
#include "config.h"
#include "src/lorchctl/show.h"

#include <stdio.h>
#include <sysexits.h>

#include "src/lorchctl/conn.h"
#include "src/lorchctl/out.h"

int show_no_arguments(const struct options *options)
{
    if (!options->n_argument)
        return 0;
    fprintf(stderr, "lorchctl: %s takes no argument, not '%s'\n", ctl_commands[options->command].name,
            options->arguments[0]);
    return EX_USAGE;
}

int show_result(const struct options *options, enum proto_message verb, enum ctl_option json)
{
    struct conn conn;
    int r = show_no_arguments(options);
    if (r)
        return r;
    r = conn_open(&conn, options->values[CTL_OPTION_SOCKET]);
    if (r)
        return r;
    r = conn_ask(&conn, verb);
    if (!r && options_has(options, json))
        out_json_result(stdout, conn.msg.root);
    else if (!r)
        out_table(stdout, conn.msg.root);
    conn_close(&conn);
    return r;
}
