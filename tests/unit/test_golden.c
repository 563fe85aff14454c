/* The bytes of every frame: what proto/ writes, and what it reads. See tests/data/golden-frames/README.md. */
#include "config.h"

#include <criterion/criterion.h>
#include <string.h>

#include "proto/msg.h"
#include "proto/request.h"
#include "tests/unit/hex.h"

/* Builders: each writes one frame field by field. */

static void put_model(struct msg_out *o, enum proto_field field)
{
    msg_map(o, field);
    msg_put_str(o, PROTO_MODEL_ID, "demo-model");
    msg_put_str(o, PROTO_MODEL_ARCH, "llama");
    msg_put_str(o, PROTO_MODEL_WEIGHT_TYPE, "BF16");
    msg_put_int(o, PROTO_MODEL_N_PARAMS, 15191712);
    msg_put_int(o, PROTO_MODEL_N_CTX_TRAIN, 1024);
    msg_put_int(o, PROTO_MODEL_N_VOCAB, 4096);
    msg_put_bool(o, PROTO_MODEL_TOKENIZER, true);
    msg_put_bool(o, PROTO_MODEL_CHAT_TEMPLATE, true);
    msg_put_str(o, PROTO_MODEL_FINGERPRINT, "0123456789abcdef");
    msg_close_part(o);
}

static void put_limits(struct msg_out *o, enum proto_field field)
{
    msg_map(o, field);
    msg_put_int(o, PROTO_LIMITS_MAX_FRAME, PROTO_MAX_FRAME_IN);
    msg_put_int(o, PROTO_LIMITS_MAX_FRAME_OUT, PROTO_MAX_FRAME_OUT);
    msg_put_int(o, PROTO_LIMITS_MAX_DEPTH, WIRE_MAX_DEPTH);
    msg_put_int(o, PROTO_LIMITS_MAX_ELEMENTS, PROTO_MAX_ELEMENT);
    msg_put_int(o, PROTO_LIMITS_QUEUE, 100);
    msg_put_int(o, PROTO_LIMITS_MAX_JOBS, 32);
    msg_put_int(o, PROTO_LIMITS_N_CTX, 1024);
    msg_close_part(o);
}

static void put_defaults(struct msg_out *o, enum proto_field field)
{
    msg_map(o, field);
    msg_put_int(o, PROTO_DEFAULTS_MAX_TOKENS, PROTO_DEFAULT_MAX_TOKENS);
    msg_put_double(o, PROTO_DEFAULTS_TEMPERATURE, 0.75);
    msg_put_int(o, PROTO_DEFAULTS_TOP_K, 0);
    msg_put_double(o, PROTO_DEFAULTS_TOP_P, 1);
    msg_put_double(o, PROTO_DEFAULTS_MIN_P, 0);
    msg_put_double(o, PROTO_DEFAULTS_TYPICAL_P, 1);
    msg_put_double(o, PROTO_DEFAULTS_REPEAT_PENALTY, 1);
    msg_put_int(o, PROTO_DEFAULTS_REPEAT_LAST_N, -1);
    msg_put_double(o, PROTO_DEFAULTS_PRESENCE_PENALTY, 0);
    msg_put_double(o, PROTO_DEFAULTS_FREQUENCY_PENALTY, 0);
    msg_close_part(o);
}

static void put_usage_and_timings(struct msg_out *o)
{
    msg_map(o, PROTO_DONE_USAGE);
    msg_put_int(o, PROTO_USAGE_PROMPT_TOKENS, 5);
    msg_put_int(o, PROTO_USAGE_COMPLETION_TOKENS, 3);
    msg_put_int(o, PROTO_USAGE_TOTAL_TOKENS, 8);
    msg_close_part(o);
    msg_map(o, PROTO_DONE_TIMINGS);
    msg_put_double(o, PROTO_TIMINGS_QUEUE_MS, 0.25);
    msg_put_int(o, PROTO_TIMINGS_PROMPT_N, 5);
    msg_put_double(o, PROTO_TIMINGS_PROMPT_MS, 12.5);
    msg_put_int(o, PROTO_TIMINGS_PREDICTED_N, 3);
    msg_put_double(o, PROTO_TIMINGS_PREDICTED_MS, 30);
    msg_close_part(o);
}

