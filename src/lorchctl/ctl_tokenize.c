/* lorchctl tokenize: text to token ids. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "src/base/utf8.h"
#include "src/lorchctl/conn.h"
#include "src/lorchctl/ctl.h"
#include "src/lorchctl/input.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/out.h"

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

/* A piece that is no text of its own (half a character) is shown byte by byte. */
static void print_piece(const struct msg_value *piece)
{
    size_t n;
    const char *bytes = msg_bytes(piece, &n);
    if (utf8_check((const uint8_t *)bytes, n) == n)
        out_json_string(stdout, bytes, n);
    else
        out_json_value(stdout, piece);
}

/* The result, with pieces as strings where they are UTF-8. */
static void print_json(const struct msg_value *result)
{
    const struct msg_value *pieces = msg_get(result, "pieces");
    printf("{\"format\": %d, \"tokens\": ", OUT_FORMAT);
    out_json_value(stdout, msg_get(result, "tokens"));
    if (pieces) {
        fputs(", \"pieces\": [", stdout);
        for (size_t i = 0; i < msg_count(pieces); i++) {
            fputs(i ? ", " : "", stdout);
            print_piece(msg_at(pieces, i));
        }
        putchar(']');
    }
    puts("}");
}

static void print_text(const struct msg_value *result)
{
    const struct msg_value *tokens = msg_get(result, "tokens"), *pieces = msg_get(result, "pieces");
    for (size_t i = 0; i < msg_count(tokens); i++) {
        if (!pieces) {
            printf(i ? " %" PRId64 : "%" PRId64, msg_int(msg_at(tokens, i), 0));
            continue;
        }
        printf("%" PRId64 "\t", msg_int(msg_at(tokens, i), 0));
        print_piece(msg_at(pieces, i));
        putchar('\n');
    }
    if (!pieces)
        putchar('\n');
}

int ctl_tokenize(struct options *options)
{
    struct conn conn;
    if (options->n_argument > 1) {
        fprintf(stderr, "lorchctl: one text, not %d: quote it\n", options->n_argument);
        return EX_USAGE;
    }
    int r = conn_open(&conn, options->values[CTL_OPTION_SOCKET]);
    if (r)
        return r;
    r = send_request(&conn, options);
    if (!r)
        r = conn_reply(&conn);
    if (!r && options_has(options, CTL_OPTION_JSON_TOKENIZE))
        print_json(conn.msg.root);
    else if (!r)
        print_text(conn.msg.root);
    conn_close(&conn);
    return r;
}
