/* Requests: each kind of fault and its sentence, ids, several faults at once. */
#include "config.h"

#include <criterion/criterion.h>
#include <string.h>

#include "proto/request.h"
#include "tests/unit/hex.h"

/* "constraint: message" of every fault, a line each. */
static void faults_text(const struct request *request, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < request->faults.n && i < REQUEST_MAX_FAULT; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s%s: %s", i ? "\n" : "",
                 request->faults.list[i].constraint, request->faults.list[i].message);
}

#define GENERATE "a4'type' a8'generate' a2'id' 01 "
#define CHAT "a4'type' a4'chat' a2'id' 01 a8'messages' "
#define USER " a4'role' a4'user' "
#define ASSISTANT " a4'role' a9'assistant' "

static const struct {
    const char *body;
    const char *faults; /* "": none */
} cases[] = {
    {"83" GENERATE "a6'prompt' a0", ""},
    {"83" GENERATE "a6'tokens' 90", ""},
    {"82" GENERATE, "missing: prompt or tokens must be given"},
    {"84" GENERATE "a6'prompt' a0 a6'tokens' 90", "conflict: tokens and prompt exclude each other"},
    {"83" GENERATE "a6'prompt' 01", "type: prompt is an integer, must be a string or binary"},
    {"83" GENERATE "a6'prompt' c0", "type: prompt is nil, must be a string or binary"},
    {"83" GENERATE "a6'prompt' c4 02 'a' ff", "utf8: prompt is not UTF-8 at byte 1"},
    {"84" GENERATE "a6'prompt' c4 01 ff ac'invalid_utf8' a7'replace'", ""},
    {"84" GENERATE "a6'prompt' a0 ac'invalid_utf8' a6'repair'",
     "choice: invalid_utf8 must be one of error|replace"},
    {"84" GENERATE "a6'prompt' a0 ac'invalid_utf8' a3'err'",
     "choice: invalid_utf8 must be one of error|replace"},
    {"84" GENERATE "a6'prompt' a0 ac'invalid_utf8' a0", "choice: invalid_utf8 must be one of error|replace"},
    {"83" GENERATE "a6'tokens' 92 05 ca 3f800000", "type: tokens at index 1 is a float, must be an integer"},
    {"83" GENERATE "a6'tokens' 91 ff", "range: tokens at index 0 is -1, must be 0 to 2147483647"},
    {"83" GENERATE "a6'tokens' 91 ce 80000000",
     "range: tokens at index 0 is 2147483648, must be 0 to 2147483647"},
    {"83" GENERATE "a6'tokens' a1'x'", "type: tokens is a string, must be an array of integers"},

    /* Numbers: a float field takes an integer, an integer field no float, and nothing takes nil. */
    {"84" GENERATE "a6'prompt' a0 ab'temperature' 02", ""},
    {"84" GENERATE "a6'prompt' a0 ab'temperature' ca 00000000", ""},
    {"84" GENERATE "a6'prompt' a0 ab'temperature' 03", "range: temperature is 3, must be 0 to 2"},
    {"84" GENERATE "a6'prompt' a0 ab'temperature' ca 7fc00000", "range: temperature is nan, must be 0 to 2"},
    {"84" GENERATE "a6'prompt' a0 ab'temperature' ca ff800000", "range: temperature is -inf, must be 0 to 2"},
    {"84" GENERATE "a6'prompt' a0 ab'temperature' a1'1'", "type: temperature is a string, must be a number"},
    {"84" GENERATE "a6'prompt' a0 ab'temperature' c0", "type: temperature is nil, must be a number"},
    {"84" GENERATE "a6'prompt' a0 a5'top_p' 00", "range: top_p is 0, must be above 0 and at most 1"},
    {"84" GENERATE "a6'prompt' a0 a5'top_p' ca 3f000000", ""},
    {"84" GENERATE "a6'prompt' a0 aa'max_tokens' cb 4010000000000000",
     "type: max_tokens is a float, must be an integer"},
    {"84" GENERATE "a6'prompt' a0 aa'max_tokens' ff", "range: max_tokens is -1, must be 0 to 2147483647"},
    {"84" GENERATE "a6'prompt' a0 aa'max_tokens' 00", ""},
    {"84" GENERATE "a6'prompt' a0 ad'repeat_last_n' ff", ""},
    {"84" GENERATE "a6'prompt' a0 ad'repeat_last_n' fe",
     "range: repeat_last_n is -2, must be -1 to 2147483647"},
    {"84" GENERATE "a6'prompt' a0 a4'seed' ff", "range: seed is -1, must be 0 to 2^64 - 1"},
    {"84" GENERATE "a6'prompt' a0 a4'seed' cb 3ff0000000000000", "type: seed is a float, must be an integer"},
    {"84" GENERATE "a6'prompt' a0 a6'stream' 01", "type: stream is an integer, must be a boolean"},
    {"84" GENERATE "a6'prompt' a0 a6'stream' c2", ""},

    /* Strings and arrays. */
    {"84" GENERATE "a6'prompt' a0 a4'stop' a0", "length: stop has 0 bytes, must have 1 to 256"},
    {"84" GENERATE "a6'prompt' a0 a4'stop' 92 a1'x' a0",
     "length: stop at index 1 has 0 bytes, must have 1 to 256"},
    {"84" GENERATE "a6'prompt' a0 a4'stop' 91 01", "type: stop at index 0 is an integer, must be a string"},
    {"84" GENERATE "a6'prompt' a0 a4'stop' 01",
     "type: stop is an integer, must be a string or an array of strings"},
    {"84" GENERATE "a6'prompt' a0 a4'stop' c4 01 'x'",
     "type: stop is binary, must be a string or an array of strings"},
    {"84" GENERATE
     "a6'prompt' a0 a4'stop' dc 0011 a1'a'a1'a'a1'a'a1'a'a1'a'a1'a'a1'a'a1'a'a1'a'a1'a'a1'a'a1'a'a1'a'"
     "a1'a'a1'a'a1'a'a1'a'",
     "count: stop has 17 elements, may have 16"},
    {"84" GENERATE "a6'prompt' a0 aa'logit_bias' 92 92 05 03 92 06 cb bff8000000000000", ""},
    {"84" GENERATE "a6'prompt' a0 aa'logit_bias' 91 05", "type: logit_bias at index 0 must be [id, number]"},
    {"84" GENERATE "a6'prompt' a0 aa'logit_bias' 91 91 05",
     "type: logit_bias at index 0 must be [id, number]"},
    {"84" GENERATE "a6'prompt' a0 aa'logit_bias' 91 92 ff 00",
     "range: logit_bias at index 0 is -1, must be 0 to 2147483647"},
    {"84" GENERATE "a6'prompt' a0 aa'logit_bias' 91 92 05 65",
     "range: logit_bias at index 0 is 101, must be -100 to 100"},
    {"84" GENERATE "a6'prompt' a0 aa'logit_bias' 81 a1'5' 01",
     "type: logit_bias is a map, must be an array of [id, number]"},

    /* Together. */
    {"85" GENERATE "a6'prompt' a0 aa'min_tokens' 06 aa'max_tokens' 05",
     "conflict: min_tokens is 6, max_tokens is 5"},
    {"84" GENERATE "a6'prompt' a0 ac'top_logprobs' 05", "conflict: top_logprobs needs logprobs"},
    {"85" GENERATE "a6'prompt' a0 ac'top_logprobs' 05 a8'logprobs' c3", ""},
    {"85" GENERATE "a6'prompt' a0 ac'top_logprobs' 15 a8'logprobs' c3",
     "range: top_logprobs is 21, must be 0 to 20"},

    /* Unknown fields, also where optional names them, or others. */
    {"84" GENERATE "a6'prompt' a0 a7'grammar' a0", "unknown: grammar is not a field of generate"},
    {"85" GENERATE "a6'prompt' a0 a7'grammar' a0 a8'optional' 91 a7'grammar'", ""},
    {"85" GENERATE "a6'prompt' a0 a7'grammar' a0 a8'optional' 91 a6'choice'",
     "unknown: grammar is not a field of generate"},
    {"85" GENERATE "a6'prompt' a0 a7'grammar' a0 a8'optional' a7'grammar'",
     "unknown: grammar is not a field of generate\ntype: optional is a string, must be an array of strings"},
    {"85" GENERATE "a6'prompt' a0 a5'top_k' ff a8'optional' 91 a5'top_k'",
     "range: top_k is -1, must be 0 to 2147483647"},

    /* All at once. */
    {"86" GENERATE "a5'top_p' 02 a6'colour' c3 ab'temperature' c0 a6'tokens' 91 c0",
     "range: top_p is 2, must be above 0 and at most 1\nunknown: colour is not a field of generate\n"
     "type: temperature is nil, must be a number\ntype: tokens at index 0 is nil, must be an integer"},

    /* Other verbs. */
    {"81 a4'type' a5'hello'", ""},
    {"82 a4'type' a5'hello' a9'max_frame' cd 0fff", "range: max_frame is 4095, must be 16384 to 16777216"},
    {"82 a4'type' a5'hello' a8'protocol' 00", "range: protocol is 0, must be 1 to 2147483647"},
    {"81 a4'type' a4'ping'", ""},
    {"82 a4'type' a4'ping' a2'id' 00", "range: id is 0, must be 1 to 9223372036854775807"},
    {"81 a4'type' a6'cancel'", "missing: id or job must be given"},
    {"83 a4'type' a6'cancel' a2'id' 01 a3'job' 02", "conflict: job and id exclude each other"},
    {"82 a4'type' a6'cancel' a2'id' ff", "range: id is -1, must be 1 to 9223372036854775807"},
    {"82 a4'type' a6'status' a2'id' 01", ""},
    {"83 a4'type' a6'status' a2'id' 01 a6'prompt' a0", "unknown: prompt is not a field of status"},
    {"82 a4'type' a8'tokenize' a2'id' 01", "missing: content must be given"},
    {"83 a4'type' a8'tokenize' a2'id' 01 a7'content' c4 01 ff", "utf8: content is not UTF-8 at byte 0"},
    {"82 a4'type' aa'detokenize' a2'id' 01", "missing: tokens must be given"},

    /* Conversations. */
    {"82 a4'type' a4'chat' a2'id' 01", "missing: messages must be given"},
    {"83" CHAT "90", "count: messages has no elements, must have one at least"},
    {"83" CHAT "80", "type: messages is a map, must be an array of maps"},
    {"83" CHAT "91 a1'x'", "type: messages[0] is a string, must be a map"},
    {"83" CHAT "92 82" USER "a7'content' a0 81 a7'content' a0", "missing: messages[1].role must be given"},
    {"83" CHAT "91 82 a4'role' a3'bot' a7'content' a0",
     "choice: messages[0].role must be one of system|user|assistant|tool"},
    {"83" CHAT "91 82" USER "a7'content' c0",
     "missing: messages[0].content must be given and not nil, but in a message of the assistant"},
    {"83" CHAT "91 82 a4'role' a9'assistant' a7'content' c0", ""},
    {"83" CHAT "91 81 a4'role' a9'assistant'", ""},
    {"83" CHAT "91 82" USER "a7'content' 01",
     "type: messages[0].content is an integer, must be a string, nil or an array of maps"},
    {"83" CHAT "91 82" USER "a7'content' 91 82 a4'type' a4'text' a4'text' a1'x'", ""},
    {"83" CHAT "91 82" USER "a7'content' 91 82 a4'type' a5'image' a4'text' a1'x'",
     "choice: messages[0].content[0].type must be one of text"},
    {"83" CHAT "91 83" USER "a7'content' a0 a5'extra' 91 c4 01 'x'",
     "type: messages[0] holds binary or a number that is not finite"},
    {"83" CHAT "91 83" USER "a7'content' a0 a5'extra' cb 7ff0000000000000",
     "type: messages[0] holds binary or a number that is not finite"},
    {"83" CHAT "91 83" USER "a7'content' a0 a5'extra' 93 c0 81 a1'x' c3 cb 3ff0000000000000", ""},
    {"83" CHAT "91 82" ASSISTANT "aa'tool_calls' 91 81 a8'function' 82 a4'name' a1'f' a9'arguments' 80", ""},
    {"83" CHAT "91 82" ASSISTANT "aa'tool_calls' 91 81 a8'function' 81 a4'name' a0",
     "length: messages[0].tool_calls[0].function.name has 0 bytes, must have 1 to 256\n"
     "missing: messages[0].tool_calls[0].function.arguments must be given"},
    {"83" CHAT "91 82" ASSISTANT "aa'tool_calls' 91 81 a8'function' 82 a4'name' a1'f' a9'arguments' 01",
     "type: messages[0].tool_calls[0].function.arguments is an integer, must be a string or a map"},
    {"84" CHAT "91 82" USER "a7'content' a0 a5'tools' 91 80",
     "missing: tools[0].type must be given\nmissing: tools[0].function must be given"},
    {"84" CHAT "91 82" USER "a7'content' a0 a5'tools' 90", ""},
    {"84" CHAT "91 82" USER "a7'content' a0 ab'tool_choice' a8'required'",
     "choice: tool_choice must be one of auto|none"},
    {"84" CHAT "91 82" USER "a7'content' a0 b4'chat_template_kwargs' 90",
     "type: chat_template_kwargs is an array, must be a map"},
    {"84" CHAT "91 82" USER "a7'content' a0 b4'chat_template_kwargs' 82 a9'bos_token' a1'x' "
     "b0'reasoning_effort' 05",
     ""},
    {"84" CHAT "91 82" USER "a7'content' a0 b4'chat_template_kwargs' 82 a5'tools' 90 "
     "b5'add_generation_prompt' c2",
     "conflict: chat_template_kwargs.tools is what the field tools says\n"
     "conflict: chat_template_kwargs.add_generation_prompt is what the field add_generation_prompt says"},
    {"85" CHAT "91 82" USER "a7'content' a0 b4'chat_template_kwargs' 81 b0'reasoning_effort' a3'low' "
     "b0'reasoning_effort' a3'low'",
     "conflict: chat_template_kwargs.reasoning_effort is what the field reasoning_effort says"},
    {"85" CHAT "91 82" USER "a7'content' a0 b5'add_generation_prompt' c3 b6'continue_final_message' c3",
     "conflict: continue_final_message and add_generation_prompt exclude each other"},
    {"84" CHAT "91 82" USER "a7'content' a0 aa'max_tokens' ff",
     "range: max_tokens is -1, must be 0 to 2147483647"},
    {"84" CHAT "91 82" USER "a7'content' a0 ac'top_logprobs' 05", "conflict: top_logprobs needs logprobs"},
    {"84" CHAT "91 82" USER "a7'content' a0 a6'prompt' a0", "unknown: prompt is not a field of chat"},
    {"82 a4'type' a5'count' a2'id' 01", "missing: content or messages must be given"},
    {"83 a4'type' a5'count' a2'id' 01 a8'messages' 90",
     "count: messages has no elements, must have one at least"},
    {"85 a4'type' a5'count' a2'id' 01 a7'content' a0 a5'tools' 90 b5'add_generation_prompt' c2",
     "conflict: tools needs messages\nconflict: add_generation_prompt needs messages"},
    {"85 a4'type' a5'count' a2'id' 01 a8'messages' 91 82" USER "a7'content' a0 ad'parse_special' c3 "
     "ab'add_special' c3",
     "conflict: parse_special needs content"},

    /* No verb of ours: the id is good, so the connection stays. */
    {"82 a4'type' a4'done' a2'id' 01", "choice: type is not a verb of this server"},
    {"82 a4'type' 05 a2'id' 01", "type: type is an integer, must be a string"},
    {"81 a2'id' 01", "missing: type must be given"},
};