static void put_logprob(struct msg_out *o, int id, float logprob, const char *bytes)
{
    msg_put_int(o, PROTO_LOGPROB_ID, id);
    msg_put_float(o, PROTO_LOGPROB_LOGPROB, logprob);
    msg_put_bin(o, PROTO_LOGPROB_BYTES, bytes, strlen(bytes));
}

static void put_logprobs(struct msg_out *o, enum proto_field field)
{
    msg_array(o, field);
    for (int i = 0; i < 2; i++) {
        msg_map(o, PROTO_ELEMENT);
        put_logprob(o, i ? 7 : 260, i ? -1.25f : -0.5f, i ? "\xc3" : " a");
        msg_array(o, PROTO_LOGPROB_TOP);
        for (int j = 0; !i && j < 2; j++) {
            msg_map(o, PROTO_ELEMENT);
            put_logprob(o, j ? 7 : 260, j ? -1.25f : -0.5f, j ? "\xc3" : " a");
            msg_close_part(o);
        }
        msg_close_part(o);
        msg_close_part(o);
    }
    msg_close_part(o);
}

static void hello(struct msg_out *o)
{
    msg_put_int(o, PROTO_HELLO_REPLY_ID, 1);
    msg_put_int(o, PROTO_HELLO_REPLY_PROTOCOL, PROTO_VERSION);
    msg_put_str(o, PROTO_HELLO_REPLY_SERVER, "lorchd");
    msg_put_str(o, PROTO_HELLO_REPLY_VERSION, "0.1.0");
    msg_array(o, PROTO_HELLO_REPLY_FEATURES);
    msg_close_part(o);
    msg_put_str(o, PROTO_HELLO_REPLY_STATE, "ready");
    put_limits(o, PROTO_HELLO_REPLY_LIMITS);
    put_model(o, PROTO_HELLO_REPLY_MODEL);
    put_defaults(o, PROTO_HELLO_REPLY_DEFAULTS);
}

static void accepted(struct msg_out *o)
{
    msg_put_int(o, PROTO_ACCEPTED_ID, 7);
    msg_put_str(o, PROTO_ACCEPTED_TRACE_ID, "t-1");
    msg_put_int(o, PROTO_ACCEPTED_JOB, 123456);
    msg_put_int(o, PROTO_ACCEPTED_POSITION, 0);
    msg_put_int(o, PROTO_ACCEPTED_N_PROMPT, 5);
}

static void progress(struct msg_out *o)
{
    msg_put_int(o, PROTO_PROGRESS_ID, 7);
    msg_put_str(o, PROTO_PROGRESS_PHASE, "prefill");
    msg_put_int(o, PROTO_PROGRESS_POSITION, 0);
    msg_put_int(o, PROTO_PROGRESS_PROCESSED, 512);
    msg_put_int(o, PROTO_PROGRESS_TOTAL, 2000);
    msg_put_double(o, PROTO_PROGRESS_TIME_MS, 99.5);
}

static void token(struct msg_out *o)
{
    msg_put_int(o, PROTO_TOKEN_ID, 7);
    msg_put_int(o, PROTO_TOKEN_INDEX, 0);
    msg_put_str(o, PROTO_TOKEN_CONTENT, " \xc3\xa4");
}

static void token_logprobs(struct msg_out *o)
{
    msg_put_int(o, PROTO_TOKEN_ID, 7);
    msg_put_int(o, PROTO_TOKEN_INDEX, 1);
    msg_put_str(o, PROTO_TOKEN_CONTENT, " a\xef\xbf\xbd");
    msg_put_ints(o, PROTO_TOKEN_TOKENS, (const int32_t[]){260, 7}, 2);
    put_logprobs(o, PROTO_TOKEN_LOGPROBS);
}

