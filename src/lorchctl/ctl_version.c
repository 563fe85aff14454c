/* lorchctl version: of lorchctl, and of the server if one answers. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/lorchctl/conn.h"
#include "src/lorchctl/ctl.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/out.h"
#include "src/lorchctl/show.h"

int ctl_version(struct options *options)
{
    struct conn conn;
    size_t n = 0;
    const char *server = NULL;
    int r = show_no_arguments(options);
    if (r)
        return r;
    if (!conn_try(&conn, options->values[CTL_OPTION_SOCKET]) && !conn_ask(&conn, PROTO_HELLO))
        server = msg_bytes(msg_get(conn.msg.root, "version"), &n);
    int64_t protocol = msg_int(msg_get(conn.msg.root, "protocol"), 0);
    if (options_has(options, CTL_OPTION_JSON_VERSION)) {
        printf("{\"format\": %d, \"version\": \"" VERSION "\", \"protocol\": %d, \"server\": ", OUT_FORMAT,
               PROTO_VERSION);
        if (server)
            out_json_string(stdout, server, n);
        else
            fputs("null", stdout);
        puts("}");
    } else {
        printf("lorchctl (lorch) " VERSION ", protocol %d\n", PROTO_VERSION);
        if (server)
            printf("lorchd %.*s, protocol %" PRId64 "\n", (int)n, server, protocol);
        else
            puts("lorchd: nothing listens");
    }
    conn_close(&conn);
    return 0;
}