Test(request, faults)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hex hex = hex_parse(cases[i].body);
        struct request request;
        struct why why = {""};
        int r = request_decode(&request, hex.data, hex.n, &why);
        char text[4096];
        faults_text(&request, text, sizeof text);
        cr_expect_eq(r, *cases[i].faults ? REQUEST_E_INVALID : 0, "%s: %d, %s", cases[i].body, r, why.text);
        cr_expect_str_eq(text, cases[i].faults, "%s:\n%s\nnot\n%s", cases[i].body, text, cases[i].faults);
        request_deinit(&request);
        free(hex.data);
    }
}

/* Where an id is needed, a frame without a proper one costs the connection. */
Test(request, ids)
{
    static const struct {
        const char *body, *complaint;
    } bad[] = {
        {"82 a4'type' a8'generate' a6'prompt' a0", "the frame has no id"},
        {"82 a4'type' a6'status' a2'id' 00", "id is 0, must be 1 to 2^63 - 1"},
        {"82 a4'type' a6'status' a2'id' ff", "id is -1, must be 1 to 2^63 - 1"},
        {"82 a4'type' a6'status' a2'id' a1'1'", "id is a string, must be an integer"},
        {"82 a4'type' a6'status' a2'id' c0", "id is nil, must be an integer"},
        {"82 a4'type' a6'status' a2'id' ca 3f800000", "id is a float, must be an integer"},
        {"81 a4'type' a4'chat'", "the frame has no id"},
        {"80", "the frame has no id"},
        {"c0", "byte 0: the frame is not a map"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hex hex = hex_parse(bad[i].body);
        struct request request;
        struct why why = {""};
        cr_expect_eq(request_decode(&request, hex.data, hex.n, &why), REQUEST_E_PROTOCOL, "%s", bad[i].body);
        cr_expect_str_eq(why.text, bad[i].complaint, "%s: %s", bad[i].body, why.text);
        request_deinit(&request);
        free(hex.data);
    }
}

/* Decodes, lets request_error answer, opens the answer. */
static struct buf error_of(const char *body, struct msg *ret_msg)
{
    struct hex hex = hex_parse(body);
    struct request request;
    cr_assert_eq(request_decode(&request, hex.data, hex.n, NULL), REQUEST_E_INVALID, "%s", body);
    struct buf buf;
    buf_init(&buf, 0);
    cr_assert_eq(request_error(&request, &buf, PROTO_MIN_FRAME), 0);
    cr_assert_eq(msg_open(ret_msg, buf.data + 4, buf.n - 4, NULL), 0);
    request_deinit(&request);
    free(hex.data);
    return buf;
}

/* An error frame with an id ends the request of that id, so one about a bad cancel or ping has none. */
Test(request, whose_error)
{
    static const struct {
        const char *body;
        int64_t id;
        const char *code;
    } errors[] = {
        {"84 a4'type' a8'generate' a2'id' 09 a6'prompt' a0 a1'x' c0", 9, "unknown_field"},
        {"85 a4'type' a8'generate' a2'id' 09 a6'prompt' a0 a1'x' c0 a5'top_p' 02", 9, "invalid_request"},
        {"82 a4'type' a4'chat' a2'id' 09", 9, "invalid_request"},
        {"83 a4'type' a6'cancel' a2'id' 09 a1'x' c0", 0, "unknown_field"},
        {"83 a4'type' a4'ping' a2'id' 09 a1't' a0", 0, "invalid_request"},
        {"83 a4'type' a5'hello' a2'id' 09 a8'protocol' 00", 0, "invalid_request"},
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct msg msg = MSG_NULL;
        struct buf buf = error_of(errors[i].body, &msg);
        cr_expect_eq(msg_int(msg_get(msg.root, "id"), 0), errors[i].id, "%s", errors[i].body);
        cr_expect(msg_is(msg_get(msg.root, "code"), errors[i].code), "%s", errors[i].body);
        msg_close(&msg);
        buf_deinit(&buf);
    }
}

/* More faults than are kept, with names as long as they get: the answer fits into the smallest frame. */
Test(request, many_faults)
{
    struct buf body;
    buf_init(&body, 0);
    uint8_t head[] = {0xde, 0, 103};
    cr_assert_eq(buf_push(&body, head, sizeof head), 0);
    struct hex start = hex_parse(GENERATE "a6'prompt' a0");
    cr_assert_eq(buf_push(&body, start.data, start.n), 0);
    for (int i = 0; i < 100; i++) {
        char key[80];
        int n = snprintf(key, sizeof key, "\xd9\x40%03d", i);
        /* 61 more bytes of three-byte characters and one of one byte, so that a cut would fall inside. */
        for (int j = 0; j < 20; j++)
            n += snprintf(key + n, sizeof key - (size_t)n, "\xe2\x82\xac");
        n += snprintf(key + n, sizeof key - (size_t)n, "!");
        cr_assert_eq(n, 66);
        cr_assert_eq(buf_push(&body, key, (size_t)n), 0);
        cr_assert_eq(buf_push(&body, "\xc0", 1), 0);
    }
    struct request request;
    struct why why = {""};
    cr_assert_eq(request_decode(&request, body.data, body.n, &why), REQUEST_E_INVALID, "%s", why.text);
    cr_expect_eq(request.faults.n, 100);
    request_fault(&request, "tokens", "model", "at index %d is %d, the vocabulary has %d", 1, 70000, 32000);
    cr_expect_eq(request.faults.n, 101);
    struct buf out;
    buf_init(&out, 0);
    cr_assert_eq(request_error(&request, &out, PROTO_MIN_FRAME), 0);
    struct msg msg = MSG_NULL;
    cr_assert_eq(msg_open(&msg, out.data + 4, out.n - 4, &why), 0, "%s", why.text);
    const struct msg_value *detail = msg_get(msg.root, "detail");
    cr_expect_eq(msg_int(msg_get(detail, "n_faults"), 0), 101);
    cr_expect_eq(msg_count(msg_get(detail, "faults")), REQUEST_MAX_FAULT);
    cr_expect(msg_is(msg_get(msg.root, "code"), "invalid_request"), "the last fault is no unknown field");
    msg_close(&msg);
    buf_deinit(&out);
    request_deinit(&request);
    buf_deinit(&body);
    free(start.data);
}

/* A sentence that does not fit ends at a whole character. */
Test(request, long_sentence)
{
    struct request request = REQUEST_NULL;
    char text[400] = "";
    for (int i = 0; i < 100; i++)
        strcat(text, "\xe2\x82\xac");
    request_fault(&request, "stop", "model", "%s", text);
    size_t n = strlen(request.faults.list[0].message);
    cr_expect_geq(n, REQUEST_MAX_FAULT_TEXT - 4);
    cr_expect_lt(n, REQUEST_MAX_FAULT_TEXT);
    cr_expect_eq((n - 5) % 3, 0);
}
