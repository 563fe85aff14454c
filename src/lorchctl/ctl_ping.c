/* lorchctl ping: ask whether the server is alive, and how fast it answers. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "src/base/clock.h"
#include "src/lorchctl/conn.h"
#include "src/lorchctl/ctl.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/out.h"
#include "src/lorchctl/show.h"

enum { MAX_COUNT = 1000000 };

int ctl_ping(struct options *options)
{
    struct conn conn;
    long count = 1;
    int r = show_no_arguments(options);
    if (r)
        return r;
    if (!options_int(options, CTL_OPTION_TIMES, 1, MAX_COUNT, &count))
        return EX_USAGE;
    r = conn_open(&conn, options->values[CTL_OPTION_SOCKET]);
    if (r)
        return r;
    for (long i = 0; i < count && !r; i++) {
        int64_t begin = clock_us();
        r = conn_ask(&conn, PROTO_PING);
        int64_t us = clock_us() - begin;
        size_t n;
        const char *state = msg_bytes(msg_get(conn.msg.root, "state"), &n);
        if (!r && options_has(options, CTL_OPTION_JSON_PING)) {
            printf("{\"format\": %d, \"state\": ", OUT_FORMAT);
            out_json_string(stdout, state ? state : "", n);
            printf(", \"round_trip_us\": %" PRId64 "}\n", us);
        } else if (!r) {
            printf("%.*s, %" PRId64 " us\n", (int)n, state ? state : "", us);
        }
    }
    conn_close(&conn);
    return r;
}
