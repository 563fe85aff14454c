/* Reading values and writing frames, where the golden frames do not reach. */
#include "config.h"

#include <criterion/criterion.h>
#include <string.h>

#include "proto/msg.h"
#include "tests/unit/hex.h"

static struct hex open_hex(struct msg *msg, const char *body)
{
    struct hex hex = hex_parse(body);
    struct why why;
    cr_assert_eq(msg_open(msg, hex.data, hex.n, &why), 0, "%s", why.text);
    return hex;
}

Test(msg, readers_give_the_fallback_for_other_kinds)
{
    struct msg msg = MSG_NULL;
    struct hex hex = open_hex(&msg, "85 a1'n' c0 a1'i' 05 a1's' a1'x' a1'f' ca 3f000000 a1'a' 91 07");
    const struct msg_value *i = msg_get(msg.root, "i"), *s = msg_get(msg.root, "s"),
                           *f = msg_get(msg.root, "f"), *a = msg_get(msg.root, "a"),
                           *nil = msg_get(msg.root, "n");
    size_t n;
    cr_expect_null(msg_get(msg.root, "ab"));
    cr_expect_null(msg_get(i, "i"));
    cr_expect_null(msg_get(NULL, "i"));
    cr_expect_eq(msg_kind(nil), MSG_NIL);
    cr_expect_eq(msg_kind(NULL), MSG_NONE);
    cr_expect_eq(msg_kind(f), MSG_FLOAT32);
    cr_expect_eq(msg_int(i, -1), 5);
    cr_expect_eq(msg_int(s, -1), -1);
    cr_expect_eq(msg_int(f, -1), -1, "a float is no integer");
    cr_expect_eq(msg_int(NULL, -1), -1);
    cr_expect_eq(msg_uint(i, 9), 5);
    cr_expect_float_eq(msg_float(i, -1), 5, 0);
    cr_expect_float_eq(msg_float(f, -1), 0.5, 0);
    cr_expect_float_eq(msg_float(s, -1), -1, 0);
    cr_expect(msg_bool(i, true));
    cr_expect(msg_is(s, "x"));
    cr_expect_not(msg_is(s, "xy"));
    cr_expect_not(msg_is(i, "x"));
    cr_expect_null(msg_bytes(i, &n));
    cr_expect_eq(n, 0);
    cr_expect_eq(msg_count(msg.root), 5);
    cr_expect_eq(msg_count(a), 1);
    cr_expect_eq(msg_count(s), 0);
    cr_expect_eq(msg_int(msg_at(a, 0), 0), 7);
    cr_expect_null(msg_at(a, 1));
    cr_expect_null(msg_at(s, 0));
    cr_expect_null(msg_key_at(a, 0, &n));
    cr_expect_null(msg_key_at(msg.root, 5, &n));
    cr_expect(!strncmp(msg_key_at(msg.root, 4, &n), "a", 1) && n == 1);
    msg_close(&msg);
    cr_expect_null(msg.root);
    free(hex.data);
}

Test(msg, big_integers)
{
    struct msg msg = MSG_NULL;
    struct hex hex = open_hex(&msg, "82 a4'seed' cf ffffffffffffffff a1'm' d3 8000000000000000");
    const struct msg_value *seed = msg_get(msg.root, "seed"), *m = msg_get(msg.root, "m");
    cr_expect_eq(msg_kind(seed), MSG_UINT);
    cr_expect_eq(msg_uint(seed, 0), UINT64_MAX);
    cr_expect_eq(msg_int(seed, -1), -1);
    cr_expect_eq(msg_int(m, 0), INT64_MIN);
    cr_expect_eq(msg_uint(m, 9), 9);
    msg_close(&msg);
    free(hex.data);
}

