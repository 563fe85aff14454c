/* lorchctl count: how many token ids a text has. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "src/lorchctl/conn.h"
#include "src/lorchctl/ctl.h"
#include "src/lorchctl/input.h"
#include "src/lorchctl/offline.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/out.h"

static int count_offline(const struct options *options)
{
    struct offline_encoding e = {
        .tokenizer = options->values[CTL_OPTION_TOKENIZER_COUNT],
        .text = options->n_argument ? options->arguments[0] : NULL,
        .add_special = !options_has_field(options, PROTO_COUNT_ADD_SPECIAL),
        .parse_special = options_has_field(options, PROTO_COUNT_PARSE_SPECIAL),
        .invalid_utf8 = options_field(options, PROTO_COUNT_INVALID_UTF8),
        .count = true,
        .json = options_has(options, CTL_OPTION_JSON_COUNT),
        .jsonl = options_has(options, CTL_OPTION_JSONL_COUNT),
    };
    return offline_encode(&e);
}

static int send_request(struct conn *conn, const struct options *options)
{
    struct buf text, frame;
    struct msg_out out;
    int r = input_read(&text, NULL, options->n_argument ? options->arguments[0] : NULL);
    buf_init(&frame, (size_t)FRAME_MAX_IN + FRAME_HEADER);
    if (!r) {
        msg_begin(&out, &frame, PROTO_COUNT, FRAME_MAX_IN);
        msg_put_int(&out, PROTO_COUNT_ID, 1);
        input_write(&out, PROTO_COUNT_CONTENT, &text);
        if (!options_write_fields(options, &out))
            r = EX_USAGE;
        else
            r = msg_end(&out) ? EX_DATAERR : conn_send(conn, &frame);
    }
    buf_deinit(&text);
    buf_deinit(&frame);
    return r;
}

int ctl_count(struct options *options)
{
    struct conn conn;
    if (options->n_argument > 1) {
        fprintf(stderr, "lorchctl: one text, not %d: quote it\n", options->n_argument);
        return EX_USAGE;
    }
    if (options_has(options, CTL_OPTION_TOKENIZER_COUNT))
        return count_offline(options);
    if (options_has(options, CTL_OPTION_JSONL_COUNT))
        return offline_needs_tokenizer();
    int r = conn_open(&conn, options->values[CTL_OPTION_SOCKET]);
    if (r)
        return r;
    r = send_request(&conn, options);
    if (!r)
        r = conn_reply(&conn);
    if (!r && options_has(options, CTL_OPTION_JSON_COUNT))
        out_json_result(stdout, conn.msg.root);
    else if (!r)
        printf("%" PRId64 "\n", msg_int(msg_get(conn.msg.root, "n_tokens"), 0));
    conn_close(&conn);
    return r;
}
