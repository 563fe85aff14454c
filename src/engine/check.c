/* What is wrong with a job, as far as only the model can tell: see check.h. */
#include "config.h"
#include "src/engine/check.h"

#include <errno.h>

#include "src/base/utf8.h"
#include "src/engine/parts.h"

/* Bytes in a frame of msgpack, each at the most it can be. */
enum {
    CHECK_FRAME_BASE = 2048,  /* a done frame but for what grows: ids, labels, usage, timings, keys */
    CHECK_FRAME_INT = 5,      /* an id */
    CHECK_FRAME_FLOAT = 5,    /* a float32 */
    CHECK_FRAME_LOGPROB = 64, /* a logprob map but for its bytes and its top */
    CHECK_FRAME_CALL = 64,    /* a tool_call map but for its texts */
};

static int refuse(struct notice *refusal, struct notice **ret_refusal)
{
    *ret_refusal = refusal;
    return refusal ? CHECK_E_REFUSED : -ENOMEM;
}

/* The field that the text or the ids came from. */
static const char *text_param(const struct job_ask *ask)
{
    return ask->conversation           ? "messages"
           : !ask->text                ? "tokens"
           : ask->kind == JOB_GENERATE ? "prompt"
                                       : "content";
}

static int refuse_overflow(const struct served *served, const struct job_ask *ask, const char *about,
                           int64_t n_prompt, struct notice **ret_refusal)
{
    return refuse(
        notice_new_failed(ask->job, "context_overflow", text_param(ask), n_prompt, served->info->n_ctx,
                          "the prompt has %s%lld tokens, the context holds %d, one of them for the answer",
                          about, (long long)n_prompt, served->info->n_ctx),
        ret_refusal);
}

int check_text(const struct served *served, const struct job_ask *ask, struct notice **ret_refusal)
{
    if (!served->tokenizer)
        return refuse(notice_new_failed(ask->job, "not_supported", text_param(ask), -1, -1,
                                        "the model has no tokenizer: it takes ids (tokens) and no text"),
                      ret_refusal);
    size_t n_valid = utf8_check(ask->text, ask->n_text);
    if (n_valid < ask->n_text && !ask->replace_invalid)
        return refuse(notice_new_failed(ask->job, "invalid_request", text_param(ask), (int64_t)n_valid, -1,
                                        "%s is not UTF-8: byte %zu begins no character", text_param(ask),
                                        n_valid),
                      ret_refusal);
    return check_length(served, ask, ask->n_text, ret_refusal);
}

int check_length(const struct served *served, const struct job_ask *ask, size_t n_text,
                 struct notice **ret_refusal)
{
    int64_t n_least = (int64_t)(n_text / served->max_piece);
    if (ask->kind == JOB_GENERATE && n_least >= served->info->n_ctx)
        return refuse_overflow(served, ask, "at least ", n_least, ret_refusal);
    return 0;
}

int check_tokens(const struct served *served, const struct job_ask *ask, struct notice **ret_refusal)
{
    const int32_t n_vocab = served->info->n_vocab;
    for (size_t i = 0; i < ask->n_token; i++) {
        if (ask->tokens[i] < 0 || ask->tokens[i] >= n_vocab)
            return refuse(notice_new_failed(ask->job, "invalid_request", "tokens", ask->tokens[i],
                                            n_vocab - 1, "tokens[%zu] is %d, ids are 0 to %d", i,
                                            ask->tokens[i], n_vocab - 1),
                          ret_refusal);
    }
    return 0;
}