static void put_calls(struct msg_out *o, enum proto_field field)
{
    msg_array(o, field);
    for (int i = 0; i < 2; i++) {
        msg_map(o, PROTO_ELEMENT);
        msg_put_int(o, PROTO_TOOL_CALL_INDEX, 0);
        if (i == 0) {
            msg_put_str(o, PROTO_TOOL_CALL_ID, "call-1");
            msg_put_str(o, PROTO_TOOL_CALL_NAME, "clock");
        }
        msg_put_str(o, PROTO_TOOL_CALL_ARGUMENTS, i ? "\"UTC\"}" : "{\"zone\": ");
        msg_close_part(o);
    }
    msg_close_part(o);
}

static void token_call(struct msg_out *o)
{
    msg_put_int(o, PROTO_TOKEN_ID, 11);
    msg_put_int(o, PROTO_TOKEN_INDEX, 2);
    msg_put_str(o, PROTO_TOKEN_REASONING_CONTENT, "a clock");
    put_calls(o, PROTO_TOKEN_TOOL_CALLS);
}

static void done_calls(struct msg_out *o)
{
    msg_put_int(o, PROTO_DONE_ID, 11);
    msg_put_str(o, PROTO_DONE_FINISH_REASON, "tool_calls");
    msg_put_str(o, PROTO_DONE_STOP_TYPE, "eos");
    msg_put_str(o, PROTO_DONE_CONTENT, "");
    msg_put_str(o, PROTO_DONE_REASONING_CONTENT, "a clock");
    put_calls(o, PROTO_DONE_TOOL_CALLS);
    put_usage_and_timings(o);
    msg_put_uint(o, PROTO_DONE_SEED, 42);
}

static void apply_template_result(struct msg_out *o)
{
    msg_put_int(o, PROTO_APPLY_TEMPLATE_RESULT_ID, 13);
    msg_put_str(o, PROTO_APPLY_TEMPLATE_RESULT_TRACE_ID, "t-8");
    msg_put_str(o, PROTO_APPLY_TEMPLATE_RESULT_PROMPT, "<|user|>");
    msg_put_int(o, PROTO_APPLY_TEMPLATE_RESULT_N_TOKENS, 1);
    msg_put_ints(o, PROTO_APPLY_TEMPLATE_RESULT_TOKENS, (const int32_t[]){3}, 1);
}

static void done(struct msg_out *o)
{
    msg_put_int(o, PROTO_DONE_ID, 7);
    msg_put_str(o, PROTO_DONE_TRACE_ID, "t-1");
    msg_put_str(o, PROTO_DONE_FINISH_REASON, "stop");
    msg_put_str(o, PROTO_DONE_STOP_TYPE, "word");
    msg_put_str(o, PROTO_DONE_STOPPING_WORD, "END");
    put_usage_and_timings(o);
    msg_put_uint(o, PROTO_DONE_SEED, UINT64_MAX);
}

static void done_whole(struct msg_out *o)
{
    msg_put_int(o, PROTO_DONE_ID, 7);
    msg_put_str(o, PROTO_DONE_FINISH_REASON, "length");
    msg_put_str(o, PROTO_DONE_STOP_TYPE, "limit");
    msg_put_str(o, PROTO_DONE_CONTENT, " a\xef\xbf\xbd");
    msg_put_ints(o, PROTO_DONE_TOKENS, (const int32_t[]){260, 7}, 2);
    put_logprobs(o, PROTO_DONE_LOGPROBS);
    float logprobs[17];
    for (int i = 0; i < 17; i++)
        logprobs[i] = (float)-i / 8;
    logprobs[0] = 0; /* not -0 */
    msg_put_floats(o, PROTO_DONE_PROMPT_LOGPROBS, logprobs, 17);
    put_usage_and_timings(o);
    msg_put_uint(o, PROTO_DONE_SEED, 42);
}

static void done_cancelled(struct msg_out *o)
{
    msg_put_int(o, PROTO_DONE_ID, 7);
    msg_put_str(o, PROTO_DONE_FINISH_REASON, "cancelled");
    put_usage_and_timings(o);
    msg_put_uint(o, PROTO_DONE_SEED, 42);
}

