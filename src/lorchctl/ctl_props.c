/* lorchctl props: what is served: model, memory, limits, defaults. */
#include "config.h"

#include "src/lorchctl/ctl.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/show.h"

int ctl_props(struct options *options)
{
    return show_result(options, PROTO_PROPS, CTL_OPTION_JSON_PROPS);
}
