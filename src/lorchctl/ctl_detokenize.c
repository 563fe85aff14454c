/* lorchctl detokenize: token ids to text. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/lorchctl/conn.h"
#include "src/lorchctl/ctl.h"
#include "src/lorchctl/input.h"
#include "src/lorchctl/offline.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/out.h"

/* Ids separated by white space or commas, as tokenize prints them; brackets of a JSON array are passed over.
 */
static int read_ids(const char *text, struct buf *ids)
{
    for (const char *p = text; *(p += strspn(p, " \t\r\n,[]"));) {
        char *end;
        errno = 0;
        long v = strtol(p, &end, 10);
        if (end == p || errno || v < 0 || v > INT32_MAX) {
            fprintf(stderr, "lorchctl: '%.20s' is no token id\n", p);
            return EX_USAGE;
        }
        int32_t id = (int32_t)v;
        if (buf_push(ids, &id, sizeof id)) {
            fprintf(stderr, "lorchctl: more ids than a request may have (%d)\n", PROTO_MAX_ELEMENT);
            return EX_DATAERR;
        }
        p = end;
    }
    return 0;
}

static int collect_ids(const struct options *options, struct buf *ids)
{
    struct buf text;
    int r = 0;
    for (int i = 0; i < options->n_argument && !r; i++)
        r = read_ids(options->arguments[i], ids);
    if (options->n_argument)
        return r;
    r = input_read(&text, NULL, NULL);
    if (!r)
        r = buf_push(&text, "", 1) ? EX_DATAERR : read_ids((const char *)text.data, ids);
    buf_deinit(&text);
    return r;
}

static int decode_offline(const struct options *options, const struct buf *ids)
{
    struct offline_decoding d = {
        .tokenizer = options->values[CTL_OPTION_TOKENIZER_DETOKENIZE],
        .ids = (const int32_t *)(const void *)ids->data,
        .n = ids->n / sizeof(int32_t),
        .return_special = options_has_field(options, PROTO_DETOKENIZE_RETURN_SPECIAL),
        .json = options_has(options, CTL_OPTION_JSON_DETOKENIZE),
        .jsonl = options_has(options, CTL_OPTION_JSONL_DETOKENIZE),
    };
    return offline_decode(&d);
}

int ctl_detokenize(struct options *options)
{
    struct conn conn;
    struct buf ids, frame;
    struct msg_out out;
    const bool is_offline = options_has(options, CTL_OPTION_TOKENIZER_DETOKENIZE),
               by_line = options_has(options, CTL_OPTION_JSONL_DETOKENIZE);
    if (by_line && !is_offline)
        return offline_needs_tokenizer();
    buf_init(&ids, (size_t)PROTO_MAX_ELEMENT * sizeof(int32_t));
    buf_init(&frame, (size_t)FRAME_MAX_IN + FRAME_HEADER);
    int r = by_line ? 0 : collect_ids(options, &ids);
    if (!r && is_offline) {
        r = decode_offline(options, &ids);
        buf_deinit(&ids);
        return r;
    }
    if (!r)
        r = conn_open(&conn, options->values[CTL_OPTION_SOCKET]);
    if (r) {
        buf_deinit(&ids);
        return r;
    }
    msg_begin(&out, &frame, PROTO_DETOKENIZE, FRAME_MAX_IN);
    msg_put_int(&out, PROTO_DETOKENIZE_ID, 1);
    msg_put_ints(&out, PROTO_DETOKENIZE_TOKENS, (const int32_t *)(const void *)ids.data,
                 ids.n / sizeof(int32_t));
    if (!options_write_fields(options, &out))
        r = EX_USAGE;
    else
        r = msg_end(&out) ? EX_DATAERR : conn_send(&conn, &frame);
    if (!r)
        r = conn_reply(&conn);
    size_t n;
    const char *content = msg_bytes(msg_get(conn.msg.root, "content"), &n);
    if (!r && options_has(options, CTL_OPTION_JSON_DETOKENIZE)) {
        out_json_result(stdout, conn.msg.root);
    } else if (!r && content) {
        fwrite(content, 1, n, stdout);
        if (isatty(STDOUT_FILENO))
            putchar('\n');
    }
    conn_close(&conn);
    buf_deinit(&ids);
    buf_deinit(&frame);
    return r;
}