static void error_context(struct msg_out *o)
{
    msg_put_int(o, PROTO_ERROR_ID, 7);
    msg_put_error(o, PROTO_E_CONTEXT_OVERFLOW, "the prompt has 2000 tokens, the context 1024");
    msg_put_str(o, PROTO_ERROR_PARAM, "prompt");
    msg_map(o, PROTO_ERROR_DETAIL);
    msg_put_int(o, PROTO_DETAIL_N_PROMPT, 2000);
    msg_put_int(o, PROTO_DETAIL_N_CTX, 1024);
    msg_close_part(o);
}

static void error_queue(struct msg_out *o)
{
    msg_put_int(o, PROTO_ERROR_ID, 7);
    msg_put_error(o, PROTO_E_QUEUE_FULL, "100 jobs wait, at most 100 may");
    msg_map(o, PROTO_ERROR_DETAIL);
    msg_put_int(o, PROTO_DETAIL_GOT, 100);
    msg_put_int(o, PROTO_DETAIL_LIMIT, 100);
    msg_close_part(o);
}

static void error_protocol(struct msg_out *o)
{
    msg_put_error(o, PROTO_E_PROTOCOL_ERROR, "byte 0: the frame is not a map");
}

static void status_result(struct msg_out *o)
{
    msg_put_int(o, PROTO_STATUS_RESULT_ID, 4);
    msg_put_str(o, PROTO_STATUS_RESULT_TRACE_ID, "t-2");
    msg_put_str(o, PROTO_STATUS_RESULT_STATE, "loading");
    msg_put_double(o, PROTO_STATUS_RESULT_LOAD_FRACTION, 0.5);
    msg_put_str(o, PROTO_STATUS_RESULT_LOAD_PHASE, "weights");
    msg_put_str(o, PROTO_STATUS_RESULT_VERSION, "0.1.0");
    msg_put_int(o, PROTO_STATUS_RESULT_UPTIME_MS, 90000);
    msg_put_int(o, PROTO_STATUS_RESULT_CONNECTIONS, 2);
    msg_put_int(o, PROTO_STATUS_RESULT_JOBS_RUNNING, 1);
    msg_put_int(o, PROTO_STATUS_RESULT_JOBS_WAITING, 3);
    msg_put_int(o, PROTO_STATUS_RESULT_JOBS_DONE, 10);
    msg_put_int(o, PROTO_STATUS_RESULT_JOBS_FAILED, 1);
    msg_put_int(o, PROTO_STATUS_RESULT_JOBS_CANCELLED, 2);
    msg_put_int(o, PROTO_STATUS_RESULT_PROMPT_TOKENS, 5000);
    msg_put_int(o, PROTO_STATUS_RESULT_GENERATED_TOKENS, 70000);
    msg_put_int(o, PROTO_STATUS_RESULT_KV_PAGES, 64);
    msg_put_int(o, PROTO_STATUS_RESULT_KV_PAGES_FREE, 60);
    msg_put_int(o, PROTO_STATUS_RESULT_ENGINE_IDLE_MS, 0);
}

