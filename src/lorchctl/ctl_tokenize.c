/* lorchctl tokenize: text to token ids. */
#include "config.h"

#include <stdio.h>
#include <sysexits.h>

#include "src/base/cleanup.h"
#include "src/base/mem.h"
#include "src/lorchctl/conn.h"
#include "src/lorchctl/ctl.h"
#include "src/lorchctl/input.h"
#include "src/lorchctl/offline.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/out.h"
#include "src/lorchctl/tokens.h"

static int send_request(struct conn *conn, const struct options *options)
{
    struct buf text, frame;
    struct msg_out out;
    int r = input_read(&text, NULL, options->n_argument ? options->arguments[0] : NULL);
    buf_init(&frame, (size_t)FRAME_MAX_IN + FRAME_HEADER);
    if (!r) {
        msg_begin(&out, &frame, PROTO_TOKENIZE, FRAME_MAX_IN);
        msg_put_int(&out, PROTO_TOKENIZE_ID, 1);
        input_write(&out, PROTO_TOKENIZE_CONTENT, &text);
        if (options_has(options, CTL_OPTION_PIECES))
            msg_put_bool(&out, PROTO_TOKENIZE_WITH_PIECES, true);
        if (!options_write_fields(options, &out))
            r = EX_USAGE;
        else
            r = msg_end(&out) ? EX_DATAERR : conn_send(conn, &frame);
    }
    buf_deinit(&text);
    buf_deinit(&frame);
    return r;
}

static int print_result(const struct options *options, const struct msg_value *result)
{
    const struct msg_value *tokens = msg_get(result, "tokens"), *pieces = msg_get(result, "pieces");
    size_t n = msg_count(tokens);
    CLEANUP_FREE struct tokens_row *rows = mem_array(n, sizeof *rows);
    if (!rows) {
        fprintf(stderr, "lorchctl: out of memory\n");
        return EX_OSERR;
    }
    for (size_t i = 0; i < n; i++) {
        rows[i].id = msg_int(msg_at(tokens, i), 0);
        rows[i].piece = msg_bytes(msg_at(pieces, i), &rows[i].n_piece);
    }
    if (options_has(options, CTL_OPTION_JSON_TOKENIZE)) {
        printf("{\"format\": %d, ", OUT_FORMAT);
        tokens_print_members(stdout, rows, n, pieces);
        puts("}");
    } else {
        tokens_print_text(stdout, rows, n, pieces);
    }
    return 0;
}

static int encode_offline(const struct options *options)
{
    struct offline_encoding e = {
        .tokenizer = options->values[CTL_OPTION_TOKENIZER_TOKENIZE],
        .text = options->n_argument ? options->arguments[0] : NULL,
        .add_special = !options_has_field(options, PROTO_TOKENIZE_ADD_SPECIAL),
        .parse_special = options_has_field(options, PROTO_TOKENIZE_PARSE_SPECIAL),
        .invalid_utf8 = options_field(options, PROTO_TOKENIZE_INVALID_UTF8),
        .pieces = options_has(options, CTL_OPTION_PIECES),
        .json = options_has(options, CTL_OPTION_JSON_TOKENIZE),
        .jsonl = options_has(options, CTL_OPTION_JSONL_TOKENIZE),
    };
    return offline_encode(&e);
}

int ctl_tokenize(struct options *options)
{
    struct conn conn;
    if (options->n_argument > 1) {
        fprintf(stderr, "lorchctl: one text, not %d: quote it\n", options->n_argument);
        return EX_USAGE;
    }
    if (options_has(options, CTL_OPTION_TOKENIZER_TOKENIZE))
        return encode_offline(options);
    if (options_has(options, CTL_OPTION_JSONL_TOKENIZE))
        return offline_needs_tokenizer();
    int r = conn_open(&conn, options->values[CTL_OPTION_SOCKET]);
    if (r)
        return r;
    r = send_request(&conn, options);
    if (!r)
        r = conn_reply(&conn);
    if (!r)
        r = print_result(options, conn.msg.root);
    conn_close(&conn);
    return r;
}
