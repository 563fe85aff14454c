/* lorchctl status: what the server is doing, and counters. */
#include "config.h"

#include "src/lorchctl/ctl.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/show.h"

int ctl_status(struct options *options)
{
    return show_result(options, PROTO_STATUS, CTL_OPTION_JSON_STATUS);
}