static void props_result(struct msg_out *o)
{
    msg_put_int(o, PROTO_PROPS_RESULT_ID, 5);
    msg_put_str(o, PROTO_PROPS_RESULT_TRACE_ID, "t-3");
    put_model(o, PROTO_PROPS_RESULT_MODEL);
    msg_map(o, PROTO_PROPS_RESULT_SHAPE);
    msg_put_int(o, PROTO_SHAPE_N_LAYER, 6);
    msg_put_int(o, PROTO_SHAPE_N_HEAD, 6);
    msg_put_int(o, PROTO_SHAPE_N_KV_HEAD, 6);
    msg_put_int(o, PROTO_SHAPE_HEAD_DIM, 48);
    msg_put_int(o, PROTO_SHAPE_DIM, 288);
    msg_put_int(o, PROTO_SHAPE_FF_DIM, 768);
    msg_close_part(o);
    msg_map(o, PROTO_PROPS_RESULT_MEMORY);
    msg_put_int(o, PROTO_MEMORY_WEIGHT_BYTES, 30383424);
    msg_put_int(o, PROTO_MEMORY_KV_BYTES, 7077888);
    msg_put_int(o, PROTO_MEMORY_SCRATCH_BYTES, 1 << 20);
    msg_put_int(o, PROTO_MEMORY_AVAILABLE_BYTES, (int64_t)8 << 30);
    msg_close_part(o);
    put_limits(o, PROTO_PROPS_RESULT_LIMITS);
    put_defaults(o, PROTO_PROPS_RESULT_DEFAULTS);
    msg_put_ints(o, PROTO_PROPS_RESULT_END_IDS, (const int32_t[]){0, 2}, 2);
    msg_put_str(o, PROTO_PROPS_RESULT_DEVICE, "cpu");
    msg_put_str(o, PROTO_PROPS_RESULT_LEVEL, "avx512");
    msg_put_int(o, PROTO_PROPS_RESULT_THREADS, 2);
}

static void tokenize_result(struct msg_out *o)
{
    msg_put_int(o, PROTO_TOKENIZE_RESULT_ID, 6);
    msg_put_str(o, PROTO_TOKENIZE_RESULT_TRACE_ID, "t-4");
    msg_put_ints(o, PROTO_TOKENIZE_RESULT_TOKENS, (const int32_t[]){1, 9038}, 2);
    msg_array(o, PROTO_TOKENIZE_RESULT_PIECES);
    msg_put_bin(o, PROTO_ELEMENT, "", 0);
    msg_put_bin(o, PROTO_ELEMENT, "Once", 4);
    msg_close_part(o);
}

static void detokenize_result(struct msg_out *o)
{
    msg_put_int(o, PROTO_DETOKENIZE_RESULT_ID, 9);
    msg_put_str(o, PROTO_DETOKENIZE_RESULT_TRACE_ID, "t-5");
    msg_put_text(o, PROTO_DETOKENIZE_RESULT_CONTENT, "a\xc3\xa4", 3);
}

static void count_result(struct msg_out *o)
{
    msg_put_int(o, PROTO_COUNT_RESULT_ID, 10);
    msg_put_str(o, PROTO_COUNT_RESULT_TRACE_ID, "t-6");
    msg_put_int(o, PROTO_COUNT_RESULT_N_TOKENS, 300);
}

static void pong(struct msg_out *o)
{
    msg_put_int(o, PROTO_PONG_ID, 3);
    msg_put_int(o, PROTO_PONG_T, -1000);
    msg_put_str(o, PROTO_PONG_STATE, "ready");
    msg_put_int(o, PROTO_PONG_ENGINE_IDLE_MS, 12);
}

static const struct {
    const char *file;
    enum proto_message message;
    void (*put)(struct msg_out *o);
} replies[] = {
    {"hello-reply", PROTO_HELLO_REPLY, hello},
    {"accepted", PROTO_ACCEPTED, accepted},
    {"progress", PROTO_PROGRESS, progress},
    {"token", PROTO_TOKEN, token},
    {"token-logprobs", PROTO_TOKEN, token_logprobs},
    {"token-call", PROTO_TOKEN, token_call},
    {"done", PROTO_DONE, done},
    {"done-calls", PROTO_DONE, done_calls},
    {"done-whole", PROTO_DONE, done_whole},
    {"done-cancelled", PROTO_DONE, done_cancelled},
    {"error-context", PROTO_ERROR, error_context},
    {"error-queue", PROTO_ERROR, error_queue},
    {"error-protocol", PROTO_ERROR, error_protocol},
    {"status-result", PROTO_STATUS_RESULT, status_result},
    {"props-result", PROTO_PROPS_RESULT, props_result},
    {"tokenize-result", PROTO_TOKENIZE_RESULT, tokenize_result},
    {"detokenize-result", PROTO_DETOKENIZE_RESULT, detokenize_result},
    {"count-result", PROTO_COUNT_RESULT, count_result},
    {"apply_template-result", PROTO_APPLY_TEMPLATE_RESULT, apply_template_result},
    {"pong", PROTO_PONG, pong},
};