/* The walk comes first: five bytes that announce four billion elements get nowhere. */
Test(msg, bombs_are_refused)
{
    static const char *const bombs[] = {"df ffffffff", "81 a1'a' dd ffffffff", "81 a1'a' c6 ffffffff"};
    for (size_t i = 0; i < 3; i++) {
        struct hex hex = hex_parse(bombs[i]);
        struct msg msg = MSG_NULL;
        struct why why = {""};
        cr_expect_eq(msg_open(&msg, hex.data, hex.n, &why), MSG_E_MALFORMED);
        cr_expect(strstr(why.text, "4294967295"), "%s", why.text);
        cr_expect_null(msg.owner);
        free(hex.data);
    }
}

/* What wire_check lets pass at its limits, msgpack-c decodes. */
Test(msg, deepest_and_longest)
{
    uint8_t body[3 + 31];
    memcpy(body, "\x81\xa1k", 3);
    memset(body + 3, 0x91, 30);
    body[33] = 0x90;
    struct msg msg = MSG_NULL;
    cr_assert_eq(msg_open(&msg, body, sizeof body, NULL), 0);
    const struct msg_value *v = msg_get(msg.root, "k");
    for (int i = 0; i < 30; i++)
        v = msg_at(v, 0);
    cr_expect_eq(msg_kind(v), MSG_ARRAY);
    msg_close(&msg);

    size_t n = WIRE_MAX_ELEMENT - 1;
    uint8_t *flat = calloc(1, 8 + n);
    memcpy(flat,
           (const uint8_t[]){0x81, 0xa1, 'k', 0xdd, 0, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n}, 8);
    flat[7 + n] = 0x7f;
    cr_assert_eq(msg_open(&msg, flat, 8 + n, NULL), 0);
    cr_expect_eq(msg_int(msg_at(msg_get(msg.root, "k"), n - 1), 0), 0x7f);
    msg_close(&msg);
    free(flat);
}

/* {"type": "result", "pieces": [n times ""]} as written, and what its head should be. */
static void check_head(size_t n, const char *want_head)
{
    struct buf buf;
    buf_init(&buf, 0);
    struct msg_out out;
    msg_begin(&out, &buf, PROTO_TOKENIZE_RESULT, PROTO_MAX_FRAME_OUT);
    msg_array(&out, PROTO_TOKENIZE_RESULT_PIECES);
    for (size_t i = 0; i < n; i++)
        msg_put_bin(&out, PROTO_ELEMENT, "", 0);
    msg_close_part(&out);
    msg_put_int(&out, PROTO_TOKENIZE_RESULT_ID, 1);
    cr_assert_eq(msg_end(&out), 0);
    struct hex head = hex_parse(want_head);
    size_t at = 4 + 1 + 5 + 7 + 7;
    cr_expect_eq(buf.n, at + head.n + 2 * n + 4, "%zu elements", n);
    cr_expect(!memcmp(buf.data + at, head.data, head.n), "%zu elements", n);
    cr_expect_eq(buf.data[at + head.n + 2 * n], 0xa2, "%zu elements", n);
    struct msg msg = MSG_NULL;
    cr_assert_eq(msg_open(&msg, buf.data + 4, buf.n - 4, NULL), 0);
    cr_expect_eq(msg_count(msg_get(msg.root, "pieces")), n);
    cr_expect_eq(msg_int(msg_get(msg.root, "id"), 0), 1);
    msg_close(&msg);
    buf_deinit(&buf);
    free(head.data);
}

Test(msg, counts_of_every_size)
{
    check_head(0, "90");
    check_head(15, "9f");
    check_head(16, "dc 0010");
    check_head(65535, "dc ffff");
    check_head(65536, "dd 00010000");
}