/* Ids in other fields. */
static int check_other_ids(const struct served *served, const struct job_ask *ask,
                           struct notice **ret_refusal)
{
    const int32_t n_vocab = served->info->n_vocab;
    for (size_t i = 0; i < ask->sampling.n_bias; i++) {
        int32_t id = ask->bias[i].id;
        if (id < 0 || id >= n_vocab)
            return refuse(notice_new_failed(ask->job, "invalid_request", "logit_bias", id, n_vocab - 1,
                                            "logit_bias names id %d, ids are 0 to %d", id, n_vocab - 1),
                          ret_refusal);
    }
    for (size_t i = 0; i < ask->n_stop_token; i++) {
        int32_t id = ask->stop_token[i];
        if (id < 0 || id >= n_vocab)
            return refuse(notice_new_failed(ask->job, "invalid_request", "stop_token_ids", id, n_vocab - 1,
                                            "stop_token_ids names id %d, ids are 0 to %d", id, n_vocab - 1),
                          ret_refusal);
    }
    return 0;
}

/* The most bytes that the job's done frame can have. Its factors are below 2^31, 21 and the length of a
 * piece, so that 64 bits hold every product. */
static size_t done_bytes(const struct served *served, const struct job_ask *ask)
{
    size_t n = CHECK_FRAME_BASE;
    if (ask->prompt_logprobs)
        n += ask->n_token * CHECK_FRAME_FLOAT;
    if (ask->stream)
        return n;
    struct notice_room text = {.n_content = served->max_out};
    if (ask->is_chat)
        parts_room(served, ask, served->max_out, &text);
    size_t n_call = text.n_call * (CHECK_FRAME_CALL + CHAT_OUT_MAX_NAME);
    size_t n_arguments = text.n_call > 0 ? text.n_call_text - text.n_call * CHAT_OUT_MAX_NAME : 0;
    size_t token = (n_arguments > served->max_out ? n_arguments : served->max_out) + CHECK_FRAME_INT;
    if (ask->logprobs)
        token += (1 + check_n_top(served, ask)) * (CHECK_FRAME_LOGPROB + served->max_piece);
    return n + n_call +
           ((size_t)check_max_tokens(served, ask) + 1) * token; /* one more: the tail of the text */
}

int check_generate(const struct served *served, const struct job_ask *ask, struct notice **ret_refusal)
{
    if (ask->n_token == 0)
        return refuse(notice_new_failed(ask->job, "invalid_request", text_param(ask), 0, -1,
                                        "the prompt is empty, and no special token is added to it"),
                      ret_refusal);
    int r = check_tokens(served, ask, ret_refusal);
    if (r == 0)
        r = check_other_ids(served, ask, ret_refusal);
    if (r != 0)
        return r;
    if (!served->tokenizer && ask->n_stop > 0)
        return refuse(notice_new_failed(ask->job, "not_supported", "stop", -1, -1,
                                        "the model has no tokenizer: stop takes none (stop_token_ids does)"),
                      ret_refusal);
    if (ask->n_token >= (size_t)served->info->n_ctx)
        return refuse_overflow(served, ask, "", (int64_t)ask->n_token, ret_refusal);
    return check_frame(ask, ask->stream ? "prompt_logprobs" : "max_tokens", done_bytes(served, ask),
                       ret_refusal);
}

int check_frame(const struct job_ask *ask, const char *param, size_t bytes, struct notice **ret_refusal)
{
    if (ask->max_frame == 0 || bytes <= ask->max_frame)
        return 0;
    return refuse(
        notice_new_failed(ask->job, "invalid_request", param, (int64_t)bytes, (int64_t)ask->max_frame,
                          "the answer may have %zu bytes, a frame to this client %zu", bytes, ask->max_frame),
        ret_refusal);
}

int32_t check_max_tokens(const struct served *served, const struct job_ask *ask)
{
    int64_t left = served->info->n_ctx - (int64_t)ask->n_token;
    return (int32_t)(ask->max_tokens < left ? ask->max_tokens : left);
}

size_t check_n_top(const struct served *served, const struct job_ask *ask)
{
    int32_t n = ask->top_logprobs < served->info->n_vocab ? ask->top_logprobs : served->info->n_vocab;
    return n > 0 ? (size_t)n : 0;
}