enum { N_REPLY = sizeof replies / sizeof *replies };

Test(golden, replies_are_written)
{
    for (size_t i = 0; i < N_REPLY; i++) {
        struct hex want = hex_golden(replies[i].file);
        cr_assert_gt(want.n, 4, "%s", replies[i].file);
        struct buf buf;
        buf_init(&buf, 0);
        struct msg_out out;
        msg_begin(&out, &buf, replies[i].message, want.n - 4); /* exactly as long as it is allowed to be */
        replies[i].put(&out);
        cr_expect_eq(msg_end(&out), 0, "%s", replies[i].file);
        cr_expect(buf.n == want.n && !memcmp(buf.data, want.data, want.n), "%s differs", replies[i].file);

        /* One byte less: nothing at all. */
        buf.n = 3;
        msg_begin(&out, &buf, replies[i].message, want.n - 5);
        replies[i].put(&out);
        cr_expect_eq(msg_end(&out), MSG_E_TOO_LARGE, "%s", replies[i].file);
        cr_expect_eq(buf.n, 3, "%s", replies[i].file);
        buf_deinit(&buf);
        free(want.data);
    }
}

/* Writes what was read, element by element: the reader has seen everything if the bytes are the same again.
 */
static void copy(struct msg_out *o, enum proto_field field, const struct msg_value *v,
                 enum proto_message message);

static enum proto_message part_of(enum proto_field field, enum proto_message parent)
{
    static const char *const names[][2] = {
        {"logprobs", "logprob"}, {"top", "logprob"}, {"faults", "fault"}, {"tool_calls", "tool_call"}};
    const char *name = field == PROTO_ELEMENT ? "" : proto_field(field)->key;
    if (field != PROTO_ELEMENT && proto_field(field)->part != PROTO_N_MESSAGE)
        return proto_field(field)->part;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i][0]))
            name = names[i][1];
    for (enum proto_message i = PROTO_N_VERB; i < PROTO_N_MESSAGE; i++)
        if (proto_message(i)->direction == PROTO_PART && !strcmp(proto_message(i)->name, name))
            return i;
    return parent;
}

static void copy_fields(struct msg_out *o, const struct msg_value *map, enum proto_message message)
{
    for (size_t i = 0; i < msg_count(map); i++) {
        size_t n;
        const char *key = msg_key_at(map, i, &n);
        if (o->depth == 1 && n == 4 && !memcmp(key, "type", 4))
            continue;
        enum proto_field field = proto_find_field(message, key, n);
        cr_assert_neq(field, PROTO_N_FIELD, "%s: %.*s", proto_message(message)->tag, (int)n, key);
        copy(o, field, msg_at(map, i), part_of(field, message));
    }
}

static void copy(struct msg_out *o, enum proto_field field, const struct msg_value *v,
                 enum proto_message message)
{
    size_t n;
    const char *s = msg_bytes(v, &n);
    switch (msg_kind(v)) {
    case MSG_NIL:
        msg_put_nil(o, field);
        break;
    case MSG_BOOL:
        msg_put_bool(o, field, msg_bool(v, false));
        break;
    case MSG_INT:
        msg_put_int(o, field, msg_int(v, 0));
        break;
    case MSG_UINT:
        msg_put_uint(o, field, msg_uint(v, 0));
        break;
    case MSG_FLOAT32:
        msg_put_float(o, field, (float)msg_float(v, 0));
        break;
    case MSG_FLOAT64:
        msg_put_double(o, field, msg_float(v, 0));
        break;
    case MSG_STR:
        msg_put_text(o, field, s, n);
        break;
    case MSG_BIN:
        msg_put_bin(o, field, s, n);
        break;
    case MSG_ARRAY:
        msg_array(o, field);
        for (size_t i = 0; i < msg_count(v); i++)
            copy(o, PROTO_ELEMENT, msg_at(v, i), message);
        msg_close_part(o);
        break;
    case MSG_MAP:
        msg_map(o, field);
        copy_fields(o, v, message);
        msg_close_part(o);
        break;
    default:
        cr_assert_fail("kind %d", msg_kind(v));
    }
}