/* A buffer with a cap of its own; whatever was in it stays. */
Test(msg, nothing_is_written_by_halves)
{
    for (size_t cap = 0; cap < 64; cap++) {
        struct buf buf;
        buf_init(&buf, cap ? cap : 1);
        if (cap)
            cr_assert_eq(buf_push(&buf, "!", 1), 0);
        size_t before = buf.n;
        struct msg_out out;
        msg_begin(&out, &buf, PROTO_DONE, PROTO_MAX_FRAME_OUT);
        msg_map(&out, PROTO_DONE_USAGE);
        msg_put_int(&out, PROTO_USAGE_TOTAL_TOKENS, 1000);
        msg_close_part(&out);
        int r = msg_end(&out);
        /* The prefix, the map, type: done, usage: {total_tokens: 1000}. */
        size_t n = 4 + 1 + 5 + 5 + 6 + 1 + 13 + 3;
        cr_expect_eq(r, before + n <= cap ? 0 : MSG_E_TOO_LARGE, "cap %zu: %d", cap, r);
        cr_expect_eq(buf.n, r ? before : before + n, "cap %zu: %zu", cap, buf.n);
        buf_deinit(&buf);
    }
}

Test(msg, error_row)
{
    struct buf buf;
    buf_init(&buf, 0);
    struct msg_out out;
    msg_begin(&out, &buf, PROTO_ERROR, PROTO_MIN_FRAME);
    msg_put_error(&out, PROTO_E_DRAINING, "the server is about to end");
    cr_assert_eq(msg_end(&out), 0);
    struct msg msg = MSG_NULL;
    cr_assert_eq(msg_open(&msg, buf.data + 4, buf.n - 4, NULL), 0);
    cr_expect(msg_is(msg_get(msg.root, "code"), "draining"));
    cr_expect(msg_is(msg_get(msg.root, "error_type"), "unavailable_error"));
    cr_expect_eq(msg_int(msg_get(msg.root, "status"), 0), 503);
    cr_expect(msg_bool(msg_get(msg.root, "retryable"), false));
    msg_close(&msg);
    buf_deinit(&buf);
}

/* A map that no table describes, between fields that one does. */
Test(msg, keys_of_free_maps)
{
    struct buf buf;
    struct msg_out out;
    struct msg msg = MSG_NULL;
    struct why why;
    buf_init(&buf, 0);
    msg_begin(&out, &buf, PROTO_CHAT, 1000);
    msg_map(&out, PROTO_CHAT_CHAT_TEMPLATE_KWARGS);
    msg_key(&out, "a\0b", 3);
    msg_put_bool(&out, PROTO_ELEMENT, false);
    msg_key(&out, "list", 4);
    msg_array(&out, PROTO_ELEMENT);
    msg_put_int(&out, PROTO_ELEMENT, 7);
    msg_map(&out, PROTO_ELEMENT);
    msg_key(&out, "k", 1);
    msg_put_nil(&out, PROTO_ELEMENT);
    msg_close_part(&out);
    msg_close_part(&out);
    msg_close_part(&out);
    msg_put_int(&out, PROTO_CHAT_ID, 5);
    cr_assert_eq(msg_end(&out), 0);
    cr_assert_eq(msg_open(&msg, buf.data + FRAME_HEADER, buf.n - FRAME_HEADER, &why), 0, "%s", why.text);
    const struct msg_value *map = msg_get(msg.root, "chat_template_kwargs"), *list = msg_get(map, "list");
    size_t n;
    cr_assert_eq(msg_count(map), 2);
    cr_assert(!memcmp(msg_key_at(map, 0, &n), "a\0b", 3) && n == 3);
    cr_assert_not(msg_bool(msg_at(map, 0), true));
    cr_assert_eq(msg_count(list), 2);
    cr_assert_eq(msg_int(msg_at(list, 0), 0), 7);
    cr_assert(msg_key_at(msg_at(list, 1), 0, &n) && n == 1);
    cr_assert_eq(msg_kind(msg_at(msg_at(list, 1), 0)), MSG_NIL);
    cr_assert_eq(msg_int(msg_get(msg.root, "id"), 0), 5);
    msg_close(&msg);
    buf_deinit(&buf);
}