static void check_copy(const char *file, enum proto_message message)
{
    struct hex want = hex_golden(file);
    cr_assert_gt(want.n, 4, "%s", file);
    struct msg msg = MSG_NULL;
    struct why why;
    cr_assert_eq(msg_open(&msg, want.data + 4, want.n - 4, &why), 0, "%s: %s", file, why.text);
    struct buf buf;
    buf_init(&buf, 0);
    struct msg_out out;
    msg_begin(&out, &buf, message, PROTO_MAX_FRAME_OUT);
    copy_fields(&out, msg.root, message);
    cr_expect_eq(msg_end(&out), 0);
    cr_expect(buf.n == want.n && !memcmp(buf.data, want.data, want.n), "%s differs", file);
    buf_deinit(&buf);
    msg_close(&msg);
    free(want.data);
}

Test(golden, replies_are_read)
{
    for (size_t i = 0; i < N_REPLY; i++)
        check_copy(replies[i].file, replies[i].message);
    check_copy("error", PROTO_ERROR);
}

/* The requests that a client of ours would write: all but those with a field which is none. */
Test(golden, requests_are_read_and_written)
{
    static const struct {
        const char *file;
        enum proto_message verb;
    } requests[] = {
        {"generate", PROTO_GENERATE},     {"generate-tokens", PROTO_GENERATE},
        {"generate-bin", PROTO_GENERATE}, {"cancel", PROTO_CANCEL},
        {"cancel-job", PROTO_CANCEL},     {"ping", PROTO_PING},
        {"status", PROTO_STATUS},         {"props", PROTO_PROPS},
        {"tokenize", PROTO_TOKENIZE},     {"detokenize", PROTO_DETOKENIZE},
        {"count", PROTO_COUNT},           {"chat", PROTO_CHAT},
        {"chat-trees", PROTO_CHAT},       {"apply_template", PROTO_APPLY_TEMPLATE},
        {"count-messages", PROTO_COUNT},
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (strcmp(requests[i].file, "chat-trees")) /* whose keys are no fields */
            check_copy(requests[i].file, requests[i].verb);
        struct hex hex = hex_golden(requests[i].file);
        struct request request;
        struct why why = {""};
        int r = request_decode(&request, hex.data + 4, hex.n - 4, &why);
        cr_expect_eq(r, 0, "%s: %d, %s, %s", requests[i].file, r, why.text, request.faults.list[0].message);
        cr_expect_eq(request.verb, requests[i].verb);
        request_deinit(&request);
        free(hex.data);
    }
}

Test(golden, generate_field_by_field)
{
    struct hex hex = hex_golden("generate");
    struct request q;
    cr_assert_eq(request_decode(&q, hex.data + 4, hex.n - 4, NULL), 0);
    size_t n;
    double bias;
    cr_expect_eq(q.id, 7);
    cr_expect(!memcmp(request_bytes(&q, PROTO_GENERATE_PROMPT, &n), "Es war \xc3\xa4 \xf0\x9f\x98\x80", 14));
    cr_expect_eq(n, 14);
    cr_expect_not(request_bool(&q, PROTO_GENERATE_ADD_SPECIAL, true));
    cr_expect(request_bool(&q, PROTO_GENERATE_PARSE_SPECIAL, false));
    cr_expect(request_is(&q, PROTO_GENERATE_INVALID_UTF8, "error"));
    cr_expect_eq(request_int(&q, PROTO_GENERATE_MAX_TOKENS, 0), 300);
    cr_expect_eq(request_count(&q, PROTO_GENERATE_STOP), 2);
    cr_expect(!memcmp(request_bytes_at(&q, PROTO_GENERATE_STOP, 1, &n), "END", 3));
    cr_expect_eq(n, 3);
    cr_expect_eq(request_count(&q, PROTO_GENERATE_STOP_TOKEN_IDS), 2);
    cr_expect_eq(request_int_at(&q, PROTO_GENERATE_STOP_TOKEN_IDS, 1), 70000);
    cr_expect_float_eq(request_float(&q, PROTO_GENERATE_TOP_P, 0), 0.875, 0);
    cr_expect_float_eq(request_float(&q, PROTO_GENERATE_MIN_P, 9), 0, 0);                /* an integer */
    cr_expect_float_eq(request_float(&q, PROTO_GENERATE_FREQUENCY_PENALTY, 9), 0.25, 0); /* 32 bits */
    cr_expect_eq(request_count(&q, PROTO_GENERATE_LOGIT_BIAS), 2);
    cr_expect_eq(request_bias_at(&q, PROTO_GENERATE_LOGIT_BIAS, 0, &bias), 5);
    cr_expect_float_eq(bias, -100, 0);
    cr_expect_eq(request_bias_at(&q, PROTO_GENERATE_LOGIT_BIAS, 1, &bias), 6);
    cr_expect_float_eq(bias, 1.5, 0);
    cr_expect_eq(request_uint(&q, PROTO_GENERATE_SEED, 0), UINT64_MAX);
    cr_expect_eq(request_int(&q, PROTO_GENERATE_DEADLINE_MS, 0), 60000);
    cr_expect_not(request_has(&q, PROTO_GENERATE_TOKENS));
    request_deinit(&q);
    free(hex.data);
}

Test(golden, other_requests)
{
    struct hex hex = hex_golden("hello");
    struct request q;
    size_t n;
    cr_assert_eq(request_decode(&q, hex.data + 4, hex.n - 4, NULL), 0); /* color is optional */
    cr_expect_eq(request_int(&q, PROTO_HELLO_PROTOCOL, 0), 1);
    cr_expect_eq(request_int(&q, PROTO_HELLO_MAX_FRAME, 0), 1 << 20);
    cr_expect_eq(request_count(&q, PROTO_HELLO_FEATURES), 2);
    request_deinit(&q);
    free(hex.data);

    hex = hex_golden("generate-tokens");
    cr_assert_eq(request_decode(&q, hex.data + 4, hex.n - 4, NULL), 0);
    cr_expect_eq(q.id, INT64_MAX);
    cr_expect_eq(request_count(&q, PROTO_GENERATE_TOKENS), 5);
    cr_expect_eq(request_int_at(&q, PROTO_GENERATE_TOKENS, 4), INT32_MAX);
    cr_expect_eq(request_count(&q, PROTO_GENERATE_STOP), 1); /* a lone string */
    cr_expect_eq(*request_bytes_at(&q, PROTO_GENERATE_STOP, 0, &n), 'x');
    request_deinit(&q);
    free(hex.data);

    hex = hex_golden("generate-bin");
    cr_assert_eq(request_decode(&q, hex.data + 4, hex.n - 4, NULL), 0);
    cr_expect(request_bytes(&q, PROTO_GENERATE_PROMPT, &n) && n == 3);
    cr_expect(request_has(&q, PROTO_GENERATE_SEED));
    cr_expect_eq(request_uint(&q, PROTO_GENERATE_SEED, 9), 0);
    request_deinit(&q);
    free(hex.data);
}

/* The error that request_error makes of two faults. */
Test(golden, faults)
{
    struct hex body = hex_parse("86 a4'type' a8'generate' a2'id' 07 a8'trace_id' a3't-1' a6'prompt' a0"
                                "a5'top_p' 02 a6'colour' c3");
    struct request q;
    cr_assert_eq(request_decode(&q, body.data, body.n, NULL), REQUEST_E_INVALID);
    struct buf buf;
    buf_init(&buf, 0);
    cr_assert_eq(request_error(&q, &buf, PROTO_MAX_FRAME_OUT), 0);
    struct hex want = hex_golden("error");
    cr_expect(buf.n == want.n && !memcmp(buf.data, want.data, want.n));
    buf_deinit(&buf);
    request_deinit(&q);
    free(body.data);
    free(want.data);
}
